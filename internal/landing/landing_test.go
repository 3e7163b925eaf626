package landing_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gaffer/fleet"
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/engine"
	"gaffer/internal/engine/review"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/sqlite"
	"gaffer/internal/landing"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/gittest"
)

func TestMain(m *testing.M) {
	gittest.Main(nil)
	goleak.VerifyTestMain(m)
}

const run = "20260201-143022-abc12345"

// fixture is a repository, and a run whose tasks have worktrees in that repository.
type fixture struct {
	*gittest.Repo
	repo    *worktree.Repo
	store   store.Store
	engine  *engine.Engine
	reviews landing.Reviews
	trees   map[string]worktree.Tree
}

// task returns a task that has a worktree and a check.
func task(id string, after ...string) plan.Task {
	return plan.Task{ID: id, Agent: plan.FakeAgent, Prompt: "x", After: after, Isolation: plan.Isolation{Worktree: true, Into: "main"}}
}

func newFixture(t *testing.T, tasks ...plan.Task) *fixture {
	t.Helper()
	f := &fixture{Repo: gittest.New(t, "project"), trees: map[string]worktree.Tree{}}
	f.Write(f.Dir, "shared.txt", "one\ntwo\nthree\n")
	f.Commit(f.Dir, "first")
	var err error
	f.repo, err = worktree.Open(t.Context(), f.Dir)
	f.Must(err)
	f.store, err = sqlite.Open(t.Context(), filepath.Join(f.Top, "gaffer.db"))
	f.Must(err)
	t.Cleanup(func() { _ = f.store.Close() })
	n := 0
	f.engine = engine.New(f.store, engine.Options{
		Now: time.Now, NewID: func() string { n++; return fmt.Sprintf("id%d", n) }, Rand: func() float64 { return 0 }, Lease: time.Hour, Endless: true, Who: "user",
	})
	f.reviews = f.engine
	_, err = f.engine.Submit(t.Context(), engine.Submission{ID: run, OnlyWorker: run, Project: f.Dir, Plan: plan.Plan{Name: "n", Tasks: tasks}})
	f.Must(err)
	return f
}

// work completes all tasks that are ready. For each it creates a worktree and calls agent, which
// does the work there.
func (f *fixture) work(agent func(task, dir string, messages []fleet.Message)) {
	f.Helper()
	for {
		a, err := f.engine.Claim(f.Context(), engine.Claim{Worker: run, Labels: []string{engine.WorkerLabel(run)}})
		if errors.Is(err, engine.ErrNothing) {
			return
		}
		f.Must(err)
		base, err := f.repo.Base(f.Context(), "")
		f.Must(err)
		if _, ok := f.trees[a.Task.Task]; !ok {
			for _, before := range a.Task.Needs {
				base.Commit = f.Git(f.Dir, "rev-parse", f.trees[before].Branch)
			}
			f.trees[a.Task.Task], err = f.repo.Create(f.Context(), worktree.Spec{Run: run, Task: a.Task.Task, Base: base, Root: filepath.Join(f.Top, "trees")})
			f.Must(err)
		}
		agent(a.Task.Task, f.trees[a.Task.Task].Path, a.Messages)
		var delivered []string
		for _, m := range a.Messages {
			delivered = append(delivered, m.ID)
		}
		_, err = f.engine.Finish(f.Context(), engine.Finish{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Delivered: delivered})
		f.Must(err)
	}
}

func (f *fixture) lander() *landing.Lander {
	return landing.New(landing.Options{
		Store: f.store, Reviews: f.reviews, Scratch: filepath.Join(f.Top, "scratch"), Here: func(store.Run) bool { return true }, Who: "user",
	})
}

func (f *fixture) merge(request fleet.MergeRequest) []fleet.MergeResult {
	f.Helper()
	request.Run, request.Yes = run, true
	list, err := f.lander().Merge(f.Context(), request)
	f.Must(err)
	return list
}

func (f *fixture) state(task string) fleet.Review {
	f.Helper()
	r, err := f.engine.Review(f.Context(), store.TaskKey{Run: run, Task: task})
	f.Must(err)
	return r
}

func (f *fixture) approve(task string) {
	f.Helper()
	tree := f.Git(f.Dir, "rev-parse", f.trees[task].Branch+"^{tree}")
	f.Must(f.engine.ChangeReview(f.Context(), store.TaskKey{Run: run, Task: task}, "user", func(r *fleet.Review) error { return review.Approve(r, tree) }))
}

// words returns the tasks and states of results, such as "a merged, b skipped".
func words(list []fleet.MergeResult) string {
	var all []string
	for _, m := range list {
		all = append(all, m.Task+" "+string(m.State))
	}
	return strings.Join(all, ", ")
}

