package engine_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/sqlite"
	"gaffer/internal/plan"
)

// issue returns the task of an item, such as gh-1 for the item 1.
func issue(id string, take plan.ItemTake, after ...string) plan.Task {
	return plan.Task{ID: "gh-" + id, Prompt: "x", After: after, Item: plan.SourceItem{Source: "gh:ada/shop", ID: id, Take: take}}
}

// take submits a plan and returns the ids of the tasks that it got.
func (f *fixture) take(tasks ...plan.Task) (run string, got []string, err error) {
	f.t.Helper()
	run, err = f.Submit(context.Background(), engine.Submission{Plan: plan.Plan{Tasks: tasks}})
	if err != nil {
		return "", nil, err
	}
	f.must(f.store.Read(context.Background(), func(r store.Reader) error {
		list, err := r.Tasks(run)
		for _, t := range list {
			got = append(got, t.Task)
		}
		return err
	}))
	return run, got, nil
}

func (f *fixture) heldItems(err error, want ...string) {
	f.t.Helper()
	held := (*engine.ItemsHeldError)(nil)
	if !errors.As(err, &held) {
		f.t.Fatalf("%v, want items that are held", err)
	}
	var got []string
	for _, i := range held.Items {
		got = append(got, i.Item.ID)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Errorf("held items (-want +got)\n%s", diff)
	}
}

func TestAnItemWithAnUnfinishedOrCompleteTaskIsLeftOut(t *testing.T) {
	f := newFixture(t)
	first, _, err := f.take(issue("1", ""))
	f.must(err)
	_, _, err = f.take(issue("1", ""))
	f.heldItems(err, "1")
	_, _, err = f.take(issue("1", plan.TakeAgain))
	f.heldItems(err, "1") // an item never has two unfinished tasks
	_, got, err := f.take(issue("1", ""), issue("2", ""), issue("3", ""))
	f.must(err)
	if diff := cmp.Diff([]string{"gh-2", "gh-3"}, got); diff != "" {
		t.Error(diff)
	}
	f.finish(f.claim(), failure.None)
	if f.status(first, "gh-1") != store.Complete {
		t.Fatal("gh-1 is not complete")
	}
	_, _, err = f.take(issue("1", ""))
	f.heldItems(err, "1")
	_, got, err = f.take(issue("1", plan.TakeAgain))
	f.must(err)
	if len(got) != 1 {
		t.Errorf("with again: %v", got)
	}
}

func TestAnItemWhoseTaskHasFailedIsTakenAgainUnlessOnlyNewOnesAreWanted(t *testing.T) {
	f := newFixture(t)
	old, _, err := f.take(issue("1", ""))
	f.must(err)
	f.finish(f.claim(), failure.Denied)
	_, _, err = f.take(issue("1", plan.TakeNew))
	f.heldItems(err, "1")
	_, _, err = f.take(issue("1", ""))
	f.must(err)

	// The old task cannot be retried while the new one is not finished.
	key := store.TaskKey{Run: old, Task: "gh-1"}
	f.heldItems(f.Retry(context.Background(), key, "", ""), "1")
	f.finish(f.claim(), failure.Denied)
	f.must(f.Retry(context.Background(), key, "", ""))
	_, _, err = f.take(issue("1", ""))
	f.heldItems(err, "1")
}

func TestTasksThatWaitForAnItemInAnotherRunAreLeftOut(t *testing.T) {
	f := newFixture(t)
	_, _, err := f.take(issue("1", ""))
	f.must(err)
	chain := []plan.Task{issue("1", ""), issue("2", "", "gh-1"), issue("3", "", "gh-2"), issue("4", "")}
	_, got, err := f.take(chain...)
	f.must(err)
	if diff := cmp.Diff([]string{"gh-4"}, got); diff != "" {
		t.Errorf("while it runs: %s", diff)
	}
	f.finish(f.claim(), failure.None)
	run, got, err := f.take(chain[:3]...)
	f.must(err)
	if diff := cmp.Diff([]string{"gh-2", "gh-3"}, got); diff != "" {
		t.Errorf("when it is complete: %s", diff)
	}
	if needs := f.task(run, "gh-2").Needs; len(needs) != 0 {
		t.Errorf("gh-2 waits for %v", needs)
	}
}

func TestABeadThatWasDispatchedIsNotTakenAsAnItem(t *testing.T) {
	f := newFixture(t)
	_, err := f.dispatch(bead("bd-1", "/s"))
	f.must(err)
	item := bead("bd-1", "/s")
	item.Item = plan.SourceItem{Source: "beads:/p/beads.jsonl", ID: "bd-1"}
	_, _, err = f.take(item)
	f.heldItems(err, "bd-1")
	f.finish(f.claim(), failure.None)
	_, _, err = f.take(item)
	f.heldItems(err, "bd-1")
	item.Item.Take = plan.TakeAgain
	_, _, err = f.take(item)
	f.must(err)
}

func TestTheCandidatesOfAnItemAreOneTask(t *testing.T) {
	f := newFixture(t)
	one := issue("1", "")
	one.Candidates = []string{"fake", "fake"}
	p := plan.Plan{Tasks: []plan.Task{one}}.ExpandCandidates()
	_, got, err := f.take(p.Tasks...)
	f.must(err)
	if len(got) != 3 {
		t.Errorf("%v", got)
	}
	_, _, err = f.take(p.Tasks...)
	f.heldItems(err, "1")
}

