package supervisor

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// process is a snapshot of the state of a process, read from /proc. The pid and the start time
// together identify the process.
type process struct {
	pid, parent int    // the kernel changes parent when the parent process ends
	start       uint64 // start time in clock ticks since boot
	ended       bool   // all threads of the process have ended
	state       byte   // state of the first thread as a letter, such as R for running
	group       int    // id of the process group
	session     int
}

// identity identifies a process. A pid alone does not, because the kernel reuses pids. A later
// process with the same pid has another start time.
type identity struct {
	pid   int
	start uint64
}

func (p process) identity() identity { return identity{p.pid, p.start} }

// processes lists the processes that this process can see. Processes may start and end while it
// reads the list. If it returns an error, the list may be incomplete.
func processes() (list []process, err error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	for _, name := range names {
		pid, notNumber := strconv.Atoi(name)
		if notNumber != nil {
			continue
		}
		p, unread := readProcess(pid)
		switch {
		case unread == nil:
			list = append(list, p)
		case isShortage(unread):
			err = unread
		}
	}
	return list, err
}

// isShortage reports whether a file in /proc could not be read because too many files are open or
// memory is short. Any other error means that the process has ended or belongs to another user.
func isShortage(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}

// readProcess reads a process from /proc.
func readProcess(pid int) (process, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, err
	}
	return parseStat(pid, stat)
}

// parseStat parses /proc/PID/stat. The program's name is in parentheses and may itself contain
// spaces and parentheses. The first four fields after the name are the state, the parent, the
// process group and the session. The 18th field after the name is the number of threads, and the
// 20th the start time. The state is that of the first thread; other threads may still be running.
func parseStat(pid int, stat []byte) (process, error) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return process{}, fmt.Errorf("/proc/%d/stat: %d fields after the name", pid, len(fields))
	}
	parent, err1 := strconv.Atoi(string(fields[1]))
	threads, err2 := strconv.Atoi(string(fields[17]))
	start, err3 := strconv.ParseUint(string(fields[19]), 10, 64)
	ended := (fields[0][0] == 'Z' || fields[0][0] == 'X') && threads <= 1
	group, err4 := strconv.Atoi(string(fields[2]))
	session, err5 := strconv.Atoi(string(fields[3]))
	p := process{pid: pid, parent: parent, start: start, ended: ended, state: fields[0][0], group: group, session: session}
	return p, errors.Join(err1, err2, err3, err4, err5)
}

// liveDescendants returns the live descendants of the root processes in the list, without the roots
// themselves. The function root reports whether a process is a root.
func liveDescendants(processes []process, root func(process) bool) []process {
	children := map[int][]process{}
	var list []process
	for _, p := range processes {
		if root(p) {
			list = append(list, p)
		} else {
			children[p.parent] = append(children[p.parent], p)
		}
	}
	roots := len(list)
	for i := 0; i < len(list); i++ {
		list = append(list, children[list[i].pid]...)
	}
	return withoutZombies(list[roots:])
}

func withoutZombies(list []process) []process {
	kept := list[:0]
	for _, p := range list {
		if !p.ended {
			kept = append(kept, p)
		}
	}
	return kept
}

// signal sends a signal to the process, and reports whether the process still existed. To make sure
// that the signal does not reach a later process with the same pid, it opens a pidfd and then
// compares the start time. If no pidfd can be opened, it compares only the start time.
func (p process) signal(sig syscall.Signal) bool {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if errors.Is(err, syscall.ESRCH) {
		return false
	}
	if err == nil {
		defer func() { _ = unix.Close(fd) }()
	}
	if now, lookErr := readProcess(p.pid); lookErr != nil || now.start != p.start || now.ended {
		return false
	}
	if err == nil {
		err = unix.PidfdSendSignal(fd, sig, nil, 0)
	} else { // no pidfd could be opened, for example because the kernel is too old
		err = syscall.Kill(p.pid, sig)
	}
	return !errors.Is(err, syscall.ESRCH)
}
