package testenv

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Signal sends a signal to a process. It fails the test if pid is at most 1. A test can get the pid
// 0 by mistake, by reading a status that does not contain the pid yet. With the pid 0, the kernel
// would send the signal to all processes of the test's process group, which may include the go
// command and the script that runs the tests.
func Signal(t testing.TB, pid int, sig syscall.Signal) {
	t.Helper()
	if pid <= 1 {
		t.Fatalf("process %d would get %v", pid, sig)
	}
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatalf("%v to process %d: %v", sig, pid, err)
	}
}

// Stop stops a process with SIGSTOP and waits until all threads of the process are stopped. On a
// busy machine, threads continue for a while after the signal was sent. On systems without /proc,
// Stop does not wait.
func Stop(t testing.TB, pid int) {
	t.Helper()
	Signal(t, pid, syscall.SIGSTOP)
	Wait(t, fmt.Sprintf("process %d to stop", pid), func() error {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		for _, file := range threads {
			if stat, err := os.ReadFile(file); err == nil && !strings.Contains(string(stat), ") T ") {
				return fmt.Errorf("a thread is %q", stat)
			}
		}
		return err
	})
}

// KeepLimits is the beginning of a shell script that later runs the command "$@". It puts setpriv
// in front of that command, so that the command cannot raise its resource limits even if it runs as
// root. It does nothing if the shell itself lacks the permission to raise limits, as is usual in a
// container.
const KeepLimits = `if [ $((0x$(sed -n 's/^CapEff:\s*//p' /proc/$$/status) >> 24 & 1)) = 1 ]; then set -- setpriv --bounding-set -sys_resource "$@"; fi; `
