package supervisor

import (
	"os/exec"
	"slices"
	"syscall"
	"testing"
)

func TestAProcessIsReadFromItsStat(t *testing.T) {
	const tail = " 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 3 0 12345 0"
	for stat, want := range map[string]process{
		"9 (sh) S 7" + tail:                                        {pid: 9, parent: 7, start: 12345, state: 'S', group: 7, session: 7},
		"9 (a ) Z 1 (b)) S 7" + tail:                               {pid: 9, parent: 7, start: 12345, state: 'S', group: 7, session: 7},
		"9 (first thread gone) Z 7" + tail:                         {pid: 9, parent: 7, start: 12345, state: 'Z', group: 7, session: 7},
		"9 (gone) Z 7 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 0": {pid: 9, parent: 7, start: 12345, ended: true, state: 'Z', group: 7, session: 7},
	} {
		if got, err := parseStat(9, []byte(stat)); err != nil || got != want {
			t.Errorf("%q is %+v, %v", stat, got, err)
		}
	}
	for _, stat := range []string{"", "9 (sh", "9 (sh) S", "9 (sh) S x" + tail} {
		if got, err := parseStat(9, []byte(stat)); err == nil {
			t.Errorf("%q is %+v", stat, got)
		}
	}
}

func TestDescendantsAreFoundAtAnyDepth(t *testing.T) {
	all := []process{
		{pid: 5, parent: 4},
		{pid: 4, parent: 3, ended: true},
		{pid: 3, parent: 2},
		{pid: 2, parent: 1},
		{pid: 1, parent: 0},
		{pid: 9, parent: 1},
		{pid: 10, parent: 9},
	}
	got := pids(liveDescendants(all, func(p process) bool { return p.pid == 2 }))
	if slices.Sort(got); !slices.Equal(got, []int{3, 5}) {
		t.Errorf("below 2 are %v", got)
	}
}

func TestASignalNeverReachesAProcessThatReusesThePid(t *testing.T) {
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	seen, err := readProcess(child.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	earlier := seen
	earlier.start--
	if earlier.signal(syscall.SIGKILL) {
		t.Error("an earlier process of that pid was there")
	}
	if now, err := readProcess(seen.pid); err != nil || now.ended {
		t.Errorf("the child is %+v, %v", now, err)
	}
	if !seen.signal(syscall.SIGKILL) {
		t.Error("the child was not there")
	}
	_ = child.Wait() // returns an error, because the child was killed
	if seen.signal(syscall.SIGKILL) {
		t.Error("the child is still there")
	}
}
