package prune_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memory"
	"gaffer/internal/plan"
	"gaffer/internal/record/prune"
)

func TestOnlyRowsThatEndedLongAgoAreDeleted(t *testing.T) {
	onEach(t, func(f *fixture) {
		f.run("before", failure.None, tasks("a", "b")...)
		f.serve("old", "silent")
		f.askStandalone()
		f.pass(40 * day)
		old := f.dump()
		f.run("after", failure.None, tasks("a", "b")...)
		f.serve("new", "alive")
		f.askStandalone()
		young := slices.DeleteFunc(f.dump(), func(line string) bool { return slices.Contains(old, line) })

		found := f.look(30 * day)
		want := prune.Counts{Runs: 1, Tasks: 3, Attempts: 3, Questions: 3, Inputs: 1, Notes: 1, Promises: 6, Workers: 1, Events: found.Events}
		if found.Counts != want {
			t.Errorf("found %+v, want %+v", found.Counts, want)
		}
		if done := f.take(found); done != found.Counts {
			t.Errorf("took %+v, found %+v", done, found.Counts)
		}
		left := f.dump()
		for _, line := range young {
			if !slices.Contains(left, line) {
				t.Errorf("is gone: %s", line)
			}
		}
		for _, line := range left {
			if !slices.Contains(young, line) && !stays(line) {
				t.Errorf("is left: %s", line)
			}
		}
		if again := f.look(30 * day); !again.None() {
			t.Errorf("found again: %+v", again.Counts)
		}
		if err := f.updates(); err != nil {
			t.Error(err)
		}
	})
}

// stays reports whether an old row must not be deleted, because it belongs to a channel that still
// exists.
func stays(line string) bool {
	return strings.Contains(line, `"run":"ch-`) || strings.HasPrefix(line, `run {"id":"ch-`) || strings.HasPrefix(line, `item {"kind":"channel"`)
}

func TestARunThatHasNotEndedStays(t *testing.T) {
	onEach(t, func(f *fixture) {
		f.run("failed", failure.Denied, tasks("a")...)
		_, err := f.engine.Submit(f.ctx, engine.Submission{ID: "open", Plan: plan.Plan{Tasks: tasks("a")}})
		f.must(err)
		f.pass(99 * day)
		found := f.look(day)
		if len(found.Ended) != 1 || found.Ended[0].ID != "failed" {
			t.Fatalf("found %v", found.Ended)
		}
		// A user retries a task of the run after Find and before Delete.
		f.must(f.engine.Retry(f.ctx, store.TaskKey{Run: "failed", Task: "a"}, "", ""))
		f.take(found)
		f.must(f.store.Read(f.ctx, func(r store.Reader) error {
			runs, err := r.Runs()
			if len(runs) != 2 {
				t.Errorf("%d runs are left", len(runs))
			}
			events, err2 := r.Events(0, 999)
			if len(events) == 0 || events[0].Seq != 1 {
				t.Errorf("events of a run that is there are gone")
			}
			return errors.Join(err, err2)
		}))
	})
}

func TestSoManyOfEachProjectStay(t *testing.T) {
	f := newFixture(t, memory.New())
	for i := range 5 {
		f.run(fmt.Sprint("r", i), failure.None, tasks("a")...)
		f.pass(day)
	}
	f.pass(99 * day)
	found := f.look(day, func(r *prune.Retention) { r.KeepLatest = 2 })
	var ids []string
	for _, run := range found.Ended {
		ids = append(ids, run.ID)
	}
	if fmt.Sprint(ids) != "[r0 r1 r2]" || found.Kept != 2 {
		t.Errorf("found %v, kept %d", ids, found.Kept)
	}
}

