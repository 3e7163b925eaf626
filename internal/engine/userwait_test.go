package engine_test

import (
	"context"
	"testing"
	"time"

	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// beat sends a heartbeat for attempt a, and returns the order for it. asking are the ids of
// questions whose answers the worker wants.
func (f *fixture) beat(a engine.Assignment, asking ...string) engine.Order {
	f.t.Helper()
	held := []engine.HeldAttempt{{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Asking: asking}}
	orders, err := f.Beat(context.Background(), store.Worker{ID: "w"}, held)
	f.must(err)
	return orders[0]
}

// goOn lets the time d pass with regular heartbeats for attempt a, and returns the order in the
// last reply.
func (f *fixture) goOn(a engine.Assignment, d time.Duration, asking ...string) (last engine.Order) {
	f.t.Helper()
	for end := f.now.Add(d); f.now.Before(end); {
		f.sweep(30 * time.Second)
		last = f.beat(a, asking...)
	}
	return last
}

func (f *fixture) ask(a engine.Assignment, ref string) string {
	f.t.Helper()
	id, err := f.Ask(context.Background(), engine.Ask{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Ref: ref, Text: ref})
	f.must(err)
	return id
}

func (f *fixture) answer(question string) {
	f.t.Helper()
	f.must(f.Answer(context.Background(), engine.Answer{Question: question, Text: "yes", Who: "sam"}))
}

func limited(t *testing.T) (*fixture, string, engine.Assignment) {
	f := newFixture(t)
	run := f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a", Agent: "claude", Limits: plan.Limits{Timeout: 10 * time.Minute}}}})
	return f, run, f.claim()
}

func TestWaitingForAUserCountsNeitherForTheDeadlineNorAsWork(t *testing.T) {
	f, run, a := limited(t)
	f.goOn(a, 4*time.Minute)
	q := f.ask(a, "q")
	if o := f.goOn(a, 3*time.Hour, q); o.Stop != "" {
		t.Fatalf("it is to stop while it waits: %s", o.Stop)
	}
	f.answer(q)
	if o := f.beat(a, q); len(o.Answers) != 1 {
		t.Fatalf("no answer: %+v", o)
	}
	if o := f.goOn(a, 5*time.Minute); o.Stop != "" {
		t.Fatalf("it is to stop after 9 minutes of work: %s", o.Stop)
	}
	if o := f.goOn(a, 2*time.Minute); o.Stop != string(failure.TimedOut) {
		t.Errorf("after 11 minutes of work it is to stop because of %q", o.Stop)
	}
	f.finish(a, failure.None)
	f.must(f.store.Read(t.Context(), func(r store.Reader) error {
		row, err := r.Run(run)
		if row.Waited != 3*time.Hour || row.Worked != 11*time.Minute {
			t.Errorf("worked %s, waited %s", row.Worked, row.Waited)
		}
		return err
	}))
}

func TestQuestionsThatOverlapAreOneWait(t *testing.T) {
	f, _, a := limited(t)
	one := f.ask(a, "one")
	f.goOn(a, time.Hour, one)
	two := f.ask(a, "two")
	f.goOn(a, time.Hour, one, two)
	f.answer(one)
	f.goOn(a, time.Hour, two)
	if got := f.attempt(a.Attempt.ID); got.WaitingSince.IsZero() {
		t.Errorf("it works while a question is open: %+v", got)
	}
	f.answer(two)
	f.beat(a, two)
	if got := f.attempt(a.Attempt.ID); got.Waited != 3*time.Hour || !got.WaitingSince.IsZero() || !got.Deadline.Equal(a.Attempt.Deadline.Add(3*time.Hour)) {
		t.Errorf("after three hours: %+v", got)
	}
}

// If the user answers while the worker is offline, the agent still waits: it gets the answer when
// the worker is back.
func TestAWaitEndsWhenTheWorkerHearsTheAnswerAndNotBefore(t *testing.T) {
	f, _, a := limited(t)
	e := engine.New(f.store, engine.Options{Now: func() time.Time { return f.now }, Rand: func() float64 { return 0 }, Lease: 24 * time.Hour})
	_, err := e.Beat(t.Context(), store.Worker{ID: "w"}, []engine.HeldAttempt{{Attempt: a.Attempt.ID, Token: a.Attempt.Token}}) // renews the lease, which is very long in a local run
	f.must(err)
	q := f.ask(a, "q")
	f.now = f.now.Add(time.Minute)
	f.answer(q)
	f.sweep(time.Hour)
	if o := f.beat(a, f.ask(a, "q")); o.Stop != "" || len(o.Answers) != 1 {
		t.Errorf("the worker that came back hears %+v", o)
	}
	if got := f.attempt(a.Attempt.ID); got.Waited != 61*time.Minute {
		t.Errorf("it waited %s", got.Waited)
	}
}

// An agent may ask a question with gaffer's MCP tool. The agent's worker does not see this
// question.
func TestAnAttemptWaitsForAnAnswerThatItsAgentAskedForByATool(t *testing.T) {
	f, _, a := limited(t)
	q, err := f.AskStandalone(t.Context(), engine.StandaloneQuestion{From: "run/a", Text: "may I?", Within: 2 * time.Hour, Attempt: a.Attempt.ID})
	f.must(err)
	if o := f.goOn(a, time.Hour); o.Stop != "" || !o.Waits {
		t.Fatalf("after an hour: %+v", o)
	}
	f.answer(q)
	if o := f.beat(a); o.Waits {
		t.Errorf("after the answer: %+v", o)
	}
	if got := f.attempt(a.Attempt.ID); got.Waited != time.Hour {
		t.Errorf("it waited %s", got.Waited)
	}
	if _, err := f.AskStandalone(t.Context(), engine.StandaloneQuestion{From: "other", Text: "may I?", Within: time.Hour, Attempt: "unknown"}); err != nil {
		t.Errorf("a question of an attempt that is not here: %v", err)
	}
}

func TestAnAttemptThatEndsWhileItWaitsHasWaitedUntilThen(t *testing.T) {
	f, _, a := limited(t)
	q := f.ask(a, "q")
	f.goOn(a, time.Hour, q)
	f.finish(a, failure.Crashed)
	if got := f.attempt(a.Attempt.ID); got.Waited != time.Hour || !got.WaitingSince.IsZero() {
		t.Errorf("ended as %+v", got)
	}
}
