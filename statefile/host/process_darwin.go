package host

import (
	"os"
	"syscall"
)

// bootID returns the kernel's id of the current boot, or "" if it is unknown.
func bootID() string {
	boot, err := syscall.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return boot
}

func pidSpace() string { return "" }

// startTime returns 0 for every process, because the standard library cannot read start times of
// processes on macOS. It only checks that a process with the pid exists. So gaffer does not notice
// that a pid was reused.
func startTime(pid int) (uint64, error) {
	if err := syscall.Kill(pid, 0); err == syscall.ESRCH {
		return 0, os.ErrNotExist
	}
	return 0, nil
}
