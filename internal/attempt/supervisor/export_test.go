package supervisor

import "time"

// SetIdleLimit sets how long this process, a supervisor of a test, waits for its next
// attempt.
func SetIdleLimit(d time.Duration) { idleLimit = d }