func TestOnlyApprovedChangesOfARunAreMergedInTheOrderOfThePlan(t *testing.T) {
	t.Parallel()
	// In this plan c comes before the task that it needs.
	f := newFixture(t, task("c", "a"), task("a"), task("b"), task("d"))
	f.work(func(task, dir string, _ []fleet.Message) {
		f.Write(dir, task+".txt", task+"\n")
		f.Commit(dir, "work of "+task)
	})
	f.approve("c")
	f.approve("d")
	f.Write(f.trees["d"].Path, "d.txt", "changed since\n") // changed after the approval, and not committed
	got := f.merge(fleet.MergeRequest{})
	if words(got) != "a skipped, c skipped, b skipped, d skipped" || !strings.Contains(got[1].Why, "the work of a") || !strings.Contains(got[3].Why, "changed since") {
		t.Errorf("%+v", got)
	}
	f.approve("a")
	f.approve("d")
	if got := words(f.merge(fleet.MergeRequest{Method: "squash"})); got != "a merged, c merged, b skipped, d merged" {
		t.Error(got)
	}
	if got := f.Git(f.Dir, "log", "--reverse", "--format=%s"); got != "first\nMerge task a\nMerge task c\nMerge task d" {
		t.Error(got)
	}
	if r := f.state("c"); r.State != fleet.ReviewMerged || r.Landing == nil || r.Landing.Method != "squash" || f.Git(f.Dir, "rev-parse", r.Landing.Undo) == "" {
		t.Errorf("%+v", r)
	}
}

// broken is an engine that fails to store reviews, as if the process died after the branch has
// moved.
type broken struct{ *engine.Engine }

func (broken) ChangeReview(context.Context, store.TaskKey, string, func(*fleet.Review) error) error {
	return errors.New("killed")
}

func TestAMergeThatWasNotRecordedIsRecordedAndNotRepeated(t *testing.T) {
	t.Parallel()
	f := newFixture(t, task("a"), task("b"))
	f.work(func(task, dir string, _ []fleet.Message) {
		f.Write(dir, task+".txt", task+"\n")
		f.Commit(dir, "work of "+task)
	})
	f.reviews = broken{f.engine}
	request := fleet.MergeRequest{Run: run, Task: "a", Yes: true, Method: "squash"}
	if _, err := f.lander().Merge(t.Context(), request); err == nil {
		t.Fatal("the review was stored")
	}
	f.reviews = f.engine
	after := f.Git(f.Dir, "rev-parse", "main")
	if got := words(f.merge(request)); got != "a already" || f.Git(f.Dir, "rev-parse", "main") != after {
		t.Error(got)
	}
	if r := f.state("a"); r.State != fleet.ReviewMerged || r.Landing.After != after {
		t.Errorf("%+v", r)
	}
	// Check the same for an undo and for a discard.
	f.reviews = broken{f.engine}
	if _, err := f.lander().Undo(t.Context(), request); err == nil {
		t.Fatal("the review was stored")
	}
	f.reviews = f.engine
	f.Must(f.lander().Sync(t.Context(), run))
	f.reviews = broken{f.engine}
	if _, err := f.lander().Discard(t.Context(), run, "b"); err == nil {
		t.Fatal("the review was stored")
	}
	f.reviews = f.engine
	f.Must(f.lander().Sync(t.Context(), run))
	if a, b := f.state("a"), f.state("b"); a.State != fleet.ReviewApproved || a.Landing != nil || b.State != fleet.ReviewDiscarded || b.Rescue == "" {
		t.Errorf("%+v\n%+v", a, b)
	}
	f.reviews = broken{f.engine}
	if _, err := f.lander().Restore(t.Context(), run, "b"); err == nil {
		t.Fatal("the review was stored")
	}
	f.reviews = f.engine
	f.Must(f.lander().Sync(t.Context(), run))
	if b := f.state("b"); b.State != fleet.ReviewOpen {
		t.Errorf("%+v", b)
	}
}

func TestAConflictGoesToTheAgentAndTheMergeGoesOn(t *testing.T) {
	t.Parallel()
	checked := task("b")
	checked.Verify = []string{"! grep -q broken shared.txt"}
	tasks := []plan.Task{task("a"), checked, task("c")}
	for i := range tasks {
		tasks[i].Land = plan.LandMerge
	}
	f := newFixture(t, tasks...)
	var told []string
	agent := func(task, dir string, messages []fleet.Message) {
		text := "one\n" + task + "\nthree\n"
		for _, m := range messages {
			told = append(told, task+": "+m.Text)
			cmd := exec.CommandContext(t.Context(), "git", "-C", dir, "merge", "--quiet", "main")
			_ = cmd.Run() // fails because of conflicts
			text = f.Git(f.Dir, "show", "main:shared.txt") + "\n" + task + "\n"
			if task == "b" && len(told) == 1 {
				text += "broken\n" // the check must find this
			}
		}
		f.Write(dir, "shared.txt", text)
		f.Commit(dir, "work of "+task)
	}
	f.work(agent)
	for pass, want := range []string{"a merged, b sent_back", "b sent_back", "b merged, c sent_back", "c merged", ""} {
		got, err := f.lander().Auto(t.Context(), run)
		f.Must(err)
		if words(got) != want {
			t.Fatalf("pass %d: %s, want %s", pass, words(got), want)
		}
		if again, err := f.lander().Auto(t.Context(), run); err != nil || len(again) > 0 && again[0].State == fleet.MergeDone { // the agent that must resolve the conflict has not started yet
			t.Errorf("pass %d again: %+v, %v", pass, again, err)
		}
		f.work(agent)
	}
	if len(told) != 3 || !strings.Contains(told[0], "- shared.txt") || !strings.Contains(told[0], "git merge main") || !strings.Contains(told[1], "! grep -q broken shared.txt") {
		t.Errorf("%q", told)
	}
	if got := f.Git(f.Dir, "show", "main:shared.txt"); got != "one\na\nthree\nb\nc" {
		t.Error(got)
	}
}

