package engine_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/review"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

func (f *fixture) send(run, task, text string) fleet.Message {
	f.t.Helper()
	m, err := f.Send(context.Background(), fleet.Message{Run: run, Task: task, Text: text, By: "sam"})
	f.must(err)
	return m
}

// refused checks that err is marked as a conflict, and that its text contains want.
func (f *fixture) refused(err error, want string) {
	f.t.Helper()
	var conflict interface{ Conflict() bool }
	if !errors.As(err, &conflict) || !strings.Contains(err.Error(), want) {
		f.t.Fatalf("got %v, want a conflict with %q", err, want)
	}
}

// deliver sends a heartbeat for attempt a. It reports that the agent has received the messages with
// the given ids, and returns the order for the attempt.
func (f *fixture) deliver(a engine.Assignment, delivered ...string) engine.Order {
	f.t.Helper()
	orders, err := f.Beat(context.Background(), store.Worker{ID: a.Attempt.Worker},
		[]engine.HeldAttempt{{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Delivered: delivered}})
	f.must(err)
	return orders[0]
}

// say ends attempt a successfully. answer is the agent's last message, and delivered are the ids of
// messages that the agent has received.
func (f *fixture) say(a engine.Assignment, answer string, delivered ...string) engine.FinishResult {
	f.t.Helper()
	o, err := f.Finish(context.Background(), engine.Finish{
		Attempt: a.Attempt.ID, Token: a.Attempt.Token, Delivered: delivered,
		Progress: fleet.Progress{Process: fleet.Process{Thread: "thread"}}, Ending: fleet.Ending{Answer: answer, Summary: "done"},
	})
	f.must(err)
	return o
}

func (f *fixture) texts(list []fleet.Message) (texts []string) {
	for _, m := range list {
		texts = append(texts, m.Text)
	}
	return texts
}

func (f *fixture) message(id, run, task string) fleet.Message {
	f.t.Helper()
	all, err := f.Messages(context.Background(), store.TaskKey{Run: run, Task: task})
	f.must(err)
	i := slices.IndexFunc(all, func(m fleet.Message) bool { return m.ID == id })
	if i < 0 {
		f.t.Fatalf("message %s is not there", id)
	}
	return all[i]
}

func TestAMessageContinuesTheConversationOfAnEndedTask(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	run := f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a"}}})
	f.say(f.claim(), "")
	if s := f.runStatus(run); s != store.Complete {
		t.Fatal("the run is", s)
	}
	m := f.send(run, "a", "and the tests?")
	if s := f.runStatus(run); s != store.Running {
		t.Fatal("the run does not continue: it is", s)
	}
	a := f.claim()
	if got := f.texts(a.Messages); !slices.Equal(got, []string{"and the tests?"}) || a.Task.NewConversation || a.Before == nil || a.Before.Thread != "thread" {
		t.Fatalf("the attempt gets %q, fresh %v, after %+v", got, a.Task.NewConversation, a.Before)
	}
	if o := f.say(a, "", m.ID); o.Status != store.Complete {
		t.Fatal("the task is", o.Status)
	}
	if got := f.message(m.ID, run, "a"); got.Attempt != a.Attempt.ID || got.Delivered.IsZero() || got.By != "sam" {
		t.Errorf("the message is %+v", got)
	}
	if s := f.runStatus(run); s != store.Complete {
		t.Error("the run is", s)
	}
	for _, kind := range []string{"message.sent", "message.delivered"} {
		if f.kinds(kind) == 0 {
			t.Error("there is no event", kind)
		}
	}
}

// A message can queue a complete task again while a task that needs it is running.
func TestATaskIsNotRetriedIfATaskThatItNeedsHasFailedMeanwhile(t *testing.T) {
	t.Parallel()
	for _, class := range []failure.Class{failure.None, failure.Crashed} {
		t.Run(string(class), func(t *testing.T) {
			f := newFixture(t)
			b := task("b", "a")
			b.Retries = 1
			run := f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a"}, b}, OnFailure: plan.Continue})
			f.say(f.claim(), "")
			running := f.claim()
			m := f.send(run, "a", "and the tests?")
			again := f.claim()
			f.deliver(again, m.ID)
			f.finish(again, class)
			f.finish(running, failure.Crashed)
			if class == failure.None {
				f.expect(run, map[string]store.Status{"a": store.Complete, "b": store.Queued})
				f.sweep(time.Hour)
				f.say(f.claim(), "")
			} else {
				f.expect(run, map[string]store.Status{"a": store.Failed, "b": store.Cancelled})
			}
			if got := f.runStatus(run); !got.Final() {
				t.Error("the run is", got)
			}
		})
	}
}

