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

// Options configures a Notifier.
type Options struct {
	Store    store.Store
	Channels []Channel
	Run      string // limits it to this run; empty for the whole store
	From     int64  // starts after this event if no cursor is stored; zero starts at the current end
	Kinds    []Kind
	Rules    Rules
	Now      func() time.Time // the store's clock
	ID       string           // unique id of this program
	Notice   func(text string)

	OfflineAfter time.Duration // a worker without a heartbeat for this long is offline
}

// Notifier sends notifications about a store. It uses one goroutine per channel, so
// that no channel waits for another.
type Notifier struct {
	stop context.CancelFunc
	rush context.CancelFunc // ends all waiting
	all  sync.WaitGroup
}

// Start starts sending notifications, including those that an earlier program has left
// in the queue.
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

// Stop ends the notifier within about a second. Unsent notifications stay queued for
// the next program.
func (t *Notifier) Stop() {
	t.stop()
	t.all.Wait()
}

// Finish sends the remaining notifications and ends the notifier. It returns when that
// is done, after within, or when ctx ends.
func (t *Notifier) Finish(ctx context.Context, within time.Duration) {
	t.rush()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	defer context.AfterFunc(ctx, t.stop)()
	t.all.Wait()
	t.stop()
}

const (
	pace       = 250 * time.Millisecond // how long events are collected
	pollEvery  = 15 * time.Second       // interval of checks for notifications of other programs
	sendWithin = 10 * time.Second
	parting    = time.Second // time to store the cursor at the end
	tidyEvery  = time.Hour
)

// channelSender sends notifications over one channel.
type channelSender struct {
	opts     Options
	channel  Channel
	book     channelState
	follower follower

	begun   bool
	polled  time.Time // last check for messages to send
	wait    time.Time // when to check again if nothing happens; zero if unknown
	tidied  time.Time
	failing bool // the user was notified that the channel does not work
	sending bool // the store says that this program is the sender
}

// run works until ctx ends. After idle has ended, it handles the events so far and
// returns. A step that was in progress when idle ended may have missed the latest
// events, so another step follows.
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

// step does what can be done now, and reports whether there may be more to do at once.
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

// follow queues notifications for new events.
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

// deliver sends one message, if one is due.
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
		return false, ctx.Err() // we do not know whether it arrived; part lets other programs send it again
	}
	l.tell(outcome)
	if err := l.book.done(ctx, m, outcome, l.opts.Now()); err != nil {
		return false, err
	}
	l.sending = false
	return true, nil
}

// later returns when to check again. The zero time becomes the time of the next poll.
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

// tell prints a notice once when a channel stops working, and once when it works again.
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
		pause.For(idle, pace) // collect the events that often follow
		return
	}
	<-within.Done()
}

// part stores the cursor, and lets other programs send.
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
