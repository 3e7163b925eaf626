package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gaffer/fleet"

	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memory"
	"gaffer/internal/plan"
)

// inbox is a channel that records the messages it gets. reply, if it is not nil, returns the result
// of Send.
type inbox struct {
	key   string
	reply func(ctx context.Context, n Notification) error

	mu  sync.Mutex
	got []Notification
}

func (i *inbox) Name() string  { return "inbox" }
func (i *inbox) Key() string   { return "inbox-" + i.key }
func (i *inbox) Where() string { return "here" }

func (i *inbox) Send(ctx context.Context, n Notification) error {
	i.mu.Lock()
	i.got = append(i.got, n)
	i.mu.Unlock()
	if i.reply != nil {
		return i.reply(ctx, n)
	}
	return nil
}

func (i *inbox) titles() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	var list []string
	for _, n := range i.got {
		list = append(list, n.Title)
	}
	return strings.Join(list, "; ")
}

// world is a store with an engine. It is in a synctest bubble, whose clock starts at midnight.
type world struct {
	t       *testing.T
	store   store.Store
	engine  *engine.Engine
	ids     int
	notices []string
	mu      sync.Mutex
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, store: memory.New()}
	w.engine = engine.New(w.store, engine.Options{
		Now: time.Now, NewID: func() string { w.ids++; return fmt.Sprint("id", w.ids) }, Rand: func() float64 { return 0.5 },
	})
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) notice(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notices = append(w.notices, text)
}

// tell starts a notifier for one run, or for all runs if run is empty.
func (w *world) tell(c Channel, run string, also ...func(*Options)) *Notifier {
	w.ids++
	o := Options{
		Store: w.store, Channels: []Channel{c}, Run: run, Kinds: Kinds(), Rules: Rules{HoldQuestions: true, Burst: 10}, Now: time.Now,
		ID: fmt.Sprint("program", w.ids), Notice: w.notice, OfflineAfter: 30 * time.Second,
	}
	for _, change := range also {
		change(&o)
	}
	return Start(o)
}

func (w *world) submit(id string, tasks int, also ...func(*plan.Plan)) {
	w.t.Helper()
	p := plan.Plan{Name: id}
	for i := range tasks {
		p.Tasks = append(p.Tasks, plan.Task{ID: fmt.Sprint("t", i), Agent: "fake", Prompt: "x"})
	}
	for _, change := range also {
		change(&p)
	}
	_, err := w.engine.Submit(w.t.Context(), engine.Submission{Plan: p, ID: id, OnlyWorker: id})
	w.must(err)
}

func (w *world) claim(run string) store.Attempt {
	w.t.Helper()
	a, err := w.engine.Claim(w.t.Context(), engine.Claim{Worker: run, Labels: []string{engine.WorkerLabel(run)}})
	w.must(err)
	return a.Attempt
}

func (w *world) finish(a store.Attempt, class failure.Class) {
	w.t.Helper()
	_, err := w.engine.Finish(w.t.Context(), engine.Finish{Attempt: a.ID, Token: a.Token, Ending: fleet.Ending{Class: class, Summary: "because"}})
	w.must(err)
}

func (w *world) ask(a store.Attempt, text string) string {
	w.t.Helper()
	id, err := w.engine.Ask(w.t.Context(), engine.Ask{Attempt: a.ID, Token: a.Token, Text: text})
	w.must(err)
	return id
}

func pass(d time.Duration) { time.Sleep(d); synctest.Wait() }

func (w *world) want(i *inbox, titles string) {
	w.t.Helper()
	if got := i.titles(); got != titles {
		w.t.Errorf("told %q, want %q", got, titles)
	}
}

func TestTwoProgramsSendEachNotificationOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, in := newWorld(t), &inbox{}
		w.submit("r", 3)
		one, two, three := w.tell(in, "r"), w.tell(in, ""), w.tell(in, "")
		pass(time.Second)
		a, b, c := w.claim("r"), w.claim("r"), w.claim("r")
		q := w.ask(a, "May I?")
		pass(time.Second)
		w.want(in, "r/t0 asks")
		w.must(w.engine.Answer(t.Context(), engine.Answer{Question: q, Text: "yes"}))
		w.finish(b, failure.Denied)
		pass(time.Second)
		w.finish(a, failure.None)
		w.finish(c, failure.None)
		one.Finish(t.Context(), 3*time.Second)
		synctest.Wait()
		w.want(in, "r/t0 asks; t1 failed; run r has failed")
		two.Stop()
		three.Stop()
		four := w.tell(in, "r")
		pass(time.Minute)
		four.Stop()
		w.want(in, "r/t0 asks; t1 failed; run r has failed")
	})
}

func TestANotificationIsSentOverEachChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, slow, quick := newWorld(t), &inbox{key: "slow"}, &inbox{key: "quick"}
		slow.reply = func(ctx context.Context, n Notification) error { <-ctx.Done(); return &TemporaryError{Err: ctx.Err()} }
		w.submit("r", 1)
		teller := w.tell(slow, "r", func(o *Options) { o.Channels = append(o.Channels, quick) })
		pass(time.Second)
		w.finish(w.claim("r"), failure.None)
		pass(time.Second)
		w.want(quick, "run r is complete")
		teller.Stop()
	})
}

func TestEventsWithoutANotifierAreSentByTheNextOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, in := newWorld(t), &inbox{}
		w.submit("before", 1)
		w.finish(w.claim("before"), failure.Denied)
		w.tell(in, "").Finish(t.Context(), time.Second)
		w.want(in, "")
		w.submit("r", 2)
		w.finish(w.claim("r"), failure.Denied)
		pass(time.Hour)
		w.tell(in, "").Finish(t.Context(), time.Second)
		w.want(in, "t0 failed")
		w.finish(w.claim("r"), failure.None)
		pass(25 * time.Hour)
		w.tell(in, "").Finish(t.Context(), time.Second)
		w.want(in, "t0 failed") // the end of the run is too old for a notification
	})
}

func TestAMessageWithoutAStoredResultIsSentAgainWithTheSameID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, in := newWorld(t), &inbox{}
		dead := make(chan struct{})
		in.reply = func(context.Context, Notification) error { // simulate a program that dies after it has sent the message
			w.store.(*memory.Store).FailCommit = func() (bool, error) { return true, errors.New("died") }
			close(dead)
			return nil
		}
		w.submit("r", 1)
		first := w.tell(in, "r")
		pass(time.Second)
		w.finish(w.claim("r"), failure.None)
		<-dead
		first.Stop()
		w.store.(*memory.Store).FailCommit, in.reply = nil, nil
		second := w.tell(in, "r")
		pass(time.Second)
		w.want(in, "run r is complete") // sent once, although the first program may still be sending it
		pass(time.Minute)
		second.Stop()
		w.want(in, "run r is complete; run r is complete")
		if in.got[0].ID != in.got[1].ID || in.got[0].Text != in.got[1].Text {
			t.Errorf("%+v", in.got)
		}
	})
}

func TestEventsBeforeTheNotifierStartedAreSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, in := newWorld(t), &inbox{}
		w.submit("r", 1)
		var from int64
		w.must(w.store.Read(t.Context(), func(r store.Reader) (err error) { from, err = r.LastSeq(); return err }))
		w.finish(w.claim("r"), failure.None)
		w.tell(in, "r", func(o *Options) { o.From = from }).Finish(t.Context(), time.Second)
		w.want(in, "run r is complete")
	})
}

// slowReads is a store on a busy machine: the data of a read is a second old when it arrives.
type slowReads struct{ store.Store }

func (s slowReads) Read(ctx context.Context, look func(store.Reader) error) error {
	err := s.Store.Read(ctx, look)
	time.Sleep(time.Second)
	return err
}

func TestEventsDuringTheLastReadAreSentBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, in := newWorld(t), &inbox{}
		teller := w.tell(in, "r", func(o *Options) { o.Store = slowReads{w.store} })
		pass(7 * time.Second) // now the notifier has started and waits for events
		w.submit("r", 1)
		pass(collectFor + time.Second/2) // now the notifier has read these events, but not the next ones
		w.finish(w.claim("r"), failure.None)
		teller.Finish(t.Context(), time.Minute)
		w.want(in, "run r is complete")
	})
}

func TestAProgramThatIsStoppedWhileItSendsLeavesItToTheNextAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, in := newWorld(t), &inbox{}
		in.reply = func(ctx context.Context, _ Notification) error { <-ctx.Done(); return ctx.Err() }
		w.submit("r", 1)
		first := w.tell(in, "r")
		pass(time.Second)
		w.finish(w.claim("r"), failure.None)
		pass(time.Second)
		began := time.Now()
		first.Stop()
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %s to stop", took)
		}
		in.reply = nil
		w.tell(in, "other").Finish(t.Context(), time.Second)
		w.want(in, "run r is complete; run r is complete")
	})
}

func TestAReceiverThatHangsHoldsTheEndUpForAMomentOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, in := newWorld(t), &inbox{}
		in.reply = func(ctx context.Context, _ Notification) error { <-ctx.Done(); return &TemporaryError{Err: ctx.Err()} }
		w.submit("r", 1)
		teller := w.tell(in, "r")
		pass(time.Second)
		w.finish(w.claim("r"), failure.None)
		began := time.Now()
		teller.Finish(t.Context(), 3*time.Second)
		if took := time.Since(began); took < 3*time.Second || took > 4*time.Second {
			t.Errorf("it took %s to end", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		teller, began = w.tell(in, "r"), time.Now()
		pass(time.Second)
		teller.Finish(ctx, time.Hour)
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("it took %s to end when a person wants to go", took)
		}
	})
}

func TestAnUnreachableReceiverGetsItsNotificationsWhenItIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, in := newWorld(t), &inbox{}
		in.reply = func(context.Context, Notification) error { return &TemporaryError{Err: errors.New("away")} }
		w.submit("r", 4)
		teller := w.tell(in, "r", func(o *Options) { o.Rules.Burst = 100 })
		pass(time.Second)
		for range 2 {
			w.finish(w.claim("r"), failure.Denied)
		}
		pass(10 * time.Minute)
		if n := len(in.got); n < 5 || n > 8 {
			t.Errorf("tried %d times in ten minutes", n)
		}
		in.mu.Lock()
		in.reply, in.got = nil, nil
		in.mu.Unlock()
		pass(10 * time.Minute)
		w.want(in, "t0 failed; t1 failed")
		if want := []string{"notify inbox: away; trying again", "notify inbox: works again"}; !slices.Equal(w.notices, want) {
			t.Errorf("a person was told %q", w.notices)
		}
		in.reply = func(context.Context, Notification) error { return errors.New("no") }
		w.finish(w.claim("r"), failure.Denied)
		pass(time.Hour)
		teller.Stop()
		w.want(in, "t0 failed; t1 failed; t2 failed") // a message that was refused is not sent again
		list, err := Recent(t.Context(), w.store, []Channel{in}, time.Time{})
		if err != nil || len(list) != 3 || list[0].State != GivenUp || list[0].Why != "no" || list[1].State != Sent {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

func TestNotificationsAreHeldDuringQuietHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the clock starts at midnight
		w, in := newWorld(t), &inbox{}
		night := func(questions bool) func(*Options) {
			return func(o *Options) {
				o.Rules.Quiet, o.Rules.HoldQuestions = QuietHours{From: 22 * 60, To: 7 * 60}, questions
			}
		}
		w.submit("r", 4)
		teller := w.tell(in, "r", night(true))
		pass(time.Second)
		answered := w.ask(w.claim("r"), "Which?")
		w.ask(w.claim("r"), "Why?")
		w.finish(w.claim("r"), failure.Denied)
		pass(time.Hour)
		w.must(w.engine.Answer(t.Context(), engine.Answer{Question: answered, Text: "this"}))
		pass(5 * time.Hour)
		teller.Stop()
		w.want(in, "")
		pass(2 * time.Hour) // now another program sends the notification
		teller = w.tell(in, "other", night(true))
		pass(time.Minute)
		teller.Stop()
		w.want(in, "2 notifications: 1 waiting, 1 failed")
		pass(15 * time.Hour)
		teller = w.tell(in, "r", night(false))
		pass(time.Second)
		w.ask(w.claim("r"), "Now?")
		pass(time.Second)
		teller.Stop()
		w.want(in, "2 notifications: 1 waiting, 1 failed; r/t3 asks")
	})
}

func TestAStormBecomesOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, in := newWorld(t), &inbox{}
		w.submit("r", 40)
		teller := w.tell(in, "r", func(o *Options) { o.Rules.Burst = 3 })
		pass(time.Second)
		for range 25 { // the events are a second apart
			w.finish(w.claim("r"), failure.Denied)
			pass(time.Second)
		}
		pass(2 * time.Minute)
		w.want(in, "t0 failed; t1 failed; t2 failed; 22 notifications: 22 failed")
		for range 15 { // the events are at the same time
			w.finish(w.claim("r"), failure.Denied)
		}
		pass(time.Second)
		w.want(in, "t0 failed; t1 failed; t2 failed; 22 notifications: 22 failed; 16 notifications: 15 failed, 1 finished")
		teller.Stop()
	})
}

func TestAnOfflineWorkerCausesOneNotificationPerOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, in := newWorld(t), &inbox{}
		beat := func(id string) {
			t.Helper()
			_, err := w.engine.Beat(t.Context(), store.Worker{ID: id, Name: "mill " + id, Slots: 1}, nil)
			w.must(err)
		}
		beat("old")
		pass(time.Hour)
		one, two := w.tell(in, ""), w.tell(in, "")
		pass(time.Minute)
		w.want(in, "") // no notification, because the worker was offline before the notifier started
		beat("w")
		pass(29 * time.Second)
		w.want(in, "")
		pass(10 * time.Second)
		w.want(in, "worker mill w is offline")
		pass(time.Hour)
		w.want(in, "worker mill w is offline")
		beat("w")
		pass(45 * time.Second)
		w.want(in, "worker mill w is offline; worker mill w is offline")
		beat("w")
		one.Stop()
		two.Stop()
		pass(time.Hour) // meanwhile no program receives the worker's heartbeats
		three := w.tell(in, "")
		pass(20 * time.Second)
		beat("w")
		pass(20 * time.Second)
		three.Stop()
		w.want(in, "worker mill w is offline; worker mill w is offline")
	})
}

func TestABudgetCausesANotificationBeforeItIsUsedUpAndAnotherWhenItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, in := newWorld(t), &inbox{}
		w.submit("r", 2, func(p *plan.Plan) { p.Budget = plan.Budget{Tokens: 1000} })
		teller := w.tell(in, "")
		pass(time.Second)
		a := w.claim("r")
		beat := func(tokens int64) {
			held := engine.HeldAttempt{Attempt: a.ID, Token: a.Token, Now: fleet.Progress{Activity: fleet.Activity{State: "running", Said: time.Now()}, Spent: store.Amount{Tokens: tokens}}}
			_, err := w.engine.Beat(t.Context(), store.Worker{ID: "r"}, []engine.HeldAttempt{held})
			w.must(err)
		}
		beat(700)
		pass(10 * time.Second)
		w.want(in, "")
		beat(850)
		pass(10 * time.Second)
		w.want(in, "run r has spent 85 % of its budget")
		beat(1100)
		pass(20 * time.Second)
		w.want(in, "run r has spent 85 % of its budget; run r has used its budget")
		teller.Stop()
		again := w.tell(in, "r")
		pass(20 * time.Second)
		again.Stop()
		w.want(in, "run r has spent 85 % of its budget; run r has used its budget")
	})
}

func TestOnlyTheConfiguredKindsAreSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, in := newWorld(t), &inbox{}
		w.submit("r", 1)
		teller := w.tell(in, "r", func(o *Options) { o.Kinds = []Kind{Finished} })
		w.submit("other", 1)
		pass(time.Second)
		w.finish(w.claim("r"), failure.Denied)
		w.finish(w.claim("other"), failure.None)
		teller.Finish(t.Context(), time.Second)
		w.want(in, "run r has failed")
	})
}

func TestOldNotificationsAreDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, in := newWorld(t), &inbox{}
		w.submit("r", 1)
		teller := w.tell(in, "r")
		pass(time.Second)
		w.finish(w.claim("r"), failure.None)
		teller.Finish(t.Context(), time.Second)
		pass(8 * 24 * time.Hour)
		w.tell(in, "").Finish(t.Context(), time.Second)
		w.must(w.store.Read(t.Context(), func(r store.Reader) error {
			notes, err := r.Items(noteKind, in.Key(), 0, 99)
			cursors, err2 := r.Items(cursorKind, in.Key(), -1, 99)
			if len(notes) != 0 || len(cursors) != 1 || !strings.HasSuffix(cursors[0].ID, everything) {
				t.Errorf("left: %v, %v", notes, cursors)
			}
			return errors.Join(err, err2)
		}))
	})
}

func TestAFullQueueDropsNewNotifications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, in := newWorld(t), &inbox{}
		b := &channelState{store: w.store, channel: in.Key(), scope: everything, program: "m"}
		notes := make([]Notification, maxQueued+5)
		for i := range notes {
			notes[i] = Notification{ID: fmt.Sprint(i), Kind: Failed}
		}
		w.must(b.addNotes(t.Context(), notes, cursor{}, time.Now()))
		list, err := Recent(t.Context(), w.store, []Channel{in}, time.Time{})
		given := 0
		for _, r := range list {
			if r.State == GivenUp {
				given++
			}
		}
		if err != nil || len(list) != maxQueued+5 || given != 5 {
			t.Errorf("%d notes, %d given up, %v", len(list), given, err)
		}
	})
}

func TestAWorkerThatIsBackBeforeTheEndOfQuietHoursCausesNoNotification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the clock starts at midnight
		w, in := newWorld(t), &inbox{}
		beat := func(id string) {
			t.Helper()
			_, err := w.engine.Beat(t.Context(), store.Worker{ID: id, Name: id, Slots: 1}, nil)
			w.must(err)
		}
		teller := w.tell(in, "", func(o *Options) { o.Rules.Quiet = QuietHours{From: 22 * 60, To: 7 * 60} })
		pass(time.Second)
		beat("back")
		beat("gone")
		pass(time.Hour)
		beat("back")
		pass(10 * time.Second)
		for range 7 * 60 * 3 {
			beat("back")
			pass(20 * time.Second)
		}
		teller.Stop()
		w.want(in, "worker gone is offline")
	})
}

func TestWorkersAreNotOfflineBecauseThisMachineSlept(t *testing.T) {
	f := follower{}
	for _, c := range []struct {
		at   time.Duration
		due  bool
		from time.Duration // since when heartbeats could be received
	}{
		{0, true, 0},
		{time.Second, false, 0},
		{5 * time.Second, true, 0},
		{12 * time.Second, true, 0},
		{10 * time.Minute, true, 10 * time.Minute},
		{10*time.Minute + 6*time.Second, true, 10 * time.Minute},
		{time.Minute, true, time.Minute}, // the clock was set back
	} {
		now := noon.Add(c.at)
		if due := f.checkDue(now); due != c.due || !f.listeningSince.Equal(noon.Add(c.from)) {
			t.Errorf("after %s: due is %v, heard since %s", c.at, due, f.listeningSince)
		}
		if c.due {
			f.lastCheck = now
		}
	}
}
