package host

import (
	"os"
	"syscall"
)

// On macOS a boot is known by its time, and a process by being there at all:
// whether a pid was given again cannot be told without the system's own tools.
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
