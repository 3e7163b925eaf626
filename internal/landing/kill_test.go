package landing_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gaffer/fleet"
	"gaffer/internal/testkit/gittest"
	"gaffer/internal/testkit/testenv"
)

// The program is killed at random moments while it merges ten changes of one file, into a branch
// that is checked out and into branches that are not. No change may be merged twice or lost, and
// the check must succeed on every commit.
func TestTenChangesOfOneFileSurviveRandomKills(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	const tasks = 10
	program := testenv.Program(t)
	f := &fixture{Repo: gittest.New(t, "project")}
	var lines, plan strings.Builder
	plan.WriteString("name: ten\ndefaults: {worktree: true, verify: sh check.sh}\ntasks:\n")
	for i := range tasks {
		fmt.Fprintf(&lines, "task %d open\n-\n-\n", i)
		fmt.Fprintf(&plan, "  - {id: t%d, shell: \"sed -i 's/^task %d open/task %d done/' list.txt\"}\n", i, i, i)
	}
	f.Write(f.Dir, "list.txt", lines.String())
	f.Write(f.Dir, "check.sh", "test $(grep -c '^task [0-9] \\(open\\|done\\)$' list.txt) = 10\n")
	f.Write(f.Dir, "plan.yaml", plan.String())
	f.Commit(f.Dir, "first")
	command := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = f.Dir
		cmd.Env = append(os.Environ(), "HOME="+f.Top, "XDG_STATE_HOME="+filepath.Join(f.Top, "state"))
		return cmd
	}
	if out, err := command("run", "plan.yaml").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var latest fleet.Run
	out, err := command("status", "--json").Output()
	f.Must(err)
	f.Must(json.Unmarshal(out, &latest))

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	targets := []string{"main"}
	how := func(target string) string { // test merges and squashes: git knows which commits were merged, but not which were squashed
		if target == "main" {
			return "--merge"
		}
		return "--squash"
	}
	for kills := 0; kills < 20; {
		target := targets[len(targets)-1]
		merge := command("merge", latest.ID, "--all", "--yes", "--into", target, how(target))
		f.Must(merge.Start())
		ended := make(chan error, 1)
		go func() { ended <- merge.Wait() }()
		select {
		case err := <-ended: // the program has merged all changes
			f.Must(err)
			targets = append(targets, fmt.Sprintf("target%d", len(targets)))
			f.Git(f.Dir, "branch", targets[len(targets)-1], "main~"+fmt.Sprint(tasks))
		case <-time.After(time.Duration(random.IntN(600)) * time.Millisecond):
			if err := merge.Process.Kill(); err == nil {
				kills++
			} else if !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
			<-ended
		}
	}
	for _, target := range targets {
		if out, err := command("merge", latest.ID, "--all", "--yes", "--into", target, how(target)).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		subjects := strings.Split(f.Git(f.Dir, "log", "--first-parent", "--reverse", "--format=%s", target), "\n")
		want := []string{"first"}
		for i := range tasks {
			want = append(want, fmt.Sprintf("Merge task t%d", i))
		}
		if strings.Join(subjects, "|") != strings.Join(want, "|") {
			t.Errorf("%s: %q", target, subjects)
		}
		for n, commit := range strings.Split(f.Git(f.Dir, "rev-list", "--first-parent", "--reverse", target), "\n") {
			text := f.Git(f.Dir, "show", commit+":list.txt")
			if strings.Count(text, " done") != n || strings.Count(text, "task ") != tasks {
				t.Errorf("%s: commit %d has\n%s", target, n, text)
			}
		}
		var results []fleet.MergeResult
		out, err := command("merge", latest.ID, "--all", "--into", target, "--json").Output()
		f.Must(err)
		f.Must(json.Unmarshal(out, &results))
		if got := words(results); strings.Count(got, "already") != tasks {
			t.Errorf("%s: %s", target, got)
		}
	}
	if got := f.Git(f.Dir, "status", "--porcelain", "--untracked-files=no"); got != "" {
		t.Errorf("status: %s", got)
	}
	f.Git(f.Dir, "fsck", "--strict")
	if left := f.Git(f.Dir, "worktree", "list", "--porcelain"); strings.Contains(left, "check-") {
		t.Errorf("left: %s", left)
	}
}
