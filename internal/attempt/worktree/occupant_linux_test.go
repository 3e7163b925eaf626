package worktree

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"gaffer/internal/git"
	"gaffer/internal/testkit/testenv"
)

func TestAGitOfOursIsNoOccupant(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	tree := p.create("a")
	cmd := exec.Command("sleep", "1000")
	cmd.Dir, cmd.Env = tree.Path, append(os.Environ(), git.Mark)
	p.Must(cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	testenv.Wait(t, "sleep to run", func() error {
		if !startedByGaffer(cmd.Process.Pid) {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", cmd.Process.Pid)) // fails if the process has ended
			return fmt.Errorf("process %d is %q", cmd.Process.Pid, line)
		}
		return nil
	})
	if s := p.status(tree); len(s.Occupants) > 0 {
		t.Errorf("occupants: %+v", s.Occupants)
	}
}

func TestSittersAreFoundInAFolderThatWasDeleted(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := sit(t, dir)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	found, err := processesIn(t.Context(), dir)
	if err != nil || len(found) != 1 || found[0].PID != cmd.Process.Pid {
		t.Errorf("found %+v, %v", found, err)
	}
}