func TestAnAttemptThatNeverStartedKeepsTheConversation(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	run := f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a"}}})
	f.say(f.claim(), "")
	f.send(run, "a", "go on")
	f.finish(f.claim(), failure.Lost)
	f.sweep(10 * time.Minute)
	a := f.claim()
	if a.Before.Thread != "thread" || len(a.Messages) != 1 {
		t.Errorf("after a lost attempt: thread %q, %d messages", a.Before.Thread, len(a.Messages))
	}
}

func TestARunningAgentGetsAMessageUntilItIsDelivered(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	run := f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a"}}})
	a := f.claim()
	if o := f.deliver(a); len(o.Messages) != 0 {
		t.Fatalf("before: %+v", o)
	}
	one, two := f.send(run, "a", "one"), f.send(run, "a", "two")
	for range 2 {
		if got := f.texts(f.deliver(a).Messages); !slices.Equal(got, []string{"one", "two"}) {
			t.Fatalf("waiting: %q", got)
		}
	}
	for range 2 { // the worker repeats the report, as if the reply was lost
		if got := f.texts(f.deliver(a, one.ID, "unknown").Messages); !slices.Equal(got, []string{"two"}) {
			t.Fatalf("after the first was delivered: %q", got)
		}
	}
	if o := f.say(a, "", two.ID); o.Status != store.Complete {
		t.Fatal("the task is", o.Status)
	}
	if n := f.kinds("message.delivered"); n != 2 {
		t.Errorf("%d deliveries", n)
	}
}

func TestAMessageIsNotDeliveredByALostAttempt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	run := f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a"}}})
	lost := f.claim()
	m := f.send(run, "a", "hello")
	f.sweep(10 * time.Minute) // the attempt's lease expires
	f.sweep(10 * time.Minute) // the delay before the retry passes
	if o := f.deliver(lost, m.ID); !o.Gone {
		t.Fatalf("the lost attempt gets %+v", o)
	}
	next := f.claim()
	if got := f.texts(next.Messages); !slices.Equal(got, []string{"hello"}) {
		t.Fatalf("the next attempt gets %q", got)
	}
	f.deliver(next, m.ID)
	if got := f.message(m.ID, run, "a"); got.Attempt != next.Attempt.ID {
		t.Errorf("it was delivered to %s, want %s", got.Attempt, next.Attempt.ID)
	}
}

func TestATaskDoesNotEndWhileAMessageWaits(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	run := f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a"}, {ID: "b", After: []string{"a"}}}})
	a := f.claim()
	m := f.send(run, "a", "wait")
	if o := f.say(a, ""); o.Status != store.Queued || o.NewConversation {
		t.Fatalf("after the agent's end: %+v", o)
	}
	a = f.claim() // the claim must return task a again; b still waits for a
	if a.Task.Task != "a" || len(a.Messages) != 1 {
		t.Fatalf("claimed %s with %d messages", a.Task.Task, len(a.Messages))
	}
	f.say(a, "", m.ID)
	if b := f.claim(); b.Task.Task != "b" {
		t.Fatal("claimed", b.Task.Task)
	}
}

func TestAMessageThatCouldNotBeDeliveredIsTriedAgainAFewTimes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		class failure.Class
		tries int // number of attempts that start after the message was sent
	}{{failure.Crashed, 3}, {failure.Stalled, 3}, {failure.Auth, 1}, {failure.None, 1}, {failure.Interrupted, 1}} {
		f := newFixture(t)
		run := f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a"}}})
		f.say(f.claim(), "")
		f.send(run, "a", "hello")
		tries := 0
		for f.status(run, "a") == store.Queued {
			f.sweep(10 * time.Minute)
			a := f.claim()
			if len(a.Messages) != 1 {
				t.Fatalf("%q: try %d has %d messages", c.class, tries, len(a.Messages))
			}
			f.finish(a, c.class)
			if tries++; tries > 10 {
				break
			}
		}
		if tries != c.tries {
			t.Errorf("%q: %d attempts, want %d", c.class, tries, c.tries)
		}
	}
}