func TestOfManyConcurrentSubmissionsOneTakesEachItem(t *testing.T) {
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			e := engine.New(s, engine.Options{Now: time.Now, NewID: rand.Text, Rand: func() float64 { return 0 }})
			_, err := e.Submit(t.Context(), engine.Submission{Plan: plan.Plan{Tasks: []plan.Task{issue("1", ""), issue("2", ""), issue("3", "")}}})
			if held := (*engine.ItemsHeldError)(nil); err != nil && !errors.As(err, &held) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var got []string
	err = s.Read(t.Context(), func(r store.Reader) error {
		runs, err := r.Runs()
		for _, run := range runs {
			tasks, _ := r.Tasks(run.ID)
			for _, t := range tasks {
				got = append(got, t.Task)
			}
		}
		return err
	})
	if err != nil || len(got) != 3 {
		t.Errorf("%v: %v", err, got)
	}
}

func reported(id string) plan.Task {
	t := issue(id, "")
	t.Item.Report = plan.ItemReport{Comment: true}
	return t
}

// reports returns the reports that are not sent yet, each as TASK NUMBER STATUS.
func (f *fixture) reports() (list []string) {
	f.t.Helper()
	all, err := f.ItemReports(context.Background(), "")
	f.must(err)
	for _, r := range all {
		list = append(list, strings.TrimSpace(strings.Join([]string{r.Task, string(rune('0' + r.Number)), string(r.Status), r.Outcome}, " ")))
	}
	return list
}

func (f *fixture) wantReports(want ...string) {
	f.t.Helper()
	if diff := cmp.Diff(want, f.reports()); diff != "" {
		f.t.Errorf("reports (-want +got)\n%s", diff)
	}
}

func always(json.RawMessage, time.Time) bool { return true }
func never(json.RawMessage, time.Time) bool  { return false }

func TestTheEndOfATaskIsReportedOnce(t *testing.T) {
	f := newFixture(t)
	ctx := context.Background()
	run, _, err := f.take(reported("1"), issue("2", ""))
	f.must(err)
	key := store.TaskKey{Run: run, Task: "gh-1"}
	f.wantReports()
	f.finish(f.claim(), failure.Denied)
	f.wantReports("gh-1 1 failed denied")

	first, ok, err := f.ClaimItemReport(ctx, key, json.RawMessage(`"a"`), false, never)
	if f.must(err); !ok || first.Tries != 1 {
		t.Fatalf("claim: %v %+v", ok, first)
	}
	if _, ok, err := f.ClaimItemReport(ctx, key, json.RawMessage(`"b"`), false, never); ok || err != nil {
		t.Errorf("two processes send it: %v", err)
	}
	// The first process dies. The next one knows that the report may have been sent.
	second, ok, err := f.ClaimItemReport(ctx, key, json.RawMessage(`"b"`), false, always)
	if f.must(err); !ok || second.Tries != 2 || second.Number != 1 {
		t.Fatalf("claim: %v %+v", ok, second)
	}
	f.must(f.FinishItemReport(ctx, first, "late"))
	f.must(f.FinishItemReport(ctx, second, ""))
	f.wantReports()
	if _, ok, err := f.ClaimItemReport(ctx, key, nil, false, always); ok || err != nil {
		t.Errorf("a sent report is sent again: %v", err)
	}

	// A retry has an end of its own.
	f.must(f.Retry(ctx, key, "", ""))
	f.finish(f.claim(), failure.None) // gh-2 was queued first
	f.finish(f.claim(), failure.None)
	f.wantReports("gh-1 2 complete")
}

func TestAReportThatFailedIsTriedAgainAfterAPause(t *testing.T) {
	f := newFixture(t)
	ctx := context.Background()
	run, _, err := f.take(reported("1"))
	f.must(err)
	key := store.TaskKey{Run: run, Task: "gh-1"}
	f.finish(f.claim(), failure.None)
	r, _, err := f.ClaimItemReport(ctx, key, json.RawMessage(`"a"`), false, never)
	f.must(err)
	f.must(f.FinishItemReport(ctx, r, "gh issue: not logged in"))
	if _, ok, _ := f.ClaimItemReport(ctx, key, json.RawMessage(`"a"`), false, never); ok {
		t.Error("there is no pause")
	}
	f.now = f.now.Add(time.Minute)
	r, ok, err := f.ClaimItemReport(ctx, key, json.RawMessage(`"a"`), false, never)
	if err != nil || !ok || r.Tries != 2 || r.Error != "gh issue: not logged in" {
		t.Errorf("%v %v %+v", err, ok, r)
	}
}

func TestATaskThatContinuesIsNotReported(t *testing.T) {
	f := newFixture(t)
	ctx := context.Background()
	run, _, err := f.take(reported("1"))
	f.must(err)
	key := store.TaskKey{Run: run, Task: "gh-1"}
	f.finish(f.claim(), failure.Denied)
	f.must(f.Retry(ctx, key, "", ""))
	if _, ok, err := f.ClaimItemReport(ctx, key, nil, false, always); ok || err != nil {
		t.Errorf("it is reported while it is retried: %v", err)
	}
	f.finish(f.claim(), failure.None)
	f.wantReports("gh-1 1 complete")
}
