package landing_test

import (
	"context"
	"errors"
	"fmt"
	"os"
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
)

func TestMain(m *testing.M) {
	for name, value := range map[string]string{"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"} {
		_ = os.Setenv(name, value)
	}
	goleak.VerifyTestMain(m)
}

const run = "20260201-143022-abc12345"

// fixture is a repository and a run whose tasks have worktrees in it.
type fixture struct {
	*testing.T
	top, dir string
	repo     *worktree.Repo
	store    store.Store
	engine   *engine.Engine
	reviews  landing.Reviews
	trees    map[string]worktree.Tree
}

// task returns a task in a worktree with a check.
func task(id string, after ...string) plan.Task {
	return plan.Task{ID: id, Agent: plan.FakeAgent, Prompt: "x", After: after, Isolation: plan.Isolation{Worktree: true, Into: "main"}}
}

func newFixture(t *testing.T, tasks ...plan.Task) *fixture {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{T: t, top: top, dir: filepath.Join(top, "project"), trees: map[string]worktree.Tree{}}
	f.git(top, "init", "--quiet", "--initial-branch=main", f.dir)
	f.git(f.dir, "config", "user.name", "Person")
	f.git(f.dir, "config", "user.email", "person@example.com")
	f.write(f.dir, "shared.txt", "one\ntwo\nthree\n")
	f.commit(f.dir, "first")
	f.repo, err = worktree.Open(t.Context(), f.dir)
	f.must(err)
	f.store, err = sqlite.Open(t.Context(), filepath.Join(top, "gaffer.db"))
	f.must(err)
	t.Cleanup(func() { _ = f.store.Close() })
	n := 0
	f.engine = engine.New(f.store, engine.Options{
		Now: time.Now, NewID: func() string { n++; return fmt.Sprintf("id%d", n) }, Rand: func() float64 { return 0 }, Lease: time.Hour, Endless: true, Who: "user",
	})
	f.reviews = f.engine
	_, err = f.engine.Submit(t.Context(), engine.Submission{ID: run, OnlyWorker: run, Project: f.dir, Plan: plan.Plan{Name: "n", Tasks: tasks}})
	f.must(err)
	return f
}

// work does all tasks that are ready: each gets its worktree, and do works there.
func (f *fixture) work(do func(task, dir string, messages []fleet.Message)) {
	f.Helper()
	for {
		a, err := f.engine.Claim(f.Context(), engine.Claim{Worker: run, Labels: []string{engine.WorkerLabel(run)}})
		if errors.Is(err, engine.ErrNothing) {
			return
		}
		f.must(err)
		base, err := f.repo.Base(f.Context(), "")
		f.must(err)
		if _, ok := f.trees[a.Task.Task]; !ok {
			for _, before := range a.Task.Needs {
				base.Commit = f.git(f.dir, "rev-parse", f.trees[before].Branch)
			}
			f.trees[a.Task.Task], err = f.repo.Create(f.Context(), worktree.Spec{Run: run, Task: a.Task.Task, Base: base, Root: filepath.Join(f.top, "trees")})
			f.must(err)
		}
		do(a.Task.Task, f.trees[a.Task.Task].Path, a.Messages)
		var delivered []string
		for _, m := range a.Messages {
			delivered = append(delivered, m.ID)
		}
		_, err = f.engine.Finish(f.Context(), engine.Finish{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Delivered: delivered})
		f.must(err)
	}
}

func (f *fixture) lander() *landing.Lander {
	return landing.New(landing.Options{
		Store: f.store, Reviews: f.reviews, Scratch: filepath.Join(f.top, "scratch"), Here: func(store.Run) bool { return true }, Who: "user",
	})
}

func (f *fixture) merge(request fleet.MergeRequest) []fleet.MergeResult {
	f.Helper()
	request.Run, request.Yes = run, true
	list, err := f.lander().Merge(f.Context(), request)
	f.must(err)
	return list
}

func (f *fixture) state(task string) fleet.Review {
	f.Helper()
	r, err := f.engine.Review(f.Context(), store.TaskKey{Run: run, Task: task})
	f.must(err)
	return r
}

