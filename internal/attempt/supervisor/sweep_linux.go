package supervisor

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// sweepAgain is the pause after a search that has found no process. During exec a process has
	// no environment for a moment, so one search may miss it. The function sweep concludes that no
	// process is left only after two searches in a row have found none.
	sweepAgain = 50 * time.Millisecond
	sweepPause = 10 * time.Millisecond
	sweepLimit = 15 * time.Second
)

// Sweep ends all processes that have the attempt's id in their environment (GAFFER_ATTEMPT), and
// all their descendants. It is for an attempt whose supervisor is dead. It returns the pids of
// processes that still exist although they were killed. It cannot find a process that has cleared
// its environment and whose parent has ended.
func Sweep(attempt string) (left []int, err error) {
	return sweepAttempt(attempt, supervisorRecord{})
}

// sweepAttempt does the same as Sweep. It also ends the processes that it finds through the
// supervisor's record: those in the control group, and those with the supervisor's resource limits.
func sweepAttempt(attempt string, by supervisorRecord) (left []int, err error) {
	if attempt == "" {
		return nil, fmt.Errorf("attempt %q: not an id", attempt)
	}
	return sweep(func() ([]process, error) { return by.owned(attempt) }, by.Group)
}

// SweepMarked does the same as [Sweep], but for all processes in whose environment the given
// variable has the given value. The value must be unique, such as the path of a folder that was
// created for these processes.
func SweepMarked(variable, value string) (left []int, err error) {
	if variable == "" || value == "" {
		return nil, fmt.Errorf("variable %q=%q: any process could have it", variable, value)
	}
	mark := []byte(variable + "=" + value)
	return sweep(func() ([]process, error) { return marked(mark) }, nil)
}

// sweep ends the processes that the function find returns, until find returns none. It sends them
// SIGTERM, and SIGKILL after leftoverGrace. With SIGKILL it also kills the control group as a
// whole, if group is not nil. After sweepLimit it gives up, and returns the pids of the processes
// that are left and the error of find.
func sweep(find func() ([]process, error), group *cgroup) (left []int, err error) {
	begin := time.Now()
	terminated := map[identity]bool{}
	for clean := 0; clean < 2; {
		list, err := find()
		age := time.Since(begin)
		switch {
		case len(list) == 0 && err == nil:
			clean++
			time.Sleep(sweepAgain)
			continue
		case age > sweepLimit:
			return pids(list), err
		case age > leftoverGrace:
			signalEach(list, syscall.SIGKILL)
			if group != nil {
				group.kill()
			}
		default:
			terminateOnce(list, terminated)
		}
		clean = 0
		time.Sleep(sweepPause)
	}
	return nil, nil
}

// terminateOnce sends SIGTERM to each process, but never twice to the same one: some programs take
// a second signal as an order to exit immediately.
func terminateOnce(list []process, terminated map[identity]bool) {
	for _, p := range list {
		if id := p.identity(); !terminated[id] {
			terminated[id] = true
			p.signal(syscall.SIGTERM)
		}
	}
}

func pids(list []process) (pids []int) {
	for _, p := range list {
		pids = append(pids, p.pid)
	}
	return pids
}

// marked lists the live processes whose environment contains the entry mark, which has the form
// NAME=VALUE. It also lists the descendants of these processes. It leaves out this process. If it
// returns an error, the list may be incomplete.
func marked(mark []byte) (list []process, err error) {
	all, err := processes()
	all = slices.DeleteFunc(all, func(p process) bool { return p.pid == os.Getpid() })
	seen := map[int]bool{}
	for _, p := range all {
		carries, unread := hasVariable(p.pid, mark)
		if isShortage(unread) {
			err = unread
		}
		if carries && !p.ended {
			list, seen[p.pid] = append(list, p), true
		}
	}
	return append(list, liveDescendants(all, func(p process) bool { return seen[p.pid] })...), err
}

// hasVariable reports whether a process was started with an environment variable, given as
// NAME=VALUE. It returns an error if, for example, the process has ended or belongs to another
// user.
func hasVariable(pid int, variable []byte) (bool, error) {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false, err
	}
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if bytes.Equal(v, variable) {
			return true, nil
		}
	}
	return false, nil
}

// ListMarked lists the processes that have an attempt's id in the environment variable Mark. It
// leaves out this process and processes of other users. If it returns an error, the list may be
// incomplete: a missing process may be alive.
func ListMarked() (list []Marked, err error) {
	all, err := processes()
	for _, p := range all {
		if p.ended || p.pid == os.Getpid() {
			continue
		}
		env, unread := environmentOf(p.pid)
		if isShortage(unread) {
			err = unread
		}
		for _, v := range env {
			if attempt, ok := strings.CutPrefix(v, Mark+"="); ok {
				list = append(list, Marked{p.pid, attempt, commandOf(p.pid), env})
				break
			}
		}
	}
	return list, err
}

// environmentOf returns the environment with which a process was started. It fails, for example, if
// the process has ended or belongs to another user.
func environmentOf(pid int) ([]string, error) {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(env), "\x00"), "\x00"), nil
}

func commandOf(pid int) string {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
}
