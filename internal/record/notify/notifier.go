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
	Run      string // id of the run to follow; empty for all runs in the store
	// From is a sequence number of the store's event log: notifications are sent for the events
	// after it. If From is 0, they are sent only for events after the call of Start. From is
	// ignored if an earlier notifier has stored its position in the log: the new notifier continues
	// there.
	From   int64
	Kinds  []Kind
	Rules  Rules
	Now    func() time.Time // current time according to the store
	ID     string           // unique id of this process
	Notice func(text string)

	Daily        *DailyReport  // report that is sent once a day; nil means no report
	OfflineAfter time.Duration // a worker without a heartbeat for this long is offline
}

// Notifier sends notifications about the runs in a store. It sends them over several channels, such
// as a webhook and the user's desktop. Each channel has its own goroutine, so that a slow channel
// does not delay the others.
type Notifier struct {
	stop       context.CancelFunc
	endWaiting context.CancelFunc // makes the senders send the queued notifications now, and then end
	all        sync.WaitGroup
}

// Start starts to send notifications in the background, until the caller calls Stop or Finish. It
// also sends the notifications that an earlier program has left in the queue.
func Start(opts Options) *Notifier {
	ctx, stop := context.WithCancel(context.Background())
	idle, rush := context.WithCancel(ctx)
	t := &Notifier{stop: stop, endWaiting: rush}
	for _, c := range opts.Channels {
		l := &channelSender{
			opts: opts, channel: c, follower: newFollower(opts),
			state: channelState{opts.Store, c.Key(), orElse(opts.Run, everything), opts.ID},
		}
		t.all.Go(func() { l.run(ctx, idle) })
	}
	return t
}

// Stop ends the notifier within about a second. Unsent notifications stay queued in the store, and
// the next notifier sends them.
func (t *Notifier) Stop() {
	t.stop()
	t.all.Wait()
}

// Finish sends the queued notifications, except those that quiet hours or other rules hold back,
// and ends the notifier. It returns when that is done, when the timeout has passed, or when ctx
// ends. Unsent notifications stay queued in the store.
func (t *Notifier) Finish(ctx context.Context, timeout time.Duration) {
	t.endWaiting()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	defer context.AfterFunc(ctx, t.stop)()
	t.all.Wait()
	t.stop()
}

const (
	collectFor = 250 * time.Millisecond // how long to wait for further events before notifications are sent
	pollEvery  = 15 * time.Second       // how often to check for notifications that other programs have queued
	sendWithin = 10 * time.Second
	stopWithin = time.Second // maximum time that a stopping sender may take to store its position in the event log
	tidyEvery  = time.Hour
)

// channelSender sends notifications over one channel, such as a webhook.
type channelSender struct {
	opts     Options
	channel  Channel
	state    channelState
	follower follower

	begun     bool
	lastPoll  time.Time // when this sender last checked whether a message is due
	nextCheck time.Time // when to check again whether a message is due, if no event comes before; zero means at once
	lastTidy  time.Time
	failing   bool // the user has been told that the channel fails
	sending   bool // this program has reserved the channel in the store
}

// run sends notifications until ctx ends. The caller cancels idle to make run finish its work and
// return. Then run first reads the events once more, because it may not have read the latest ones
// yet. After that it sends the queued notifications, except those that quiet hours or other rules
// hold back.
func (l *channelSender) run(ctx, idle context.Context) {
	defer l.release(ctx)
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
			pause.For(idle, backoff(tries)/minBackoff*time.Second)
		case busy:
			tries = 0
		case finishing:
			return
		default:
			tries = 0
			l.waitForWork(idle)
		}
	}
}

// step reads events once and sends at most one message. busy is true if there may be more to do
// immediately.
func (l *channelSender) step(ctx context.Context) (busy bool, err error) {
	if err := l.begin(ctx); err != nil {
		return false, err
	}
	found, more, err := l.follow(ctx)
	if err != nil || more {
		return true, err
	}
	now := l.opts.Now()
	if !found && now.Before(l.nextCheck) && now.Sub(l.lastPoll) < pollEvery {
		return false, nil
	}
	return l.deliver(ctx)
}