func (f *fixture) approve(task string) {
	f.Helper()
	tree := f.git(f.dir, "rev-parse", f.trees[task].Branch+"^{tree}")
	f.must(f.engine.ChangeReview(f.Context(), store.TaskKey{Run: run, Task: task}, "user", func(r *fleet.Review) error { return review.Approve(r, tree) }))
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) git(dir string, args ...string) string {
	f.Helper()
	cmd := exec.CommandContext(f.Context(), "git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (f *fixture) write(dir, name, text string) {
	f.Helper()
	f.must(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
}

func (f *fixture) commit(dir, message string) {
	f.Helper()
	f.git(dir, "add", "--all")
	f.git(dir, "commit", "--quiet", "--allow-empty", "-m", message)
}

// words returns the states of results, such as "a merged, b skipped".
func words(list []fleet.MergeResult) string {
	var all []string
	for _, m := range list {
		all = append(all, m.Task+" "+string(m.State))
	}
	return strings.Join(all, ", ")
}

func TestOnlyApprovedChangesOfARunAreMergedInTheOrderOfThePlan(t *testing.T) {
	t.Parallel()
	// The plan names c before the task that it needs.
	f := newFixture(t, task("c", "a"), task("a"), task("b"), task("d"))
	f.work(func(task, dir string, _ []fleet.Message) {
		f.write(dir, task+".txt", task+"\n")
		f.commit(dir, "work of "+task)
	})
	f.approve("c")
	f.approve("d")
	f.write(f.trees["d"].Path, "d.txt", "changed since\n") // and not committed
	got := f.merge(fleet.MergeRequest{})
	if words(got) != "a skipped, c skipped, b skipped, d skipped" || !strings.Contains(got[1].Why, "the work of a") || !strings.Contains(got[3].Why, "changed since") {
		t.Errorf("%+v", got)
	}
	f.approve("a")
	f.approve("d")
	if got := words(f.merge(fleet.MergeRequest{Method: "squash"})); got != "a merged, c merged, b skipped, d merged" {
		t.Error(got)
	}
	if got := f.git(f.dir, "log", "--reverse", "--format=%s"); got != "first\nMerge task a\nMerge task c\nMerge task d" {
		t.Error(got)
	}
	if r := f.state("c"); r.State != fleet.ReviewMerged || r.Landing == nil || r.Landing.Method != "squash" || f.git(f.dir, "rev-parse", r.Landing.Undo) == "" {
		t.Errorf("%+v", r)
	}
}

// broken fails to store reviews, as if the process died after the branch has moved.
type broken struct{ *engine.Engine }

func (broken) ChangeReview(context.Context, store.TaskKey, string, func(*fleet.Review) error) error {
	return errors.New("killed")
}

func TestAMergeThatWasNotRecordedIsRecordedAndNotRepeated(t *testing.T) {
	t.Parallel()
	f := newFixture(t, task("a"), task("b"))
	f.work(func(task, dir string, _ []fleet.Message) {
		f.write(dir, task+".txt", task+"\n")
		f.commit(dir, "work of "+task)
	})
	f.reviews = broken{f.engine}
	request := fleet.MergeRequest{Run: run, Task: "a", Yes: true, Method: "squash"}
	if _, err := f.lander().Merge(t.Context(), request); err == nil {
		t.Fatal("the review was stored")
	}
	f.reviews = f.engine
	after := f.git(f.dir, "rev-parse", "main")
	if got := words(f.merge(request)); got != "a already" || f.git(f.dir, "rev-parse", "main") != after {
		t.Error(got)
	}
	if r := f.state("a"); r.State != fleet.ReviewMerged || r.Landing.After != after {
		t.Errorf("%+v", r)
	}
	// The same holds for an undo and for a discard.
	f.reviews = broken{f.engine}
	if _, err := f.lander().Undo(t.Context(), request); err == nil {
		t.Fatal("the review was stored")
	}
	f.reviews = f.engine
	f.must(f.lander().Sync(t.Context(), run))
	f.reviews = broken{f.engine}
	if _, err := f.lander().Discard(t.Context(), run, "b"); err == nil {
		t.Fatal("the review was stored")
	}
	f.reviews = f.engine
	f.must(f.lander().Sync(t.Context(), run))
	if a, b := f.state("a"), f.state("b"); a.State != fleet.ReviewApproved || a.Landing != nil || b.State != fleet.ReviewDiscarded || b.Rescue == "" {
		t.Errorf("%+v\n%+v", a, b)
	}
	f.reviews = broken{f.engine}
	if _, err := f.lander().Restore(t.Context(), run, "b"); err == nil {
		t.Fatal("the review was stored")
	}
	f.reviews = f.engine
	f.must(f.lander().Sync(t.Context(), run))
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
			_ = cmd.Run() // with conflicts
			text = f.git(f.dir, "show", "main:shared.txt") + "\n" + task + "\n"
			if task == "b" && len(told) == 1 {
				text += "broken\n" // the check finds it
			}
		}
		f.write(dir, "shared.txt", text)
		f.commit(dir, "work of "+task)
	}
	f.work(agent)
	for pass, want := range []string{"a merged, b sent_back", "b sent_back", "b merged, c sent_back", "c merged", ""} {
		got, err := f.lander().Auto(t.Context(), run)
		f.must(err)
		if words(got) != want {
			t.Fatalf("pass %d: %s, want %s", pass, words(got), want)
		}
		if again, err := f.lander().Auto(t.Context(), run); err != nil || len(again) > 0 && again[0].State == fleet.MergeDone { // the agent has not started yet
			t.Errorf("pass %d again: %+v, %v", pass, again, err)
		}
		f.work(agent)
	}
	if len(told) != 3 || !strings.Contains(told[0], "- shared.txt") || !strings.Contains(told[0], "git merge main") || !strings.Contains(told[1], "! grep -q broken shared.txt") {
		t.Errorf("%q", told)
	}
	if got := f.git(f.dir, "show", "main:shared.txt"); got != "one\na\nthree\nb\nc" {
		t.Error(got)
	}
}