func TestARunThatIsSparedOrWorkedOnStays(t *testing.T) {
	f := newFixture(t, memory.New())
	for _, id := range []string{"a", "b", "c"} {
		f.run(id, failure.None, tasks("x")...)
	}
	f.pass(99 * day)
	found := f.look(day, func(r *prune.Retention) {
		r.ReasonToKeep = func(_ store.Reader, run store.Run) (string, error) {
			if run.Plan == nil {
				t.Error("a run without its plan")
			}
			return map[string]string{"a": "it can go on"}[run.ID], nil
		}
	})
	if len(found.Spared) != 1 || found.Spared[0] != (prune.Spared{Run: "a", Why: "it can go on"}) {
		t.Errorf("spared %v", found.Spared)
	}
	how := f.taking()
	var told, gone []string
	how.LockRun = func(run string) (func(), error) {
		if run == "b" {
			return nil, errors.New("somebody works on it")
		}
		return func() {}, nil
	}
	how.Notice = func(text string) { told = append(told, text) }
	how.OnDeleted = func(run string) { gone = append(gone, run) }
	done, err := prune.Delete(f.ctx, f.store, found, how)
	if err != nil || done.Runs != 1 || fmt.Sprint(gone) != "[c]" || len(told) != 1 || !strings.Contains(told[0], "run b stays") {
		t.Errorf("%+v, %v, gone %v, told %v", done, err, gone, told)
	}
}

// Interrupt a prune at each of its commits in turn, before or after the commit is stored. The next
// prune must reach the same result. In between, no reader may see half a run, and the stream must
// not fail.
func TestAPruneThatIsInterruptedIsFinishedByTheNext(t *testing.T) {
	for name, atOnce := range map[string]int{"small runs": 0, "big runs": 1} {
		t.Run(name, func(t *testing.T) { interrupted(t, atOnce) })
	}
}

