package supervisor

import (
	"os"
	"time"
)

// SetIdleLimit sets how long a supervisor in this process waits for its next attempt before it
// exits.
func SetIdleLimit(d time.Duration) { idleLimit = d }

// FreezeDescendants stops all descendants of this process. It returns the number of passes until one
// found all of them stopped, or 0 if that takes more than most passes.
func FreezeDescendants(most int) int {
	var f freezer
	for n := range most {
		if f.pass(os.Getpid()) {
			return n + 1
		}
	}
	return 0
}
