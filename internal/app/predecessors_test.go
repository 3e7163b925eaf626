package app_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"gaffer/fleet"
	"gaffer/internal/attempt/workspace"
	"gaffer/internal/flow/beadrun"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
)

// treeTask returns a task that runs a shell script in a worktree.
func treeTask(id, script string, after ...string) plan.Task {
	t := shell(id, script, after...)
	t.Worktree = true
	return t
}

// diamond returns a plan in which the last task starts from the work of two others.
func diamond() plan.Plan {
	tasks := []plan.Task{
		treeTask("base", "echo base > base.txt"),
		treeTask("left", "cat base.txt > left.txt", "base"),
		treeTask("right", "cat base.txt > right.txt", "base"),
		treeTask("both", "cat base.txt left.txt right.txt > both.txt", "left", "right"),
	}
	for i := range tasks {
		tasks[i].Retries = 3 // because a killed agent counts as failed
	}
	return plan.Plan{Name: "diamond", Source: plan.SourceOrchestrate, Tasks: tasks}
}

// retryFailed retries a merge task whose process was killed, as a user would.
func (p testProject) retryFailed(run, task string) {
	p.t.Helper()
	a := p.open()
	defer func() { _ = a.Close() }()
	found, err := a.Fleet.Task(p.t.Context(), run, task)
	if err == nil && found.Status == fleet.Failed {
		if err = a.Fleet.Retry(p.t.Context(), run, task); err == nil {
			_, err = a.Runs.Work(p.t.Context(), run)
		}
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// Work must be committed and merged once, and a worktree must be complete before an agent starts in
// it. This must hold whether only gaffer is killed or all of its processes.
func TestPredecessorsAreMergedOnceWhateverIsKilled(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	for range testenv.Count(0, 6, 60) {
		p := newRepository(t)
		a := p.open()
		run, err := a.Submit(t.Context(), diamond())
		if err = errors.Join(err, a.Close()); err != nil {
			t.Fatal(err)
		}
		first := p.gaffer(run)
		time.Sleep(time.Duration(rand.IntN(900)) * time.Millisecond) // kill after a random time
		_ = first.Process.Kill()
		if rand.IntN(2) == 0 {
			for pid := range marked(run) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		_ = first.Wait()
		if out, err := p.gaffer(run).output(); err != nil {
			t.Fatalf("resume: %v\n%s", err, out)
		}
		p.retryFailed(run, "merge-1")
		branch := "gaffer/" + run + "/both"
		if got := p.git("show", branch+":both.txt"); got != "base\nbase\nbase" {
			t.Errorf("both.txt is %q", got)
		}
		if got := p.git("rev-list", "--count", "--merges", branch); got != "1" {
			t.Errorf("%s merges, want 1:\n%s", got, p.git("log", "--graph", "--oneline", branch))
		}
		if got := p.git("rev-list", "--count", "--no-merges", branch, "^main"); got != "4" {
			t.Errorf("%s commits, want 4:\n%s", got, p.git("log", "--graph", "--oneline", branch))
		}
	}
}

func TestAMergeThatWasKilledIsFinishedByTheNext(t *testing.T) {
	t.Parallel()
	p := newRepository(t)
	one, two := p.treeOf("r", "one"), p.treeOf("r", "two")
	into := "gaffer/r/merge-1"
	p.git("branch", into, one.Branch) // simulate the state that a killed process leaves
	const order = `{"run": "r", "into": "gaffer/r/merge-1", "start": "gaffer/r/one", "tasks": ["one", "two"], "names": ["one", "The second"]}`
	for range 2 {
		var out strings.Builder
		if err := workspace.RunMergeStep(t.Context(), p.root, strings.NewReader(order), &out); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
	}
	if got := p.git("log", "--format=%s", into, "^"+one.Branch, "^"+two.Branch); got != "Merge two: The second" {
		t.Errorf("the commits of the merge are %q", got)
	}
}

func TestARetriedTaskKeepsItsBaseCommit(t *testing.T) {
	t.Parallel()
	p := newRepository(t)
	a := p.open()
	defer func() { _ = a.Close() }()
	run := p.work(a, plan.Plan{Name: "p", Source: plan.SourceOrchestrate, Tasks: []plan.Task{
		treeTask("first", "echo 1 > first.txt"),
		treeTask("second", "cat first.txt && { test -e tried || { touch tried; exit 1; }; }", "first"),
	}})
	if run.Status != fleet.Failed {
		t.Fatalf("the run is %s", run.Status)
	}
	p.git("merge", "--quiet", "gaffer/"+run.ID+"/first")
	p.git("worktree", "remove", "--force", run.Tasks[0].Worktree)
	p.git("branch", "-D", "gaffer/"+run.ID+"/first")
	if err := a.Fleet.Retry(t.Context(), run.ID, "second"); err != nil {
		t.Fatal(err)
	}
	run, err := a.Runs.Work(t.Context(), run.ID)
	if err != nil || run.Status != fleet.Complete {
		t.Fatalf("the run is %s, %v: %+v", run.Status, err, run.Tasks[1].Attempt)
	}
}

func TestPromptsAtOnceSeeWhatThePromptBeforeThemLeftUncommitted(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newRepository(t)
	a := p.open()
	defer func() { _ = a.Close() }()
	what := flow("cat zero.txt > one.txt", "cat zero.txt > two.txt", "cat one.txt two.txt")
	zero := shell("zero", "echo 0 > zero.txt")
	zero.Wave = 1
	for i := range what.Tasks {
		what.Tasks[i].Wave++
	}
	what.Tasks = append([]plan.Task{zero}, what.Tasks...)
	if run := p.work(a, what); run.Status != fleet.Complete {
		t.Errorf("the run is %s: %+v", run.Status, run.Tasks[1].Attempt)
	}
}

// A bead's worktree must not start from the work of a bead in another repository.
func TestBeadsStartFromTheBeadsBeforeThemInTheirRepository(t *testing.T) {
	t.Parallel()
	p, other := newRepository(t), newRepository(t)
	a := p.open()
	defer func() { _ = a.Close() }()
	bead := func(id, repo, script string, after ...string) plan.Task {
		task := treeTask(id, script, after...)
		task.Branch = "bead/" + id
		task.Dispatch = &plan.Dispatch{Bead: id, Repo: repo}
		return task
	}
	id, err := a.Beads.Dispatch(t.Context(), beadrun.Request{Terminal: beadrun.Headless, Plan: plan.Plan{Name: "beads", Source: plan.SourceRunPrompt, Tasks: []plan.Task{
		bead("one", p.root, "echo 1 > one.txt"),
		bead("two", p.root, "echo 2 > two.txt"),
		bead("away", other.root, "test ! -e one.txt && echo 3 > away.txt", "one", "two"),
		bead("last", p.root, "cat one.txt two.txt && test ! -e away.txt", "away"),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	run, err := a.Runs.Work(t.Context(), id)
	if err != nil || run.Status != fleet.Complete {
		t.Fatalf("the run is %s, %v: %+v", run.Status, err, run.Tasks)
	}
	if got := other.git("show", "bead/away:away.txt"); got != "3" {
		t.Errorf("away.txt is %q", got)
	}
}