func TestTasksWaitAgainForACompleteTaskThatContinues(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	run := f.submit(plan.Plan{Parallel: 2, Tasks: []plan.Task{
		{ID: "a"}, {ID: "done", After: []string{"a"}, Priority: 1}, {ID: "ready", After: []string{"a"}}, {ID: "later", After: []string{"ready"}},
	}})
	f.say(f.claim(), "")
	done := f.claim()
	f.say(done, "")
	m := f.send(run, "a", "again")
	a := f.claim()
	if done.Task.Task != "done" || a.Task.Task != "a" {
		t.Fatalf("claimed %s, then %s", done.Task.Task, a.Task.Task)
	}
	f.nothing() // the task "ready" waits for a, so nothing can be claimed
	f.say(a, "", m.ID)
	for _, want := range []string{"ready", "later"} {
		next := f.claim()
		if next.Task.Task != want {
			t.Fatalf("claimed %s, want %s", next.Task.Task, want)
		}
		f.say(next, "")
	}
	f.nothing() // the task "done" stays complete, so nothing can be claimed
	if s := f.runStatus(run); s != store.Complete {
		t.Error("the run is", s)
	}
}

func TestALaterWaveWaitsForATaskThatContinues(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	run := f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a", Wave: 1}, {ID: "b", Wave: 2}}})
	f.say(f.claim(), "")
	m := f.send(run, "a", "again") // b is ready, and must wait for a again
	a := f.claim()
	f.nothing()
	f.say(a, "", m.ID)
	if b := f.claim(); a.Task.Task != "a" || b.Task.Task != "b" {
		t.Errorf("claimed %s, then %s", a.Task.Task, b.Task.Task)
	}
}

func TestTheSameIDIsTheSameMessage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := context.Background()
	run := f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a"}, {ID: "b"}}})
	m := fleet.Message{ID: "mine", Run: run, Task: "a", Text: "hello"}
	first, err := f.Send(ctx, m)
	f.must(err)
	f.now = f.now.Add(10 * time.Minute)
	again, err := f.Send(ctx, m)
	f.must(err)
	all, err := f.Messages(ctx, store.TaskKey{Run: run, Task: "a"})
	if f.must(err); again != first || len(all) != 1 {
		t.Errorf("%d messages; %+v, then %+v", len(all), first, again)
	}
	m.Text = "other"
	_, err = f.Send(ctx, m)
	f.refused(err, "another message")
	m.Text, m.Task = "hello", "b"
	_, err = f.Send(ctx, m)
	f.refused(err, "another message")
	for _, bad := range []fleet.Message{{Text: " "}, {Text: "a\x00"}, {Text: "\xff"}, {Text: strings.Repeat("x", engine.MaxMessage+1)}, {ID: "a/b", Text: "x"}} {
		bad.Run, bad.Task = run, "a"
		var invalid interface{ Invalid() bool }
		if _, err := f.Send(ctx, bad); !errors.As(err, &invalid) {
			t.Errorf("%.20q, %q: %v", bad.Text, bad.ID, err)
		}
	}
}

func TestMessagesAreRefusedWhereNoAgentCouldReadThem(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := context.Background()
	send := func(run, task string) error {
		_, err := f.Send(ctx, fleet.Message{Run: run, Task: task, Text: "hello"})
		return err
	}
	team, err := f.Submit(ctx, engine.Submission{Conducted: true, Plan: plan.Plan{Tasks: []plan.Task{{ID: "a"}}}})
	f.must(err)
	f.refused(send(team, "a"), "a team's")
	f.refused(f.Interrupt(ctx, store.TaskKey{Run: team, Task: "a"}, ""), "a team's")
	f.say(f.claim(), "")

	run := f.submit(plan.Plan{Tasks: []plan.Task{{ID: "make", Argv: []string{"make"}}, {ID: "a"}, {ID: "b", After: []string{"a"}}}})
	f.refused(send(run, "make"), "runs a command")
	f.say(f.claim(), "")
	f.refused(f.Interrupt(ctx, store.TaskKey{Run: run, Task: "a"}, ""), "is queued")
	a := f.claim()
	f.must(f.Cancel(ctx, engine.Target{Run: run, Task: "a"}, "", ""))
	f.refused(send(run, "a"), "is being cancelled")
	f.finish(a, failure.Cancelled)
	f.refused(send(run, "b"), "waits for a")
	f.must(f.ChangeReview(ctx, store.TaskKey{Run: run, Task: "a"}, "sam", func(r *fleet.Review) error { return review.Discard(r, "ref") }))
	f.refused(send(run, "a"), "discarded")
	var none *engine.NotFoundError
	if err := send(run, "nothing"); !errors.As(err, &none) {
		t.Error(err)
	}

	poor := f.submit(plan.Plan{Budget: plan.Budget{Tokens: 10}, Tasks: []plan.Task{{ID: "a", Limits: plan.Limits{Budget: plan.Budget{Tokens: 8}}}}})
	last := f.claim()
	_, err = f.Finish(ctx, engine.Finish{Attempt: last.Attempt.ID, Token: last.Attempt.Token, Progress: fleet.Progress{Spent: store.Amount{Tokens: 8}}})
	f.must(err)
	f.refused(send(poor, "a"), "budget")
}

