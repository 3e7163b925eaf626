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

// process is a process as it was seen. It is known by its pid and its start.
type process struct {
	pid, parent int    // the parent changes when that ends
	start       uint64 // clock ticks since boot
	ended       bool   // and nobody has waited for it yet
	state       byte   // of its first thread, as /proc has it
	group       int    // its process group
	session     int
}

// identity is a process whatever becomes of it.
type identity struct {
	pid   int
	start uint64
}

func (p process) identity() identity { return identity{p.pid, p.start} }

// processes lists those that can be seen. While it looks, some end and others
// begin.
func processes() []process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what was read before an error counts
	var list []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, err := look(pid); err == nil {
			list = append(list, p)
		}
	}
	return list
}

// look reads what /proc says about a process.
func look(pid int) (process, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, err
	}
	return parseStat(pid, stat)
}

// parseStat reads a stat file. The program's name stands in brackets and may
// itself hold spaces and brackets. After it come the state, the parent, the
// process group, the session, as the 18th field how many threads there are, and as the 20th the start time. The
// state is that of the first thread: others may go on without it.
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

// below returns the live processes that descend from roots.
func below(all []process, root func(process) bool) []process {
	children := map[int][]process{}
	var list []process
	for _, p := range all {
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
	return live(list[roots:])
}

func live(list []process) []process {
	kept := list[:0]
	for _, p := range list {
		if !p.ended {
			kept = append(kept, p)
		}
	}
	return kept
}

// signal returns whether the process was still there. It holds on to it while
// it makes sure that nobody else has its pid by now.
func (p process) signal(sig syscall.Signal) bool {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if errors.Is(err, syscall.ESRCH) {
		return false
	}
	if err == nil {
		defer func() { _ = unix.Close(fd) }()
	}
	if now, lookErr := look(p.pid); lookErr != nil || now.start != p.start || now.ended {
		return false
	}
	if err == nil {
		err = unix.PidfdSendSignal(fd, sig, nil, 0)
	} else { // a kernel that cannot hold on to a process
		err = syscall.Kill(p.pid, sig)
	}
	return !errors.Is(err, syscall.ESRCH)
}