func TestAnAgentThatDoesNotResolveAConflictIsAskedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, task("a"))
	agent := func(_, dir string, messages []fleet.Message) {
		if len(messages) == 0 {
			f.write(dir, "shared.txt", "theirs\n")
		}
	}
	f.work(agent)
	f.write(f.dir, "shared.txt", "mine\n")
	f.commit(f.dir, "mine")
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

func TestTheOverviewCountsWhatIsNext(t *testing.T) {
	t.Parallel()
	f := newFixture(t, task("ready"), task("commented"), task("clash"), task("merged"), task("discarded"), task("unchanged"), task("approved"))
	f.work(func(task, dir string, _ []fleet.Message) {
		switch task {
		case "unchanged":
			return
		case "clash":
			f.write(dir, "shared.txt", "theirs\n")
		default:
			f.write(dir, task+".txt", "x\n")
		}
		f.commit(dir, "work of "+task)
	})
	f.merge(fleet.MergeRequest{Task: "merged"})
	if _, err := f.lander().Discard(t.Context(), run, "discarded"); err != nil {
		t.Fatal(err)
	}
	f.must(f.engine.ChangeReview(t.Context(), store.TaskKey{Run: run, Task: "commented"}, "user", func(r *fleet.Review) error {
		_, err := review.AddComment(r, fleet.Comment{Text: "why?"}, "user", time.Now())
		return err
	}))
	f.approve("approved")
	f.write(f.dir, "shared.txt", "mine\n")
	f.commit(f.dir, "mine")
	objects := f.git(f.dir, "count-objects")
	got, err := f.lander().Overview(t.Context(), run)
	want := fleet.Changes{Run: run, Into: "main", Total: 6, Ready: 2, Approved: 1, Commented: 1, Conflicts: 1, Merged: 1, Discarded: 1, First: "ready"}
	if err != nil || got != want || f.git(f.dir, "count-objects") != objects {
		t.Errorf("%+v, %v", got, err)
	}
}
