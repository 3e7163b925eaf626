package supervisor

import "time"

// SetIdleLimit sets how long a supervisor in this process waits for its next attempt before it
// exits.
func SetIdleLimit(d time.Duration) { idleLimit = d }
