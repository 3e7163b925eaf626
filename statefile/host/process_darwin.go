package host

import (
	"os"
	"syscall"
)

// bootID returns the kernel's id of the current boot, or "" if it is unknown. The standard library
// cannot read start times of processes on macOS. So startTime only checks that a process with the
// pid exists, and gaffer does not notice if a pid is reused.
func bootID() string {
	boot, err := syscall.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return boot
}

func pidSpace() string { return "" }

func startTime(pid int) (uint64, error) {
	if err := syscall.Kill(pid, 0); err == syscall.ESRCH {
		return 0, os.ErrNotExist
	}
	return 0, nil
}
