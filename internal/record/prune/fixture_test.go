package prune_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gaffer/fleet"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
	"gaffer/internal/api/protocol"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memory"
	"gaffer/internal/engine/store/sqlite"
	"gaffer/internal/plan"
	"gaffer/internal/record/prune"
)

const day = 24 * time.Hour

var (
	admin = credential.Identity{ID: "t", Name: "ada", Role: credential.Admin}
	start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

// fixture is a store with old rows.
type fixture struct {
	t       *testing.T
	ctx     context.Context
	store   store.Store
	engine  *engine.Engine
	service *protocol.Service
	now     time.Time
	ids     int
	// reviewed has the ids of all runs that have, or had, reviews.
	reviewed []string
}

func newFixture(t *testing.T, s store.Store) *fixture {
	f := &fixture{t: t, ctx: t.Context(), store: s, now: start}
	clock := func() time.Time { return f.now }
	f.engine = engine.New(s, engine.Options{
		Now: clock, NewID: func() string { f.ids++; return fmt.Sprint("id", f.ids) }, Rand: func() float64 { return 0.5 }, Who: "test",
	})
	f.service = protocol.New(s, f.engine, clock)
	return f
}

// onEach runs a test on each store that one process can use. The stores' contract tests cover the
// differences between stores.
func onEach(t *testing.T, test func(f *fixture)) {
	t.Run("memory", func(t *testing.T) { test(newFixture(t, memory.New())) })
	t.Run("sqlite", func(t *testing.T) {
		s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "gaffer.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		test(newFixture(t, s))
	})
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) pass(d time.Duration) { f.now = f.now.Add(d) }

// run submits a run whose tasks each ask a question, and ends all of them with the class.
func (f *fixture) run(id string, class failure.Class, tasks ...plan.Task) {
	f.t.Helper()
	_, err := f.engine.Submit(f.ctx, engine.Submission{ID: id, Key: "submit-" + id, Project: "p", Plan: plan.Plan{Name: id, Tasks: tasks}})
	f.must(err)
	f.reviewed = append(f.reviewed, id)
	for range tasks {
		a, err := f.engine.Claim(f.ctx, engine.Claim{Worker: "w-" + id, Key: fmt.Sprint("k", f.ids)})
		f.must(err)
		_, err = f.engine.Ask(f.ctx, engine.Ask{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Ref: "q", Text: "really?"})
		f.must(err)
		f.must(f.store.Write(f.ctx, func(tx *store.Tx) error {
			tx.PutItem(store.Item{ItemKey: store.ItemKey{Kind: "log-head", ID: a.Attempt.ID}})
			tx.PutItem(store.Item{ItemKey: store.ItemKey{Kind: engine.GrantKind, ID: "grant-" + a.Attempt.ID}, Parent: engine.GrantParent(id), Data: json.RawMessage("{}")})
			for i := range 3 {
				tx.PutItem(store.Item{ItemKey: store.ItemKey{Kind: "log", ID: fmt.Sprint(a.Attempt.ID, "@", i)}, Parent: a.Attempt.ID, Seq: int64(i)})
			}
			tx.PutCursor(store.Cursor{Name: "recorder " + id, Seq: 1})
			return nil
		}))
		m, err := f.engine.Send(f.ctx, fleet.Message{Run: id, Task: a.Task.Task, Text: "hello"})
		f.must(err)
		_, err = f.engine.ActOnReview(f.ctx, a.Attempt.Key(), "sam", fleet.ReviewAction{Action: fleet.ActComment, Comment: fleet.Comment{Text: "why?"}})
		f.must(err)
		f.pass(time.Minute)
		_, err = f.engine.Finish(f.ctx, engine.Finish{Delivered: []string{m.ID}, Attempt: a.Attempt.ID, Token: a.Attempt.Token, Key: a.Attempt.ID, Ending: fleet.Ending{Class: class}})
		f.must(err)
	}
}

func tasks(ids ...string) (list []plan.Task) {
	for _, id := range ids {
		list = append(list, plan.Task{ID: id, Agent: "fake", Prompt: id})
	}
	return list
}

// serve creates a channel with an ended and a waiting task, inputs, and a note. It returns the ids
// of the tasks.
func (f *fixture) serve(channel, agent string) (done, waits string) {
	f.t.Helper()
	_, err := f.service.Heartbeat(f.ctx, admin, coordinator.Heartbeat{AgentID: agent, Name: agent, ClaudeStatus: "idle"})
	f.must(err)
	c, err := f.service.AddChannel(f.ctx, admin, coordinator.Channel{Name: channel})
	f.must(err)
	for _, to := range []*string{&done, &waits} {
		task, err := f.service.AddTask(f.ctx, admin, coordinator.NewTask{ChannelID: c.ID, Title: "x"})
		f.must(err)
		*to = task.ID
	}
	_, err = f.service.Claim(f.ctx, admin, coordinator.Claim{AgentID: agent, Channel: channel, IdempotencyKey: fmt.Sprint("c", f.ids)})
	f.must(err)
	for range 2 { // two inputs, one of which is claimed
		_, err = f.service.AddInput(f.ctx, admin, coordinator.NewInput{TaskID: done, Text: "yes"})
		f.must(err)
	}
	_, err = f.service.ClaimInput(f.ctx, admin, done, agent)
	f.must(err)
	_, _, err = f.service.AddEvent(f.ctx, admin, coordinator.NewEvent{Type: "said", AgentID: agent, TaskID: done})
	f.must(err)
	_, err = f.service.Fail(f.ctx, admin, coordinator.Report{TaskID: done, AgentID: agent})
	f.must(err)
	return done, waits
}

// look finds the rows that ended longer ago than older.
func (f *fixture) look(older time.Duration, also ...func(*prune.Retention)) prune.Found {
	f.t.Helper()
	r := prune.Retention{Before: f.now.Add(-older), Now: f.now, Protocol: protocol.Rows{}}
	for _, change := range also {
		change(&r)
	}
	found, err := prune.Find(f.ctx, f.store, r)
	f.must(err)
	return found
}

func (f *fixture) taking() prune.DeleteOptions {
	return prune.DeleteOptions{
		Now: func() time.Time { return f.now }, Author: "test", LockRun: func(string) (func(), error) { return func() {}, nil },
		OnDeleted: func(string) {}, Notice: func(string) {},
	}
}

func (f *fixture) take(found prune.Found) prune.Counts {
	f.t.Helper()
	done, err := prune.Delete(f.ctx, f.store, found, f.taking())
	f.must(err)
	return done
}

// dump returns all rows of the store as text, except those that a prune itself writes.
func (f *fixture) dump() (lines []string) {
	f.t.Helper()
	add := func(kind string, row any) {
		text, err := json.Marshal(row)
		f.must(err)
		lines = append(lines, kind+" "+string(text))
	}
	f.must(f.store.Read(f.ctx, func(r store.Reader) error {
		lines = nil
		runs, err := r.Runs()
		for _, run := range runs {
			add("run", run)
			tasks, err2 := r.Tasks(run.ID)
			attempts, err3 := r.AttemptsOf(run.ID)
			for _, t := range tasks {
				add("task", t)
				inputs, _ := r.Items("input", run.ID+"."+t.Task, 0, 99)
				for _, i := range inputs {
					add("item", i)
				}
			}
			for _, a := range attempts {
				add("attempt", a)
			}
			if c, err := r.Cursor("recorder " + run.ID); err == nil {
				add("cursor", c)
			}
			err = errors.Join(err, err2, err3)
		}
		questions, err2 := r.Questions(false)
		for _, q := range questions {
			add("question", q)
		}
		workers, err3 := r.Workers()
		for _, w := range workers {
			add("worker", w)
		}
		promises, err4 := r.IdempotencyRecords(f.now.Add(day), "", math.MaxInt32)
		for _, p := range promises {
			add("promise", p)
		}
		for n := range f.ids + 1 { // also read the logs of deleted attempts and the messages of deleted tasks, which must be gone
			logs, _ := r.Items("log", fmt.Sprint("id", n), -1, 99)
			for _, i := range logs {
				add("item", i)
			}
			if m, err := r.Item(store.ItemKey{Kind: engine.MessageKind, ID: fmt.Sprint("id", n)}); err == nil {
				add("item", m)
			}
		}
		for _, run := range f.reviewed {
			reviews, _ := r.Items(engine.ReviewKind, run, math.MinInt64, 99)
			grants, _ := r.Items(engine.GrantKind, engine.GrantParent(run), math.MinInt64, 99)
			for _, i := range append(reviews, grants...) {
				add("item", i)
			}
		}
		for _, kind := range []string{"input", "note", "channel", "count", "pruning", "log-head"} {
			items, _ := r.Items(kind, "", math.MinInt64, 999)
			for _, i := range items {
				add("item", i)
			}
		}
		events, err5 := r.Events(0, math.MaxInt32)
		for _, e := range events {
			if e.Kind != "store.pruned" {
				add("event", e)
			}
		}
		return errors.Join(err, err2, err3, err4, err5)
	}))
	slices.Sort(lines)
	return lines
}

// updates reads all updates from the first on, as a stream client does that was disconnected for a
// long time.
func (f *fixture) updates() error {
	_, _, err := f.service.Updates(f.ctx, 0, math.MaxInt32)
	return err
}

// askStandalone asks a question that belongs to no task.
func (f *fixture) askStandalone() {
	f.t.Helper()
	_, err := f.engine.AskStandalone(f.t.Context(), engine.StandaloneQuestion{From: "by hand", Text: "may I?", Within: time.Minute})
	if err != nil {
		f.t.Fatal(err)
	}
}
