package fake_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestAnOrphanRunsInItsOwnSession(t *testing.T) {
	p := start(t, "fake: orphan 617\nfake: forks 2 618\nfake: say ready\nfake: hang")
	p.until(t, "ready\n")
	session, children := 0, 0
	for _, child := range childrenOf(t, p.Process.Pid) {
		defer func() { _ = syscall.Kill(child.pid, syscall.SIGKILL) }()
		children++
		if child.session == child.pid {
			session++
		}
	}
	if children != 3 || session != 1 {
		t.Errorf("%d children, %d in a session of their own; want 3 and 1", children, session)
	}
}

type child struct{ pid, session int }

// childrenOf returns the children of the process with pid parent, from /proc.
func childrenOf(t *testing.T, parent int) []child {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var all []child
	for _, file := range stats {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // this process has ended since the list was read
		}
		_, rest, _ := strings.Cut(string(data), ") ")
		fields := strings.Fields(rest) // state, parent, group, session
		if len(fields) > 3 && fields[1] == strconv.Itoa(parent) {
			pid, _ := strconv.Atoi(strings.Split(file, "/")[2])
			session, _ := strconv.Atoi(fields[3])
			all = append(all, child{pid, session})
		}
	}
	return all
}
