package supervisor

import (
	"errors"
	"os"
	"syscall"
)

// PlatformLimits describes in one sentence what gaffer cannot guarantee on this system.
func PlatformLimits() string {
	return "on macOS a process that leaves the agent's process group is not found, and not ended with it; " +
		"and what a killed supervisor leaves behind must be ended by hand"
}

func becomeSubreaper() error { return nil }

// noneLeft reports whether the last process of the attempt has ended. waitErr is the error of a
// system call that waits for any child. On macOS only the agent's process group can be checked.
func noneLeft(agent int, waitErr error) bool {
	return errors.Is(waitErr, syscall.ECHILD) && (agent == 0 || errors.Is(syscall.Kill(-agent, 0), syscall.ESRCH))
}

const waitAny = syscall.WNOHANG

// signalAll sends a signal to the agent's process group. It returns the agent's pid, or nil if the
// group is empty.
func signalAll(agent int, sig syscall.Signal) []int {
	if errors.Is(syscall.Kill(-agent, sig), syscall.ESRCH) {
		return nil
	}
	return []int{agent}
}

func closeFilesOnExec() {}

// redirectStderr redirects stderr of this process, including crash reports, to a file.
func redirectStderr(file *os.File) error { return syscall.Dup2(int(file.Fd()), syscall.Stderr) }

// startTime returns 0: the start time is not available on macOS.
func startTime(int) uint64 { return 0 }

// rssUnit is the size in bytes of the unit of Rusage.Maxrss. On macOS the unit is one byte.
const rssUnit = 1
