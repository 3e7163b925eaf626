package notify

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gaffer/internal/engine/store"
	"gaffer/internal/pause"
)

// Options are what a Notifier needs of the world.
type Options struct {
	Store    store.Store
	Channels []Channel
	Run      string // tells of this run alone; of everything in the store if empty
	From     int64  // what happens after this event is told, if nobody has told of it before; from now on if zero
	Kinds    []Kind
	Rules    Rules
	Now      func() time.Time // the store's clock
	ID       string           // of this program, unlike that of any other
	Notice   func(text string)

	OfflineAfter time.Duration // who was not heard of for so long is offline
}

// Notifier tells a person what happens in a store, in goroutines of its own: one for
// each channel, so that none waits for another.
type Notifier struct {
	stop context.CancelFunc
	rush context.CancelFunc // nothing is waited for any more
	all  sync.WaitGroup
}

// Start begins to tell what happens, and what an earlier program has left to be
// told.
func Start(opts Options) *Notifier {
	ctx, stop := context.WithCancel(context.Background())
	idle, rush := context.WithCancel(ctx)
	t := &Notifier{stop: stop, rush: rush}
	for _, c := range opts.Channels {
		l := &channelSender{
			opts: opts, channel: c, follower: newFollower(opts),
			book: channelState{opts.Store, c.Key(), orElse(opts.Run, everything), opts.ID},
		}
		t.all.Go(func() { l.run(ctx, idle) })
	}
	return t
}

// Stop ends it within about a second. What was not told is left for the next.
func (t *Notifier) Stop() {
	t.stop()
	t.all.Wait()
}

// Finish tells what is left to be told now, and ends it: when that is done, after
// a time, or with ctx.
func (t *Notifier) Finish(ctx context.Context, within time.Duration) {
	t.rush()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	defer context.AfterFunc(ctx, t.stop)()
	t.all.Wait()
	t.stop()
}

const (
	pace       = 250 * time.Millisecond // events are gathered for so long
	pollEvery  = 15 * time.Second       // how often is looked for what others have left
	sendWithin = 10 * time.Second
	parting    = time.Second // to note how far it has come
	tidyEvery  = time.Hour
)

// channelSender tells over one channel.
type channelSender struct {
	opts     Options
	channel  Channel
	book     channelState
	follower follower

	begun   bool
	polled  time.Time // when was last looked for what there is to send
	wait    time.Time // when there may be something to send, if nothing happens; zero for unknown
	tidied  time.Time
	failing bool // a person was told that it does not work
	sending bool // others may not, as far as the store knows
}

// run tells until ctx ends. When idle has ended, it tells what has happened before
// and returns. A step that was under way when idle ended may have missed the latest
// events, so another one follows it.
func (l *channelSender) run(ctx, idle context.Context) {
	defer l.part(ctx)
	for tries := 0; ctx.Err() == nil; {
		finishing := idle.Err() != nil
		busy, err := l.step(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil && finishing:
			l.opts.Notice(fmt.Sprintf("notify %s: %v", l.channel.Name(), err))
			return
		case err != nil:
			if tries++; tries == 1 {
				l.opts.Notice(fmt.Sprintf("notify %s: %v; trying again", l.channel.Name(), err))
			}
			pause.For(idle, backoff(tries)/firstWait*time.Second)
		case busy:
			tries = 0
		case finishing:
			return
		default:
			tries = 0
			l.rest(idle)
		}
	}
}

// step does what there is to do, and reports whether there may be more at once.
func (l *channelSender) step(ctx context.Context) (busy bool, err error) {
	if err := l.begin(ctx); err != nil {
		return false, err
	}
	found, more, err := l.follow(ctx)
	if err != nil || more {
		return true, err
	}
	now := l.opts.Now()
	if !found && now.Before(l.wait) && now.Sub(l.polled) < pollEvery {
		return false, nil
	}
	return l.deliver(ctx)
}

