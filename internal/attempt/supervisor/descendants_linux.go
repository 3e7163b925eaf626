package supervisor

import (
	"errors"
	"math"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// PlatformLimits describes in one sentence what gaffer cannot guarantee on this system. On
// Linux it is empty.
func PlatformLimits() string { return "" }

// becomeSubreaper makes this process a child subreaper: a descendant whose parent ends becomes a
// child of this process. So the supervisor finds all descendants, even those in another session.
func becomeSubreaper() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// noneLeft reports whether the last process of the attempt has ended. waitErr is the error of a
// system call that waits for any child. ECHILD means that there is no child. Then this process, a
// child subreaper, has no descendants either.
func noneLeft(_ int, waitErr error) bool { return errors.Is(waitErr, syscall.ECHILD) }

// waitAny has the flags of a wait4 call that finds any child that has ended, even a child that does
// not send SIGCHLD.
const waitAny = unix.WNOHANG | unix.WALL

// signalAll sends a signal to every descendant. It returns the pids of the descendants that still
// existed.
func signalAll(_ int, sig syscall.Signal) []int {
	all, _ := processes() // ignore the error: callers repeat the call until no descendant is left
	return signalEach(liveDescendants(all, func(p process) bool { return p.pid == os.Getpid() }), sig)
}

// signalEach sends a signal to the processes in list. It returns the pids of those that still
// existed, including those that this process may not signal.
func signalEach(list []process, sig syscall.Signal) []int {
	var there []int
	for _, p := range list {
		if p.signal(sig) {
			there = append(there, p.pid)
		}
	}
	return there
}

// closeFilesOnExec sets close-on-exec on every descriptor except the first three. So programs that
// this process starts inherit only the files that are passed to them. An inherited descriptor may
// be a lock or a pipe, and another process may be waiting until it is closed.
func closeFilesOnExec() {
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) // ignore the error: an old kernel does not have this call
}

// redirectStderr redirects stderr of this process, including crash reports, to a file.
func redirectStderr(file *os.File) error { return unix.Dup3(int(file.Fd()), syscall.Stderr, 0) }

// startTime returns the start time of a process in clock ticks since boot, even for a zombie. It
// returns 0 if the process does not exist.
func startTime(pid int) uint64 {
	p, _ := readProcess(pid)
	return p.start
}

// rssUnit is the size in bytes of the unit of Rusage.Maxrss. On Linux the unit is one KiB.
const rssUnit = 1 << 10