func TestAWithdrawnMessageLeavesTheTaskAsItWas(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := context.Background()
	run := f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a"}, {ID: "b", After: []string{"a"}}}})
	f.say(f.claim(), "")
	m, other := f.send(run, "a", "one"), f.send(run, "a", "two")
	f.must(f.WithdrawMessage(ctx, m.ID, "sam"))
	if s := f.status(run, "a"); s != store.Queued {
		t.Fatal("with a message left the task is", s)
	}
	f.must(f.WithdrawMessage(ctx, other.ID, "sam"))
	f.must(f.WithdrawMessage(ctx, other.ID, "sam"))
	if s := f.status(run, "a"); s != store.Complete {
		t.Fatal("the task is", s)
	}
	b := f.claim()
	if b.Task.Task != "b" {
		t.Fatal("claimed", b.Task.Task)
	}
	m = f.send(run, "b", "three")
	f.must(f.WithdrawMessage(ctx, m.ID, "sam"))
	if o := f.deliver(b); len(o.Messages) > 0 {
		t.Errorf("a withdrawn message is ordered: %+v", o)
	}
	m = f.send(run, "b", "four")
	f.deliver(b, m.ID)
	f.refused(f.WithdrawMessage(ctx, m.ID, "sam"), "was delivered")
	if o := f.say(b, ""); o.Status != store.Complete {
		t.Error("b is", o.Status)
	}
}

func TestAnInterruptedTaskWaitsForAMessage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := context.Background()
	run := f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a", Limits: plan.Limits{Retries: 3}}, {ID: "b", After: []string{"a"}}}})
	key := store.TaskKey{Run: run, Task: "a"}
	a := f.claim()
	f.must(f.Interrupt(ctx, key, "sam"))
	f.must(f.Interrupt(ctx, key, "sam"))
	if o := f.deliver(a); !o.Interrupt || o.Stop != "interrupted" {
		t.Fatalf("the worker is told %+v", o)
	}
	if o := f.finish(a, failure.Crashed); o.Status != store.Cancelled {
		t.Fatal("the task is", o.Status)
	}
	if s := f.runStatus(run); s != store.Cancelled {
		t.Fatal("the run is", s)
	}
	m := f.send(run, "a", "rather like this")
	a = f.claim()
	if len(a.Messages) != 1 || a.Before.Class != failure.Interrupted || a.Task.NewConversation {
		t.Fatalf("%d messages, after %q, fresh %v", len(a.Messages), a.Before.Class, a.Task.NewConversation)
	}
	f.say(a, "", m.ID)
	if b := f.claim(); b.Task.Task != "b" { // b was cancelled because of a, and was queued again with it
		t.Fatal("claimed", b.Task.Task)
	}
}

func TestAnInterruptedAgentContinuesWithTheMessagesThatWait(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	run := f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a"}}})
	a := f.claim()
	f.send(run, "a", "stop that")
	f.must(f.Interrupt(context.Background(), store.TaskKey{Run: run, Task: "a"}, "sam"))
	if o := f.finish(a, failure.Interrupted); o.Status != store.Queued {
		t.Fatal("the task is", o.Status)
	}
	if a = f.claim(); len(a.Messages) != 1 {
		t.Errorf("%d messages", len(a.Messages))
	}
}

func TestANewConversationContainsWhatTheUserSaidBefore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	run := f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a", Limits: plan.Limits{Retries: 1}}}})
	a := f.claim()
	m, late := f.send(run, "a", "in English"), f.send(run, "a", "short")
	f.deliver(a, m.ID)
	f.finish(a, failure.ContextOverflow)
	a = f.claim()
	if !a.Task.NewConversation || !slices.Equal(f.texts(a.Earlier), []string{"in English"}) || !slices.Equal(f.texts(a.Messages), []string{"short"}) || a.Messages[0].ID != late.ID {
		t.Errorf("fresh %v, earlier %q, waiting %q", a.Task.NewConversation, f.texts(a.Earlier), f.texts(a.Messages))
	}
}

