package testenv

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Stop stops a process with SIGSTOP and waits until all its threads are stopped: on a busy machine
// they continue for a while after the signal was sent. On systems without /proc it does not wait.
func Stop(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
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

// KeepLimits begins a shell script. It prevents later processes of the script from raising their
// resource limits, even if they run as root. In a container they usually cannot do that anyway.
const KeepLimits = `if [ $((0x$(sed -n 's/^CapEff:\s*//p' /proc/$$/status) >> 24 & 1)) = 1 ]; then set -- setpriv --bounding-set -sys_resource "$@"; fi; `
