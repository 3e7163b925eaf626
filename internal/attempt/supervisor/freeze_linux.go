package supervisor

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// freezer stops all descendants of this process, in repeated passes, and resumes them.
type freezer struct {
	passes
	stoppedBefore map[identity]bool // processes already stopped before the first pass; thaw does not resume them
	// inKernel has the processes in uninterruptible sleep (state 'D'). The values are how many
	// passes in a row have found the process in this state.
	inKernel map[identity]int
}

// maxInKernel is the number of passes in a row after which a process in uninterruptible sleep
// counts as stopped. Such a process waits for a disk, a network or a child that it has started with
// vfork. It stops before it executes any other code of the program.
const maxInKernel = 8

// pass stops every running process that it finds, and reports whether it found none.
//
// A process in uninterruptible sleep may be inside a call that starts a child, which this pass does
// not find. So the process counts as running until maxInKernel passes in a row have found it in
// that state.
//
// A pass can also miss a process whose parent ended during the pass. The missed process then
// becomes a child of this process. It may start another process and end. So pass also returns false
// if a child of this process has ended.
func (f *freezer) pass(agent int) (still bool) {
	all, err := processes()
	list := liveDescendants(all, func(p process) bool { return p.pid == os.Getpid() })
	first := f.stoppedBefore == nil
	if first {
		f.stoppedBefore = map[identity]bool{}
	}
	groups, inKernel := map[int]bool{}, map[identity]int{}
	still = err == nil // on an error, the list may lack running processes
	for _, p := range list {
		switch {
		case p.stopped():
			f.stoppedBefore[p.identity()] = f.stoppedBefore[p.identity()] || first
			continue
		case p.state == 'D':
			inKernel[p.identity()] = f.inKernel[p.identity()] + 1
			still = still && inKernel[p.identity()] >= maxInKernel
		default:
			still = false
		}
		if !groups[p.group] && mayStopGroup(p, agent) {
			groups[p.group] = true
			// Signal the whole group, too: in a chain of short-lived processes, each of which starts the
			// next one and ends, every process may have ended before p.signal reaches it.
			_ = syscall.Kill(-p.group, syscall.SIGSTOP)
		}
		p.signal(syscall.SIGSTOP)
	}
	f.inKernel = inKernel
	return still && !childEnded()
}

// childEnded reports whether a child has ended and was not reaped yet.
func childEnded() bool {
	var who unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &who, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil)
	return err == nil && who.Signo != 0
}

// mayStopGroup reports whether it is safe to signal the whole process group of p. That is safe if
// the group can only contain descendants of this process.
func mayStopGroup(p process, agent int) bool {
	if p.group <= 1 || p.group == syscall.Getpgrp() {
		return false
	}
	session, err := unix.Getsid(0)
	return err == nil && (p.group == agent || p.session != session || session == os.Getpid())
}

// thaw resumes all processes that were not stopped before the first pass.
func (f *freezer) thaw(int) {
	all, _ := processes()
	for _, p := range liveDescendants(all, func(p process) bool { return p.pid == os.Getpid() }) {
		if !f.stoppedBefore[p.identity()] {
			p.signal(syscall.SIGCONT)
		}
	}
}

// stopped reports whether all threads of a process are stopped. If the first thread has ended,
// stopped checks the other threads.
func (p process) stopped() bool {
	switch p.state {
	case 'T', 't':
		return true
	case 'Z', 'X':
		return !p.ended && threadsStopped(p.pid)
	}
	return false
}

func threadsStopped(pid int) bool {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return false
	}
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // skip: the thread has ended
		}
		thread, err := parseStat(pid, stat)
		if err != nil || thread.state != 'T' && thread.state != 't' && thread.state != 'Z' && thread.state != 'X' {
			return false
		}
	}
	return true
}
