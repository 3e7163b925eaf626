package supervisor

import (
	"errors"
	"math"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Limits says in a sentence what is weaker on this system than elsewhere.
func Limits() string { return "" }

// adopt makes this process the parent of every descendant whose own parent
// ends. None can get away, whatever session it goes to.
func adopt() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// noneLeft tells whether the last process has ended, given the error of a wait
// for any child. To have no child is to have no descendant.
func noneLeft(_ int, wait error) bool { return errors.Is(wait, syscall.ECHILD) }

// waitAny also waits for children that would not send SIGCHLD.
const waitAny = unix.WNOHANG | unix.WALL

// signalAll sends a signal to every descendant and returns them.
func signalAll(_ int, sig syscall.Signal) []int {
	all := processes()
	return signalEach(below(all, func(p process) bool { return p.pid == os.Getpid() }), sig)
}

// signalEach returns the processes that were there. One that may not be
// signalled is there too.
func signalEach(list []process, sig syscall.Signal) []int {
	var there []int
	for _, p := range list {
		if p.signal(sig) {
			there = append(there, p.pid)
		}
	}
	return there
}

// keepFiles sees to it that no file but the first three goes to programs that
// this one starts without its being named: what it has inherited may be a lock or
// a pipe of somebody who waits for it to be closed.
func keepFiles() {
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) // a kernel that cannot goes without
}

// wordsTo has what this process says, also in a crash, go to a file.
func wordsTo(file *os.File) error { return unix.Dup3(int(file.Fd()), syscall.Stderr, 0) }

// startOf returns when a process started, also if it has ended and nobody has
// waited for it.
func startOf(pid int) uint64 {
	p, _ := look(pid)
	return p.start
}

// rssUnit is what the kernel counts memory in: KiB.
const rssUnit = 1 << 10