func (l *channelSender) begin(ctx context.Context) error {
	now := l.opts.Now()
	if !l.begun {
		c, err := l.state.openCursor(ctx, l.opts.From, now)
		if err != nil {
			return err
		}
		if err := l.follower.begin(ctx, c); err != nil {
			return err
		}
		l.begun = true
	}
	if now.Sub(l.lastTidy) < tidyEvery {
		return nil
	}
	l.lastTidy = now
	return l.state.deleteOld(ctx, now)
}

// follow reads new events and queues notifications for them. found reports whether it queued any,
// and more whether there are more events to read.
func (l *channelSender) follow(ctx context.Context) (found, more bool, err error) {
	now := l.opts.Now()
	n, err := l.follower.readNew(ctx, now)
	if err != nil {
		return false, false, err
	}
	if daily, ok, err := l.follower.dailyNote(ctx, now); err != nil {
		return false, false, err
	} else if ok {
		n.notes = append(n.notes, daily)
	}
	if len(n.notes) > 0 || n.cursor.Seq-l.follower.storedSeq >= storeEvery {
		if err := l.state.addNotes(ctx, n.notes, n.cursor, now); err != nil {
			return false, false, err
		}
		l.follower.storedSeq = n.cursor.Seq
	}
	l.follower.advance(n)
	return len(n.notes) > 0, n.more, nil
}

// deliver sends one message, if a message is due. It reports whether it sent a message.
func (l *channelSender) deliver(ctx context.Context) (sent bool, err error) {
	now := l.opts.Now()
	l.lastPoll = now
	m, err := l.state.nextAction(ctx, l.opts.Rules, now)
	if err == nil && len(m.entries) > 0 {
		m, err = l.state.claim(ctx, l.opts.Rules, now)
	}
	if err != nil || len(m.entries) == 0 {
		l.nextCheck = pollTime(m.wait, now)
		return false, err
	}
	l.sending, l.nextCheck = true, time.Time{}
	outcome := l.send(ctx, m.message())
	if ctx.Err() != nil {
		// ctx has ended, so it is unknown whether the message has arrived. When run returns, it
		// ends the reservation of the channel, so that another program can send the message again.
		return false, ctx.Err()
	}
	l.reportChange(outcome)
	if err := l.state.storeResult(ctx, m, outcome, l.opts.Now()); err != nil {
		return false, err
	}
	l.sending = false
	return true, nil
}

// pollTime returns t, or the time of the next poll if t is zero.
func pollTime(t, now time.Time) time.Time {
	if t.IsZero() {
		return now.Add(pollEvery)
	}
	return t
}

func (l *channelSender) send(ctx context.Context, n Notification) error {
	ctx, cancel := context.WithTimeout(ctx, sendWithin)
	defer cancel()
	return l.channel.Send(ctx, n)
}

// reportChange prints a notice when a channel starts to fail, and when it works again.
func (l *channelSender) reportChange(outcome error) {
	again, temporary := errors.AsType[*TemporaryError](outcome)
	switch {
	case temporary && !l.failing:
		l.opts.Notice(fmt.Sprintf("notify %s: %s; trying again", l.channel.Name(), line(again.Error(), maxText)))
	case outcome != nil && !l.failing:
		l.opts.Notice(fmt.Sprintf("notify %s: %s", l.channel.Name(), line(outcome.Error(), maxText)))
	case outcome == nil && l.failing:
		l.opts.Notice(fmt.Sprintf("notify %s: works again", l.channel.Name()))
	}
	l.failing = outcome != nil
}

// waitForWork waits until there may be events to read or messages to send.
func (l *channelSender) waitForWork(idle context.Context) {
	within, cancel := context.WithTimeout(idle, min(checkEvery, max(l.nextCheck.Sub(l.opts.Now()), collectFor)))
	defer cancel()
	if l.opts.Store.Wait(within, l.follower.cursor.Seq) == nil {
		pause.For(idle, collectFor) // wait, because other events often follow soon
		return
	}
	<-within.Done()
}

// release stores the sender's position in the event log. If this program has reserved the channel,
// release frees it, so that other programs can send over it.
func (l *channelSender) release(ctx context.Context) {
	if !l.begun {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	now := l.opts.Now()
	var err error
	if l.sending {
		err = l.state.release(ctx, now)
	}
	if f := &l.follower; err == nil && f.cursor.Seq > f.storedSeq {
		err = l.state.addNotes(ctx, nil, f.cursor, now)
	}
	if err != nil {
		l.opts.Notice(fmt.Sprintf("notify %s: %v", l.channel.Name(), err))
	}
}
