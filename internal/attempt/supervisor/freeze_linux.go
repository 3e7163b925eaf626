package supervisor

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// freezer stops everything below this process, pass by pass, and has it go on
// again.
type freezer struct {
	passes
	others map[identity]bool // stopped by somebody else before
}

// pass stops what is found to move, and returns whether there was nothing. One that
// waits in the kernel does not move: it stops before it does anything else. A
// process can be missed only if its parent ended while this looked, and that parent
// is then a child of ours: whose own parent is gone comes to us.
func (f *freezer) pass(agent int) (still bool) {
	list := below(processes(), func(p process) bool { return p.pid == os.Getpid() })
	first := f.others == nil
	if first {
		f.others = map[identity]bool{}
	}
	groups := map[int]bool{}
	still = true
	for _, p := range list {
		switch {
		case p.stopped():
			f.others[p.identity()] = f.others[p.identity()] || first
			continue
		case p.state != 'D':
			still = false
		}
		if !groups[p.group] && mayStopGroup(p, agent) {
			groups[p.group] = true
			_ = syscall.Kill(-p.group, syscall.SIGSTOP) // also those that none of us can find: one may end as it starts the next
		}
		p.signal(syscall.SIGSTOP)
	}
	return still && !childEnded()
}

// childEnded tells whether a child has ended that nobody has waited for yet.
func childEnded() bool {
	var who unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &who, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil)
	return err == nil && who.Signo != 0
}

// mayStopGroup tells whether nobody can be in a process's group but descendants of
// ours.
func mayStopGroup(p process, agent int) bool {
	if p.group <= 1 || p.group == syscall.Getpgrp() {
		return false
	}
	session, err := unix.Getsid(0)
	return err == nil && (p.group == agent || p.session != session || session == os.Getpid())
}

// thaw has all go on that was not stopped before.
func (f *freezer) thaw(int) {
	for _, p := range below(processes(), func(p process) bool { return p.pid == os.Getpid() }) {
		if !f.others[p.identity()] {
			p.signal(syscall.SIGCONT)
		}
	}
}

// stopped tells whether nothing of a process runs. Of one whose first thread has
// ended, the others tell.
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
			continue // it has ended
		}
		thread, err := parseStat(pid, stat)
		if err != nil || thread.state != 'T' && thread.state != 't' && thread.state != 'Z' && thread.state != 'X' {
			return false
		}
	}
	return true
}