func TestARepeatedRequestDoesNotChangeAReview(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	run := f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a"}}})
	for _, a := range []fleet.ReviewAction{
		{Action: fleet.ActComment, Comment: fleet.Comment{Key: "k", Text: "why?"}},
		{Action: fleet.ActView, Path: "a.go", Digest: "d"},
	} {
		var seen []fleet.Review
		before := f.kinds("review.changed") + f.kinds("review.commented")
		for range 2 {
			f.now = f.now.Add(time.Minute)
			v, err := f.ActOnReview(context.Background(), store.TaskKey{Run: run, Task: "a"}, "sam", a)
			f.must(err)
			seen = append(seen, v)
		}
		if events := f.kinds("review.changed") + f.kinds("review.commented") - before; events != 1 || !reflect.DeepEqual(seen[0], seen[1]) {
			t.Errorf("%s: %d events, at first %+v, then %+v", a.Action, events, seen[0], seen[1])
		}
	}
}

func TestAnAgentAnswersAReviewThatWasSentBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := context.Background()
	run := f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a"}}})
	key := store.TaskKey{Run: run, Task: "a"}
	comment := func(text string) {
		t.Helper()
		f.must(f.ChangeReview(ctx, key, "sam", func(r *fleet.Review) error {
			_, err := review.AddComment(r, fleet.Comment{Path: "a.go", First: 1, Lines: "x", Text: text}, "sam", f.now)
			return err
		}))
	}
	got := func(want fleet.ReviewState) fleet.Review {
		t.Helper()
		v, err := f.Review(ctx, key)
		if f.must(err); v.State != want {
			t.Fatalf("the review is %s, want %s", v.State, want)
		}
		return v
	}
	approve := func() error {
		return f.ChangeReview(ctx, key, "sam", func(r *fleet.Review) error { return review.Approve(r, "aa3") })
	}
	a := f.claim()
	got(fleet.ReviewOpen)
	f.refused(approve(), "when it has ended")
	f.say(a, "")
	comment("why?")
	comment("rename it")
	got(fleet.ReviewCommented)
	f.must(f.SendBack(ctx, key, "sam", "aa1"))
	if v := got(fleet.ReviewSentBack); v.Round != 1 || v.Seen != "aa1" {
		t.Errorf("%+v", v)
	}
	a = f.claim()
	if len(a.Messages) != 1 || a.Messages[0].Round != 1 || !a.Task.SentBack || !strings.Contains(a.Messages[0].Text, "[c2] a.go:1\n> x\nrename it") {
		t.Fatalf("the attempt gets %+v", a.Messages)
	}
	comment("and a test") // the agent is already working, so this comment waits for the next round
	f.say(a, "I did it.\nc1: not fixed: it is needed\nc2: fixed\nc3: fixed", a.Messages[0].ID)
	v := got(fleet.ReviewCommented)
	if c := v.Comments; c[0].Answer == nil || c[0].Answer.Fixed || c[0].Answer.Text != "it is needed" || c[1].Answer == nil || !c[1].Answer.Fixed || c[1].Answer.Attempt != a.Attempt.ID || c[2].Answer != nil {
		t.Errorf("the comments are %+v", c)
	}

	f.must(f.SendBack(ctx, key, "sam", "aa2"))
	a = f.claim()
	f.send(run, "a", "hurry") // the round does not end before the agent has got this message too
	f.say(a, "c3: fixed", a.Messages[0].ID)
	got(fleet.ReviewSentBack)
	a = f.claim()
	f.say(a, "ok", a.Messages[0].ID)
	if v := got(fleet.ReviewOpen); v.Comments[2].Answer == nil || v.Round != 2 || v.By != "sam" {
		t.Errorf("%+v", v)
	}
	f.must(approve())
	m := f.send(run, "a", "one more thing") // the message makes the approval void
	got(fleet.ReviewOpen)
	a = f.claim()
	f.say(a, "", m.ID)
	list, err := f.Reviews(ctx, run)
	if f.must(err); len(list) != 1 || list[0].Task != "a" {
		t.Errorf("reviews of the run: %+v", list)
	}
	for _, kind := range []string{"review.commented", "review.changed", "review.sent_back", "review.open", "review.approved"} {
		if f.kinds(kind) == 0 {
			t.Error("there is no event", kind)
		}
	}
}

