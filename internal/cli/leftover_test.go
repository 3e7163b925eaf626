package cli

import (
	"fmt"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"gaffer/internal/testkit/testenv"
)

// leaveNothing kills every process that a script has started and that is running when the script
// ends: servers and workers in the background, detached runs, supervisors and their agents. It
// finds them by an environment variable with the script's folder, which they inherit.
func leaveNothing(e *testscript.Env) {
	mark := "WORK=" + e.WorkDir
	e.Defer(func() {
		end := time.Now().Add(testenv.Patience)
		for left := testenv.ProcessesWith(mark); len(left) > 0; left = testenv.ProcessesWith(mark) {
			if time.Now().After(end) {
				panic(fmt.Sprintf("processes %v of %s cannot be ended", left, e.WorkDir))
			}
			for _, pid := range left {
				_ = syscall.Kill(pid, syscall.SIGKILL) // ignore the error: the process may have ended
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
}
