package supervisor

import (
	"errors"
	"os"
	"syscall"
)

// Limits says in a sentence what is weaker on this system than elsewhere.
func Limits() string {
	return "on macOS a process that leaves the agent's process group is not found, and not ended with it; " +
		"and what a killed supervisor leaves behind must be ended by hand"
}

func adopt() error { return nil }

// noneLeft tells whether the last process has ended, given the error of a wait
// for any child. What the agent started is known by its process group.
func noneLeft(agent int, wait error) bool {
	return errors.Is(wait, syscall.ECHILD) && (agent == 0 || errors.Is(syscall.Kill(-agent, 0), syscall.ESRCH))
}

const waitAny = syscall.WNOHANG

// signalAll sends a signal to the agent's process group.
func signalAll(agent int, sig syscall.Signal) []int {
	if errors.Is(syscall.Kill(-agent, sig), syscall.ESRCH) {
		return nil
	}
	return []int{agent}
}

func keepFiles() {}

// wordsTo has what this process says, also in a crash, go to a file.
func wordsTo(file *os.File) error { return syscall.Dup2(int(file.Fd()), syscall.Stderr) }

// startOf cannot be told on macOS.
func startOf(int) uint64 { return 0 }

// rssUnit is what the kernel counts memory in: bytes.
const rssUnit = 1
