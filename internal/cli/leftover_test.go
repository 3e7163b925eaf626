package cli

import (
	"fmt"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"gaffer/internal/testkit/testenv"
)

// leaveNothing ends every process that a script has started and that has outlived
// it, when the script has ended, however it did: servers and workers in the
// background, runs that were detached, supervisors and their agents. They are known
// by the variable with the script's folder, which they inherit.
func leaveNothing(e *testscript.Env) {
	mark := "WORK=" + e.WorkDir
	e.Defer(func() {
		end := time.Now().Add(testenv.Patience)
		for left := testenv.ProcessesWith(mark); len(left) > 0; left = testenv.ProcessesWith(mark) {
			if time.Now().After(end) {
				panic(fmt.Sprintf("processes %v of %s cannot be ended", left, e.WorkDir))
			}
			for _, pid := range left {
				_ = syscall.Kill(pid, syscall.SIGKILL) // or it has ended by itself
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
}