func TestAnAgentThatDoesNotResolveAConflictIsAskedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, task("a"))
	agent := func(_, dir string, messages []fleet.Message) {
		if len(messages) == 0 {
			f.Write(dir, "shared.txt", "theirs\n")
		}
	}
	f.work(agent)
	f.Write(f.Dir, "shared.txt", "mine\n")
	f.Commit(f.Dir, "mine")
	request := fleet.MergeRequest{Task: "a", Fix: true}
	if got := words(f.merge(request)); got != "a sent_back" {
		t.Fatal(got)
	}
	f.work(agent)
	got := f.merge(request)
	if words(got) != "a conflict" || !strings.Contains(got[0].Hint, "has changed nothing") || len(got[0].Commands) == 0 {
		t.Errorf("%+v", got)
	}
}

func TestAnAgentIsAskedThreeTimesToResolveConflicts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, task("a"))
	tries := 0
	agent := func(_, dir string, _ []fleet.Message) {
		tries++
		f.Write(dir, "shared.txt", fmt.Sprintf("theirs %d\n", tries))
		f.Commit(dir, "a try")
	}
	f.work(agent)
	f.Write(f.Dir, "shared.txt", "mine\n")
	f.Commit(f.Dir, "mine")
	request := fleet.MergeRequest{Task: "a", Fix: true}
	for n := range 3 {
		if got := f.merge(request); words(got) != "a sent_back" {
			t.Fatalf("time %d: %+v", n, got)
		}
		if got := f.merge(request); strings.Contains(got[0].Hint, "has tried") { // the agent has not started yet
			t.Errorf("time %d again: %+v", n, got)
		}
		f.work(agent)
	}
	if got := f.merge(request); words(got) != "a conflict" || !strings.Contains(got[0].Hint, "its agent has tried 3 times") || tries != 4 {
		t.Errorf("after %d tries: %+v", tries, got)
	}
}

func TestTheOverviewCountsWhatIsNext(t *testing.T) {
	t.Parallel()
	f := newFixture(t, task("ready"), task("commented"), task("clash"), task("merged"), task("discarded"), task("unchanged"), task("approved"))
	f.work(func(task, dir string, _ []fleet.Message) {
		switch task {
		case "unchanged":
			return
		case "clash":
			f.Write(dir, "shared.txt", "theirs\n")
		default:
			f.Write(dir, task+".txt", "x\n")
		}
		f.Commit(dir, "work of "+task)
	})
	f.merge(fleet.MergeRequest{Task: "merged"})
	if _, err := f.lander().Discard(t.Context(), run, "discarded"); err != nil {
		t.Fatal(err)
	}
	f.Must(f.engine.ChangeReview(t.Context(), store.TaskKey{Run: run, Task: "commented"}, "user", func(r *fleet.Review) error {
		_, err := review.AddComment(r, fleet.Comment{Text: "why?"}, "user", time.Now())
		return err
	}))
	f.approve("approved")
	f.Write(f.Dir, "shared.txt", "mine\n")
	f.Commit(f.Dir, "mine")
	objects := f.Git(f.Dir, "count-objects")
	got, err := f.lander().Overview(t.Context(), run)
	want := fleet.Changes{Run: run, Into: "main", Total: 6, Ready: 2, Approved: 1, Commented: 1, Conflicts: 1, Merged: 1, Discarded: 1, First: "ready"}
	if err != nil || got != want || f.Git(f.Dir, "count-objects") != objects {
		t.Errorf("%+v, %v", got, err)
	}
	key := store.TaskKey{Run: run, Task: "commented"}
	f.Must(f.engine.SendBack(t.Context(), key, "user", ""))
	want.Commented, want.SentBack = 0, 1
	if got, err = f.lander().Overview(t.Context(), run); err != nil || got != want {
		t.Errorf("while the agent works on the comments: %+v, %v", got, err)
	}
}