func TestAReviewWhoseMessageIsWithdrawnHasDraftsAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := context.Background()
	run := f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a"}}})
	key := store.TaskKey{Run: run, Task: "a"}
	f.say(f.claim(), "")
	f.must(f.ChangeReview(ctx, key, "sam", func(r *fleet.Review) error {
		_, err := review.AddComment(r, fleet.Comment{Text: "why?"}, "sam", f.now)
		return err
	}))
	f.must(f.SendBack(ctx, key, "sam", ""))
	all, err := f.Messages(ctx, key)
	f.must(err)
	f.must(f.WithdrawMessage(ctx, all[0].ID, "sam"))
	v, err := f.Review(ctx, key)
	if f.must(err); v.State != fleet.ReviewCommented || v.Comments[0].Round != 0 {
		t.Errorf("the review is %+v", v)
	}
	if s := f.status(run, "a"); s != store.Complete {
		t.Error("the task is", s)
	}
	f.must(f.SendBack(ctx, key, "sam", "")) // the user sends the comments back again
	a := f.claim()
	f.finish(a, failure.Auth) // the comments wait until the user retries the task
	if v, err := f.Review(ctx, key); err != nil || v.State != fleet.ReviewSentBack {
		t.Error(v.State, err)
	}
	f.must(f.Retry(ctx, key, "sam", ""))
	a = f.claim()
	f.say(a, "c1: fixed", a.Messages[0].ID)
	if v, err := f.Review(ctx, key); err != nil || v.State != fleet.ReviewOpen || v.Comments[0].Answer == nil {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestATaskContinuesOnTheWorkerThatHasItsConversation(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := context.Background()
	run := f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a"}}})
	for _, id := range []string{"one", "two"} {
		_, err := f.Beat(ctx, store.Worker{ID: id, Name: "name-" + id}, nil)
		f.must(err)
	}
	claim := func(id string) (engine.Assignment, error) {
		return f.Claim(ctx, engine.Claim{Worker: id, Labels: []string{engine.WorkerLabel("name-" + id)}})
	}
	a, err := claim("one")
	f.must(err)
	f.say(a, "")
	f.send(run, "a", "again")
	if _, err := claim("two"); !errors.Is(err, engine.ErrNothing) {
		t.Fatal("another worker got the task:", err)
	}
	a, err = claim("one")
	f.must(err)
	f.finish(a, failure.Auth)
	f.must(f.Retry(ctx, store.TaskKey{Run: run, Task: "a"}, "sam", "")) // after a user's retry, any worker may claim the task
	if _, err := claim("two"); err != nil {
		t.Error("after the user's retry:", err)
	}
}

func TestTooManyWaitingMessagesAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	run := f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a"}}})
	for i := range 100 {
		f.send(run, "a", fmt.Sprint(i))
	}
	_, err := f.Send(context.Background(), fleet.Message{Run: run, Task: "a", Text: "more"})
	f.refused(err, "100 messages wait")
}

func TestATaskThatWasCompleteIsCompleteAgainIfItDoesNotContinue(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, c := range map[string]struct {
		plan plan.Plan
		stop func(f *fixture, run string, other engine.Assignment)
	}{
		"it is cancelled": {plan.Plan{}, func(f *fixture, run string, _ engine.Assignment) {
			f.must(f.Cancel(ctx, engine.Target{Run: run, Task: "a"}, "sam", ""))
		}},
		"the run is cancelled": {plan.Plan{}, func(f *fixture, run string, other engine.Assignment) {
			f.must(f.Cancel(ctx, engine.Target{Run: run}, "sam", ""))
			f.finish(other, failure.Cancelled)
		}},
		"another task fails": {plan.Plan{OnFailure: plan.Stop}, func(f *fixture, _ string, other engine.Assignment) {
			f.finish(other, failure.Auth)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			c.plan.Tasks = []plan.Task{{ID: "a"}, {ID: "other"}}
			run := f.submit(c.plan)
			f.say(f.claim(), "")
			other := f.claim()
			m := f.send(run, "a", "more")
			c.stop(f, run, other)
			if s := f.status(run, "a"); s != store.Complete {
				t.Error("the task is", s)
			}
			if got := f.message(m.ID, run, "a"); !got.Withdrawn {
				t.Errorf("the message is %+v", got)
			}
		})
	}
}