func interrupted(t *testing.T, atOnce int) {
	past := func() (*fixture, *memory.Store) {
		s := memory.New()
		f := newFixture(t, s)
		f.run("one", failure.None, tasks("a", "b", "c")...)
		f.run("two", failure.Denied, tasks("a")...)
		f.serve("old", "silent")
		f.pass(40 * day)
		f.run("new", failure.None, tasks("a")...)
		return f, s
	}
	f, s := past()
	commits := 0
	s.FailCommit = func() (bool, error) { commits++; return false, nil }
	gone := map[string]bool{}
	take := func(f *fixture) error {
		how := f.taking()
		how.BatchSize = atOnce
		how.OnDeleted = func(run string) { gone[run] = true }
		_, err := prune.Delete(f.ctx, f.store, f.look(30*day), how)
		return err
	}
	f.must(take(f))
	want := f.dump()
	if commits < 6+7*atOnce {
		t.Fatalf("only %d commits", commits)
	}
	for at := range commits {
		for _, lost := range []bool{true, false} {
			f, s := past()
			n := 0
			clear(gone)
			broken := errors.New("the database is gone")
			s.FailCommit = func() (bool, error) {
				if n++; n == at+1 {
					return lost, broken
				}
				return false, nil
			}
			if err := take(f); !errors.Is(err, broken) {
				t.Fatalf("commit %d: %v", at, err)
			}
			if err := f.updates(); err != nil {
				t.Errorf("commit %d, lost %v: the stream: %v", at, lost, err)
			}
			if err := whole(f); err != nil {
				t.Errorf("commit %d, lost %v: %v", at, lost, err)
			}
			f.must(take(f))
			if !gone["one"] || !gone["two"] || gone["new"] {
				t.Errorf("commit %d, lost %v: on this machine only %v went", at, lost, gone)
			}
			if got := f.dump(); !slices.Equal(got, want) {
				t.Errorf("commit %d, lost %v:\n%s\nwant\n%s", at, lost, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
}

// whole returns an error unless each existing run has all of its tasks and events.
func whole(f *fixture) error {
	return f.store.Read(f.ctx, func(r store.Reader) error {
		for id, n := range map[string]int{"one": 3, "two": 1, "new": 1} {
			if _, err := r.Run(id); err != nil {
				continue
			}
			tasks, err := r.Tasks(id)
			if err != nil || len(tasks) != n {
				return fmt.Errorf("run %s has %d tasks, %w", id, len(tasks), err)
			}
			events, err := r.Events(0, 9999)
			events = slices.DeleteFunc(events, func(e store.Event) bool { return e.Run != id })
			if err != nil || len(events) == 0 || events[0].From != "" {
				return fmt.Errorf("run %s has lost its first event, %w", id, err)
			}
		}
		return nil
	})
}

func TestABeadIsKnownForAsLongAsItsRunIs(t *testing.T) {
	onEach(t, func(f *fixture) {
		bead := func(id string) []plan.Task {
			return []plan.Task{{ID: "x", Agent: "fake", Prompt: "x", Dispatch: &plan.Dispatch{Bead: id, Ledger: "/l"}}}
		}
		f.run("kept", failure.None, bead("b1")...)
		f.run("gone", failure.None, bead("b2")...)
		f.pass(40 * day)
		_, err := f.engine.Submit(f.ctx, engine.Submission{ID: "again", Plan: plan.Plan{Tasks: bead("b3")}})
		f.must(err)
		spare := func(r *prune.Retention) {
			r.ReasonToKeep = func(_ store.Reader, run store.Run) (string, error) {
				return map[string]string{"kept": "because"}[run.ID], nil
			}
		}
		found := f.look(30*day, spare)
		// A bead is dispatched again after Find has found its earlier run and before Delete.
		_, err = f.engine.Submit(f.ctx, engine.Submission{ID: "late", Plan: plan.Plan{Tasks: bead("b2")}})
		f.must(err)
		f.take(found)
		f.must(f.store.Read(f.ctx, func(r store.Reader) error {
			for bead, run := range map[string]string{"b1": "kept", "b2": "late", "b3": "again"} {
				p, err := r.IdempotencyRecord("bead " + bead + " /l")
				if err != nil || !strings.Contains(string(p.Answer), run) {
					t.Errorf("bead %s: %s, %v", bead, p.Answer, err)
				}
			}
			return nil
		}))
		held := (*engine.BeadHeldError)(nil)
		_, err = f.engine.Submit(f.ctx, engine.Submission{ID: "twice", Plan: plan.Plan{Tasks: bead("b2")}})
		if !errors.As(err, &held) {
			t.Errorf("a bead that runs was given away: %v", err)
		}
	})
}

func TestAWorkerWithHeartbeatsOrAttemptsIsNotDeleted(t *testing.T) {
	f := newFixture(t, memory.New())
	beat := func(agent string) {
		_, err := f.service.Heartbeat(f.ctx, admin, coordinator.Heartbeat{AgentID: agent, ClaudeStatus: "idle"})
		f.must(err)
	}
	for _, agent := range []string{"silent", "holds", "back", "alive"} {
		beat(agent)
	}
	c, err := f.service.AddChannel(f.ctx, admin, coordinator.Channel{Name: "dev"})
	f.must(err)
	_, err = f.service.AddTask(f.ctx, admin, coordinator.NewTask{ChannelID: c.ID, Title: "x"})
	f.must(err)
	_, err = f.service.Claim(f.ctx, admin, coordinator.Claim{AgentID: "holds", Channel: "dev"})
	f.must(err)
	f.pass(40 * day)
	beat("alive")
	found := f.look(30 * day)
	beat("back")
	f.take(found)
	agents, err := f.service.Agents(f.ctx)
	f.must(err)
	var ids []string
	for _, a := range agents {
		ids = append(ids, a.ID)
	}
	if fmt.Sprint(ids) != "[alive back holds]" {
		t.Errorf("left are %v", ids)
	}
}

// An agent's last task may be deleted before the agent sends its next heartbeat.
func TestAnAgentWhoseTaskWasPrunedCanClaimAgain(t *testing.T) {
	onEach(t, func(f *fixture) {
		done, waits := f.serve("dev", "a1")
		f.pass(time.Hour)
		_, err := f.service.Subscribe(f.ctx, admin, "a1", []string{"dev"})
		f.must(err)
		f.take(f.look(time.Minute))
		if _, err := f.service.Task(f.ctx, done); err == nil {
			t.Error("the task is still there")
		}
		_, err = f.service.CurrentTask(f.ctx, "a1")
		if err == nil || !strings.Contains(err.Error(), "has no task") {
			t.Errorf("its task is %v", err)
		}
		_, err = f.service.Heartbeat(f.ctx, admin, coordinator.Heartbeat{AgentID: "a1", ClaudeStatus: "idle"})
		f.must(err)
		task, err := f.service.Claim(f.ctx, admin, coordinator.Claim{AgentID: "a1", Channel: "dev"})
		if err != nil || task.ID != waits {
			t.Errorf("claimed %v, %v", task, err)
		}
		f.must(f.store.Read(f.ctx, func(r store.Reader) error {
			runs, err := r.RunningRuns()
			if err != nil || len(runs) != 1 || runs[0].Failed != 0 {
				t.Errorf("the channel counts %+v, %v", runs, err)
			}
			return err
		}))
	})
}

func TestATaskThatIsUsedAgainMeanwhileIsNotDeleted(t *testing.T) {
	for name, use := range map[string]func(*store.Task){
		"it is queued again":         func(t *store.Task) { t.Status = store.Queued },
		"it has ended a second time": func(t *store.Task) { t.LastAttempt = "another" },
	} {
		onEach(t, func(f *fixture) {
			done, _ := f.serve("dev", "a1")
			f.pass(time.Hour)
			found := f.look(time.Minute)
			run, id, _ := strings.Cut(done, ".")
			key := store.TaskKey{Run: run, Task: id}
			f.must(f.store.Write(f.ctx, func(tx *store.Tx) error {
				task, err := tx.Task(key)
				use(&task)
				tx.PutTask(task)
				return err
			}))
			f.take(found)
			f.must(f.store.Read(f.ctx, func(r store.Reader) error {
				if _, err := r.Task(key); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				return nil
			}))
		})
	}
}

func TestAPruneIsAnEventAndAdvancesDeletedUpTo(t *testing.T) {
	f := newFixture(t, memory.New())
	f.run("r", failure.None, tasks("a")...)
	f.pass(40 * day)
	f.take(f.look(30 * day))
	var first int64
	f.must(f.store.Read(f.ctx, func(r store.Reader) (err error) {
		events, err := r.Events(0, 99)
		f.must(err)
		last := events[len(events)-1]
		if last.Kind != "store.pruned" || last.Who != "test" || !strings.HasPrefix(last.Why, "1 run, 1 task, 1 attempt, 1 question") {
			t.Errorf("the last event is %+v", last)
		}
		if first, err = prune.DeletedUpTo(r); first == 0 || first >= events[0].Seq {
			t.Errorf("the floor is %d, and the first event that is left %d", first, events[0].Seq)
		}
		return err
	}))
	f.run("r2", failure.None, tasks("a")...)
	f.pass(40 * day)
	f.take(f.look(30 * day))
	f.must(f.store.Read(f.ctx, func(r store.Reader) error {
		second, err := prune.DeletedUpTo(r)
		if second <= first {
			t.Errorf("the floor was %d and is %d", first, second)
		}
		return err
	}))
}

// Several coordinators may prune the same database at the same time.
func TestTwoConcurrentPrunesDeleteTheSameRows(t *testing.T) {
	onEach(t, func(f *fixture) {
		for i := range 5 {
			f.run(fmt.Sprint("r", i), failure.Denied, tasks("a", "b", "c")...)
		}
		f.serve("old", "silent")
		f.pass(40 * day)
		f.run("new", failure.None, tasks("a")...)
		found := f.look(30 * day)
		how := f.taking()
		how.BatchSize = 1
		errs := make(chan error)
		for range 2 {
			go func() {
				_, err := prune.Delete(f.ctx, f.store, found, how)
				errs <- err
			}()
		}
		f.must(errors.Join(<-errs, <-errs))
		if again := f.look(30 * day); !again.None() {
			t.Errorf("left is %+v", again.Counts)
		}
		f.must(whole(f))
		f.must(f.store.Read(f.ctx, func(r store.Reader) error {
			runs, err := r.Runs()
			for _, run := range runs {
				if run.Failed != 0 {
					t.Errorf("run %s counts %d failed tasks", run.ID, run.Failed)
				}
			}
			return err
		}))
	})
}
