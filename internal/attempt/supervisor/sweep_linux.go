package supervisor

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"
)

const (
	// A process that has just begun to run its program has no environment for
	// a moment, so that nobody is taken to be there only if it is so twice.
	sweepAgain = 50 * time.Millisecond
	sweepPause = 10 * time.Millisecond
	sweepLimit = 15 * time.Second
)

// Sweep ends everything that carries the mark of an attempt, and all that
// descends from it, and returns what is left although it was killed. It is for
// an attempt whose supervisor is gone. It cannot see a process that has cleared
// its environment and whose parents are gone.
func Sweep(attempt string) (left []int, err error) { return sweepAttempt(attempt, nil) }

// sweepAttempt is Sweep that also ends the members of the attempt's control group, if
// it has one.
func sweepAttempt(attempt string, in *group) (left []int, err error) {
	if attempt == "" {
		return nil, fmt.Errorf("attempt %q: not an id", attempt)
	}
	return sweep([]byte(Mark+"="+attempt), in), nil
}

// SweepMarked is like [Sweep] for everything that was started with a variable. It
// must be one that nobody else could have, such as a folder that was made for it.
func SweepMarked(variable, value string) (left []int, err error) {
	if variable == "" || value == "" {
		return nil, fmt.Errorf("variable %q=%q: everybody could have it", variable, value)
	}
	return sweep([]byte(variable+"="+value), nil), nil
}

func sweep(mark []byte, in *group) (left []int) {
	begin := time.Now()
	told := map[identity]bool{}
	for clean := 0; clean < 2; {
		list := marked(mark)
		if in != nil {
			list = append(list, in.members()...)
		}
		age := time.Since(begin)
		switch {
		case len(list) == 0:
			clean++
			time.Sleep(sweepAgain)
			continue
		case age > sweepLimit:
			return pids(list)
		case age > sweepGrace:
			signalEach(list, syscall.SIGKILL)
			if in != nil {
				in.kill()
			}
		default:
			terminateOnce(list, told)
		}
		clean = 0
		time.Sleep(sweepPause)
	}
	return nil
}

// terminateOnce passes over those that were told: some take a second signal for
// an order to hurry.
func terminateOnce(list []process, told map[identity]bool) {
	for _, p := range list {
		if id := p.identity(); !told[id] {
			told[id] = true
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

// marked lists the processes that carry the mark and those below them, but for
// this one.
func marked(mark []byte) []process {
	all := slices.DeleteFunc(processes(), func(p process) bool { return p.pid == os.Getpid() })
	var list []process
	seen := map[int]bool{}
	for _, p := range all {
		if !p.ended && carries(p.pid, mark) {
			list, seen[p.pid] = append(list, p), true
		}
	}
	return append(list, below(all, func(p process) bool { return seen[p.pid] })...)
}

// carries tells whether a process was started with the mark. The environment of
// one that belongs to another user cannot be read, and is not ours.
func carries(pid int, mark []byte) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false
	}
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if bytes.Equal(v, mark) {
			return true
		}
	}
	return false
}

// Living lists the processes that carry the mark of any attempt, but for this
// one.
func Living() []Marked {
	var list []Marked
	for _, p := range processes() {
		if p.ended || p.pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.pid))
		if err != nil {
			continue // it has ended, or is another user's
		}
		for v := range bytes.SplitSeq(env, []byte{0}) {
			if attempt, ok := bytes.CutPrefix(v, []byte(Mark+"=")); ok {
				list = append(list, Marked{p.pid, string(attempt), commandOf(p.pid)})
				break
			}
		}
	}
	return list
}

func commandOf(pid int) string {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
}