func (l *channelSender) begin(ctx context.Context) error {
	now := l.opts.Now()
	if !l.begun {
		c, err := l.book.open(ctx, l.opts.From, now)
		if err != nil {
			return err
		}
		if err := l.follower.begin(ctx, c); err != nil {
			return err
		}
		l.begun = true
	}
	if now.Sub(l.tidied) < tidyEvery {
		return nil
	}
	l.tidied = now
	return l.book.tidy(ctx, now)
}

// follow queues what has happened.
func (l *channelSender) follow(ctx context.Context) (found, more bool, err error) {
	now := l.opts.Now()
	n, err := l.follower.look(ctx, now)
	if err != nil {
		return false, false, err
	}
	if len(n.notes) > 0 || n.cursor.Seq-l.follower.marked >= markEvery {
		if err := l.book.note(ctx, n.notes, n.cursor, now); err != nil {
			return false, false, err
		}
		l.follower.marked = n.cursor.Seq
	}
	l.follower.took(n)
	return len(n.notes) > 0, n.more, nil
}

// deliver sends a message, if there is one to be sent now.
func (l *channelSender) deliver(ctx context.Context) (sent bool, err error) {
	now := l.opts.Now()
	l.polled = now
	m, err := l.book.look(ctx, l.opts.Rules, now)
	if err == nil && len(m.entries) > 0 {
		m, err = l.book.take(ctx, l.opts.Rules, now)
	}
	if err != nil || len(m.entries) == 0 {
		l.wait = later(m.wait, now)
		return false, err
	}
	l.sending, l.wait = true, time.Time{}
	outcome := l.send(ctx, m.message())
	if ctx.Err() != nil {
		return false, ctx.Err() // nobody knows whether it came; part lets others send it
	}
	l.tell(outcome)
	if err := l.book.done(ctx, m, outcome, l.opts.Now()); err != nil {
		return false, err
	}
	l.sending = false
	return true, nil
}

// later is when to look again: never is after the next poll.
func later(t, now time.Time) time.Time {
	if t.IsZero() {
		return now.Add(pollEvery)
	}
	return t
}

func (l *channelSender) send(ctx context.Context, n Note) error {
	ctx, cancel := context.WithTimeout(ctx, sendWithin)
	defer cancel()
	return l.channel.Send(ctx, n)
}

// tell says once that a channel does not work, and once that it does again.
func (l *channelSender) tell(outcome error) {
	again, temporary := errors.AsType[*Again](outcome)
	switch {
	case temporary && !l.failing:
		l.opts.Notice(fmt.Sprintf("notify %s: %s; trying again", l.channel.Name(), line(again.Error(), textMost)))
	case outcome != nil && !l.failing:
		l.opts.Notice(fmt.Sprintf("notify %s: %s", l.channel.Name(), line(outcome.Error(), textMost)))
	case outcome == nil && l.failing:
		l.opts.Notice(fmt.Sprintf("notify %s: works again", l.channel.Name()))
	}
	l.failing = outcome != nil
}

// rest returns when there may be something to do.
func (l *channelSender) rest(idle context.Context) {
	within, cancel := context.WithTimeout(idle, min(lookEvery, max(l.wait.Sub(l.opts.Now()), pace)))
	defer cancel()
	if l.opts.Store.Wait(within, l.follower.cursor.Seq) == nil {
		pause.For(idle, pace) // more often comes with it
		return
	}
	<-within.Done()
}

// part notes how far it has come, and lets others send.
func (l *channelSender) part(ctx context.Context) {
	if !l.begun {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), parting)
	defer cancel()
	now := l.opts.Now()
	var err error
	if l.sending {
		err = l.book.release(ctx, now)
	}
	if f := &l.follower; err == nil && f.cursor.Seq > f.marked {
		err = l.book.note(ctx, nil, f.cursor, now)
	}
	if err != nil {
		l.opts.Notice(fmt.Sprintf("notify %s: %v", l.channel.Name(), err))
	}
}
