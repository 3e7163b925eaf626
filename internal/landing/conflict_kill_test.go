package landing_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gaffer/fleet"
	"gaffer/internal/testkit/gittest"
	"gaffer/internal/testkit/testenv"
)

// Ten agents edit one file, and two of the changes conflict. gaffer is killed 20 times at random
// moments, also while agents resolve conflicts. Each change must be merged once and in order, and
// the check must succeed on every commit.
func TestConflictsAreResolvedByAgentsThoughGafferIsKilled(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for kills, conflicts := 0, 0; kills < 20; {
		f := newTenTasks(t)
		k, c := f.runWithKills(random)
		f.checkMerged()
		kills, conflicts = kills+k, conflicts+c
		t.Logf("killed %d times, %d of them while a conflict was resolved", kills, conflicts)
		if kills >= 20 && conflicts == 0 {
			t.Error("no conflict was met by a kill")
		}
	}
}

// agentScript edits the line of its task. Tasks 3 and 7 also edit the line of the task before them.
// If the line is already edited, the agent was started to resolve a conflict.
const agentScript = `set -e
n=${GAFFER_TASK#t}
if ! grep -q "^task $n done" list.txt; then
	case $n in 3|7) sed -i "s/^task $((n - 1)) .*/&, see $n/" list.txt ;; esac
	sed -i "s/^task $n .*/task $n done/" list.txt
else
	sleep 0.5
	git merge -q main || git checkout -q --theirs list.txt
	sed -i "s/^task $n .*/task $n done/" list.txt
fi
git commit -qam "task $n"
`

// tenTasks is a project with a plan of ten tasks, which are merged when all are complete.
type tenTasks struct {
	*fixture
	program string
}

func newTenTasks(t *testing.T) *tenTasks {
	t.Helper()
	f := &tenTasks{fixture: &fixture{Repo: gittest.New(t, "project")}, program: testenv.Program(t)}
	var lines, plan strings.Builder
	plan.WriteString("name: ten\ndefaults: {worktree: true, land: merge, agent: claude, verify: sh check.sh}\ntasks:\n")
	for i := 1; i <= 10; i++ {
		fmt.Fprintf(&lines, "task %d open\n-\n-\n", i)
		fmt.Fprintf(&plan, "  - {id: t%d, prompt: x}\n", i)
	}
	f.Write(f.Top, "play", "== *\ntool sh agent.sh\nsay I have done my part.\n")
	f.Write(f.Dir, "gaffer.yaml", fmt.Sprintf("agents:\n  claude: {argv: [%s, fake-agent, --protocol, claude, --scripts, %s]}\n", f.program, filepath.Join(f.Top, "play")))
	f.Write(f.Dir, "agent.sh", agentScript)
	f.Write(f.Dir, "check.sh", "test $(grep -c '^task [0-9]* ' list.txt) = 10 && ! grep -q '<<<<' list.txt\n")
	f.Write(f.Dir, "list.txt", lines.String())
	f.Write(f.Dir, "plan.yaml", plan.String())
	f.Commit(f.Dir, "start")
	return f
}

func (f *tenTasks) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(f.Context(), f.program, args...)
	cmd.Dir = f.Dir
	cmd.Env = append(os.Environ(), "HOME="+f.Top, "XDG_STATE_HOME="+filepath.Join(f.Top, "state"), "GAFFER_TRUST=all")
	return cmd
}

// status returns the latest run. Its id is empty if there is no run yet.
func (f *tenTasks) status() (r fleet.Run) {
	f.Helper()
	if out, _ := f.command("status", "--json").Output(); len(out) > 0 { // ignore the error: the command's exit code depends on the run's status
		f.Must(json.Unmarshal(out, &r))
	}
	return r
}

// runWithKills runs the plan to its end. It returns how often it killed gaffer, and how
// many of the kills came while an agent resolved a conflict.
func (f *tenTasks) runWithKills(random *rand.Rand) (kills, conflicts int) {
	f.Helper()
	for n := 0; ; n++ {
		args := []string{"run", "plan.yaml"}
		if id := f.status().ID; id != "" {
			args = []string{"resume", id}
		}
		gaffer := f.command(args...)
		conflict := &watchedOutput{text: "its agent works on it", seen: make(chan struct{})}
		gaffer.Stderr = conflict
		f.Must(gaffer.Start())
		ended := make(chan error, 1)
		go func() { ended <- gaffer.Wait() }()
		// Kill every other process soon after it has met a conflict.
		start, isConflict := conflict.seen, true
		if n%2 == 0 {
			now := make(chan struct{})
			close(now)
			start, isConflict = now, false
		}
		select {
		case err := <-ended:
			if err != nil {
				f.Fatalf("gaffer %s: %v\n%s", args[0], err, conflict)
			}
			return kills, conflicts
		case <-start:
		}
		select {
		case err := <-ended:
			if err != nil {
				f.Fatalf("gaffer %s: %v\n%s", args[0], err, conflict)
			}
			return kills, conflicts
		case <-time.After(time.Duration(random.IntN(1500)) * time.Millisecond):
			f.Must(gaffer.Process.Kill())
			<-ended
		}
		kills++
		if isConflict {
			conflicts++
		}
	}
}

// checkMerged fails the test unless each change is in main once and in order, and the check
// succeeds on every commit.
func (f *tenTasks) checkMerged() {
	f.Helper()
	want := []string{"start"}
	for i := 1; i <= 10; i++ {
		want = append(want, fmt.Sprintf("Merge task t%d", i))
	}
	if got := f.Git(f.Dir, "log", "--first-parent", "--reverse", "--format=%s", "main"); got != strings.Join(want, "\n") {
		f.Errorf("main has\n%s", got)
	}
	for n, commit := range strings.Split(f.Git(f.Dir, "rev-list", "--first-parent", "--reverse", "main"), "\n") {
		text := f.Git(f.Dir, "show", commit+":list.txt")
		if strings.Count(text, "task ") != 10 || strings.Count(text, " done") != n || strings.Contains(text, "<<<<") {
			f.Errorf("commit %d has\n%s", n, text)
		}
	}
	for _, task := range f.status().Tasks {
		attempts := 1
		if task.ID == "t3" || task.ID == "t7" {
			attempts = 2
		}
		if task.Status != fleet.Complete || task.Tries != attempts {
			f.Errorf("%s is %s after %d attempts, want %d", task.ID, task.Status, task.Tries, attempts)
		}
	}
	if got := f.Git(f.Dir, "status", "--porcelain", "--untracked-files=no"); got != "" {
		f.Errorf("status: %s", got)
	}
	f.Git(f.Dir, "fsck", "--strict")
	if left := f.Git(f.Dir, "worktree", "list", "--porcelain"); strings.Contains(left, "check-") {
		f.Errorf("left: %s", left)
	}
}

// watchedOutput is the output of a process. It closes seen when the output contains text.
type watchedOutput struct {
	text string
	seen chan struct{}

	mu  sync.Mutex
	all bytes.Buffer
}

func (w *watchedOutput) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := bytes.Contains(w.all.Bytes(), []byte(w.text))
	w.all.Write(p)
	if !before && bytes.Contains(w.all.Bytes(), []byte(w.text)) {
		close(w.seen)
	}
	return len(p), nil
}

func (w *watchedOutput) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.String()
}
