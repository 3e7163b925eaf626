package runs_test

import (
	"context"
	"slices"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/api/runs"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
)

func TestAChangeIsReviewedAndItsAgentIsTalkedToOverHTTP(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		run := f.submit(shop()).ID
		act := func(a fleet.ReviewAction) (fleet.Review, error) { return f.Reviews.Change(f.ctx, run, "api", a) }
		a := f.claim()
		m := must2(f.Reviews.Send(f.ctx, fleet.Message{Run: run, Task: "api", Text: "in English"}))(f)
		if m.ID == "" || m.By != "the operator" || !m.Waiting() {
			t.Errorf("sent is %+v", m)
		}
		again := must2(f.Reviews.Send(f.ctx, fleet.Message{ID: m.ID, Run: run, Task: "api", Text: "in English"}))(f)
		if again.ID != m.ID || len(must2(f.Reviews.Messages(f.ctx, run, "api"))(f)) != 1 {
			t.Errorf("the same message is sent as %+v", again)
		}
		_, err := f.Reviews.Send(f.ctx, fleet.Message{Run: run, Task: "api", Text: " "})
		f.refused("an empty message", err, 400, "no text")
		f.finish(a, engine.Finish{Delivered: []string{m.ID}})
		f.refused("after it was delivered", f.Reviews.Withdraw(f.ctx, run, "api", m.ID), 409, "delivered")
		f.refused("of another task", f.Reviews.Withdraw(f.ctx, run, "docs", m.ID), 404, "not found")
		f.refused("a task that has ended", f.Reviews.Interrupt(f.ctx, run, "api"), 409, "is complete")

		if v := must2(f.Reviews.Review(f.ctx, run, "api"))(f); v.State != fleet.ReviewOpen || v.Task != "api" {
			t.Errorf("at first: %+v", v)
		}
		v := must2(act(fleet.ReviewAction{Action: "comment", Comment: fleet.Comment{Path: "a.go", First: 2, Lines: "x", Text: "why?"}}))(f)
		if v.State != fleet.ReviewCommented || len(v.Comments) != 1 || v.Comments[0].By != "the operator" {
			t.Errorf("with a comment: %+v", v)
		}
		keyed := fleet.ReviewAction{Action: "comment", Comment: fleet.Comment{Key: "k1", Text: "and why this?"}}
		v = must2(act(keyed))(f)
		if again := must2(act(keyed))(f); len(v.Comments) != 2 || len(again.Comments) != 2 {
			t.Errorf("the same comment again: %+v", again)
		}
		keyed.Comment.Text = "another"
		_, err = act(keyed)
		f.refused("another comment with its key", err, 409, "use a new key")
		_, err = act(fleet.ReviewAction{Action: "approve"})
		f.refused("with a comment", err, 409, "not sent")
		_, err = act(fleet.ReviewAction{Action: "edit", ID: "c9", Comment: fleet.Comment{Text: "x"}})
		f.refused("no comment", err, 404, "c9")
		_, err = act(fleet.ReviewAction{Action: "burn"})
		f.refused("no action", err, 400, "want comment")
		if v := must2(act(fleet.ReviewAction{Action: "send_back", Tree: "abc"}))(f); v.State != fleet.ReviewSentBack || v.Seen != "abc" {
			t.Errorf("sent back: %+v", v)
		}
		a = f.claim()
		if a.Task.Task != "api" || len(a.Messages) != 1 {
			t.Fatalf("claimed %s with %d messages", a.Task.Task, len(a.Messages))
		}
		f.finish(a, engine.Finish{Delivered: []string{a.Messages[0].ID}, Ending: fleet.Ending{Summary: "c1: fixed"}})
		if v := must2(f.Reviews.Review(f.ctx, run, "api"))(f); v.State != fleet.ReviewOpen || v.Comments[0].Answer == nil || !v.Comments[0].Answer.Fixed {
			t.Errorf("answered: %+v", v)
		}
		f.claim() // the task docs
		f.must(f.Reviews.Interrupt(f.ctx, run, "docs"))
		for what, err := range map[string]error{
			"no run":  second(f.Reviews.Review(f.ctx, "x", "api")),
			"no task": second(f.Reviews.Messages(f.ctx, run, "x")),
		} {
			f.refused(what, err, 404, "not found")
		}
	})
}

func second[A any](_ A, err error) error { return err }

func TestOnlyOperatorsReviewAndSendMessages(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	run := f.submit(shop()).ID
	a := f.claim()
	for _, role := range []credential.Role{credential.Viewer, credential.Worker} {
		by := credential.Identity{ID: "x", Role: role} // called directly, in case a route lets the role through
		_, reviewed := f.runs.ChangeReview(f.ctx, by, run, "api", fleet.ReviewAction{Action: "approve"})
		_, sent := f.runs.Send(f.ctx, by, fleet.Message{Run: run, Task: "api", Text: "x"})
		for _, err := range []error{reviewed, sent, f.runs.Interrupt(f.ctx, by, run, "api"), f.runs.WithdrawMessage(f.ctx, by, run, "api", "x")} {
			if d, ok := err.(interface{ Denied() bool }); !ok || !d.Denied() {
				t.Errorf("%s: %v", role, err)
			}
		}
		if _, err := f.as[role].Reviews.Messages(f.ctx, run, "api"); err != nil {
			t.Errorf("%s may not look: %v", role, err)
		}
	}
	f.finish(a, engine.Finish{Ending: fleet.Ending{Class: failure.Auth}})
}

func TestAMessageStartsAProcessForARunOfThisMachine(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	p := shop()
	p.Tasks = p.Tasks[:1]
	run := f.submit(p).ID
	f.finish(f.claim(), engine.Finish{})
	var started []string
	service := runs.New(runs.Options{Store: f.store, Engine: f.engine, Now: f.clock, EnsureProcess: func(_ context.Context, run string) error {
		started = append(started, run)
		return nil
	}})
	by := credential.Identity{ID: "o", Name: "olga", Role: credential.Operator}
	_, err := service.Send(f.ctx, by, fleet.Message{Run: run, Task: "api", Text: "and now?"})
	f.must(err)
	f.finish(f.claim(), engine.Finish{})
	for _, a := range []fleet.ReviewAction{{Action: "comment", Comment: fleet.Comment{Text: "why?"}}, {Action: "send_back"}} {
		_, err := service.ChangeReview(f.ctx, by, run, "api", a)
		f.must(err)
	}
	f.claim()
	f.must(service.Interrupt(f.ctx, by, run, "api"))
	if !slices.Equal(started, []string{run, run, run}) { // no process is started for the comment
		t.Errorf("processes for %q", started)
	}
}
