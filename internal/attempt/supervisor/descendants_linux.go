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

// becomeSubreaper makes this process a child subreaper. A descendant whose parent ends
// becomes our child, so none can escape, even into another session.
func becomeSubreaper() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// noneLeft reports whether the last process has ended, given the error of a wait for
// any child. A subreaper without children has no descendants.
func noneLeft(_ int, wait error) bool { return errors.Is(wait, syscall.ECHILD) }

// waitAny also waits for children that do not send SIGCHLD.
const waitAny = unix.WNOHANG | unix.WALL

// signalAll signals every descendant and returns the pids that existed.
func signalAll(_ int, sig syscall.Signal) []int {
	all := processes()
	return signalEach(liveDescendants(all, func(p process) bool { return p.pid == os.Getpid() }), sig)
}

// signalEach returns the pids of the processes that existed, including those that we
// have no permission to signal.
func signalEach(list []process, sig syscall.Signal) []int {
	var there []int
	for _, p := range list {
		if p.signal(sig) {
			there = append(there, p.pid)
		}
	}
	return there
}

// closeFilesOnExec sets close-on-exec on every descriptor except the first three, so that
// programs started from here inherit only the files that are passed to them. An inherited
// descriptor may be a lock or a pipe, and another process may be waiting until it is
// closed.
func closeFilesOnExec() {
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) // a kernel without this call leaves the descriptors as they are
}

// redirectStderr redirects stderr of this process, including crash reports, to a file.
func redirectStderr(file *os.File) error { return unix.Dup3(int(file.Fd()), syscall.Stderr, 0) }

// startTime returns when a process started, also if it is a zombie.
func startTime(pid int) uint64 {
	p, _ := readProcess(pid)
	return p.start
}

// rssUnit is the unit of Rusage.Maxrss in bytes. Linux counts in KiB.
const rssUnit = 1 << 10
