package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"time"

	"gaffer/internal/engine/store"
)

// The kinds of stored items. An item is a JSON document in the store. These items are stored for
// each channel, which is a way to send notifications:
//
//   - An item of noteKind is a notification. Its parent says whether the notification is still
//     queued, or is closed because it was sent or will never be sent.
//   - An item of senderKind is the state that all programs which send over the channel share.
//   - An item of cursorKind holds the sequence number of the last event that was read for the
//     channel.
const (
	noteKind   = "notify"
	senderKind = "notify-sender"
	cursorKind = "notify-cursor"
)

const (
	maxQueued   = 1000               // maximum number of queued notifications per channel
	keepSent    = 7 * 24 * time.Hour // how long notifications are kept after they were queued, so that they are not queued again
	deleteBatch = 500                // maximum number of notifications, and of cursors, that one transaction deletes
)

// channelState reads and writes the stored state of one channel.
type channelState struct {
	store   store.Store
	channel string // key of the channel
	scope   string // id of the run that this program follows; the constant everything means all runs
	program string // unique id of this process
}

// everything is the value of channelState.scope in programs that follow all runs in the store.
const everything = "*"

// cursor says up to which event the store's events were read for a channel. All programs that
// follow the same runs share the cursor of a channel.
type cursor struct {
	Seq int64 `json:"seq"`
	// Began is when the cursor was first stored. Daily reports for earlier times are not sent. A
	// worker that was already offline at that time is not reported.
	Began time.Time `json:"began"`
}

func (b *channelState) noteKey(id string) store.ItemKey {
	return store.ItemKey{Kind: noteKind, ID: b.channel + " " + id}
}

func (b *channelState) senderKey() store.ItemKey {
	return store.ItemKey{Kind: senderKind, ID: b.channel}
}

func (b *channelState) cursorKey() store.ItemKey {
	return store.ItemKey{Kind: cursorKind, ID: b.channel + " " + b.scope}
}

func queueOf(channel string) string { return channel + " open" }

// items reads items, which are JSON documents in the store. It is implemented by write transactions
// and by readers of the store.
type items interface {
	Item(key store.ItemKey) (store.Item, error)
	Items(kind, parent string, after int64, limit int) ([]store.Item, error)
}

// get reads an item, and decodes its data into target. If the item does not exist, it returns false
// and does not change target.
func get(from items, key store.ItemKey, target any) (found bool, err error) {
	item, err := from.Item(key)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, json.Unmarshal(item.Data, target)
}

func put(tx *store.Tx, i store.Item, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	i.Data = text
	tx.PutItem(i)
	return nil
}

func (b *channelState) putCursor(tx *store.Tx, c cursor, now time.Time) error {
	return put(tx, store.Item{ItemKey: b.cursorKey(), Parent: b.channel, Seq: c.Seq, Made: now}, c)
}

func (b *channelState) putSender(tx *store.Tx, s sender, now time.Time) error {
	return put(tx, store.Item{ItemKey: b.senderKey(), Made: now}, s)
}

func (b *channelState) putEntry(tx *store.Tx, e entry) error {
	parent := b.channel
	if e.State == Pending {
		parent = queueOf(b.channel)
	}
	return put(tx, store.Item{ItemKey: b.noteKey(e.Note.ID), Parent: parent, Seq: e.Queued.UnixMicro(), Made: e.Queued}, e)
}

// openCursor returns the channel's cursor. If no program has stored one yet, openCursor stores and
// returns a new one. The new cursor is at the event with the sequence number start. If start is
// zero, it is at the last event in the store.
func (b *channelState) openCursor(ctx context.Context, start int64, now time.Time) (c cursor, err error) {
	found := false
	err = b.store.Read(ctx, func(r store.Reader) (err error) {
		if found, err = get(r, b.cursorKey(), &c); err != nil || found {
			return err
		}
		c = cursor{Seq: start, Began: now}
		if start == 0 {
			c.Seq, err = r.LastSeq()
		}
		return err
	})
	if err != nil || found {
		return c, err
	}
	return c, b.store.Write(ctx, func(tx *store.Tx) error {
		found, err := get(tx, b.cursorKey(), &c) // another program may have stored a cursor in the meantime
		if err != nil || found {
			return err
		}
		return b.putCursor(tx, c, now)
	})
}

// addNotes queues notifications and stores the cursor c, in one transaction. It skips notifications
// that are already stored. If the stored cursor is further ahead than c, addNotes does not replace
// it.
func (b *channelState) addNotes(ctx context.Context, notes []Notification, c cursor, now time.Time) error {
	return b.store.Write(ctx, func(tx *store.Tx) error {
		if err := b.addToQueue(tx, notes, now); err != nil {
			return err
		}
		var kept cursor
		if _, err := get(tx, b.cursorKey(), &kept); err != nil {
			return err
		}
		if kept.Seq > c.Seq {
			return nil
		}
		return b.putCursor(tx, c, now)
	})
}

func (b *channelState) addToQueue(tx *store.Tx, notes []Notification, now time.Time) error {
	if len(notes) == 0 {
		return nil
	}
	open, err := tx.Items(noteKind, queueOf(b.channel), math.MinInt64, maxQueued)
	if err != nil {
		return err
	}
	room := maxQueued - len(open)
	for i, n := range notes {
		var before entry
		found, err := get(tx, b.noteKey(n.ID), &before)
		if err != nil {
			return err
		}
		if found {
			continue
		}
		// The queue is sorted by these times. So let the times differ by a microsecond, to keep the
		// order of the notifications.
		e := entry{Note: n, Queued: now.Add(time.Duration(i) * time.Microsecond), State: Pending}
		if room--; room < 0 {
			e.State, e.Ended, e.Why = GivenUp, now, "too many other notifications were queued"
		}
		if err := b.putEntry(tx, e); err != nil {
			return err
		}
	}
	return nil
}

// queued returns the channel's queued notifications, oldest first. It also returns the state that
// is shared by all programs that send over the channel.
func (b *channelState) queued(from items) (open []entry, s sender, err error) {
	if _, err := get(from, b.senderKey(), &s); err != nil {
		return nil, s, err
	}
	list, err := from.Items(noteKind, queueOf(b.channel), math.MinInt64, maxQueued)
	if err != nil {
		return nil, s, err
	}
	open, err = entries(list)
	return open, s, err
}

func entries(list []store.Item) ([]entry, error) {
	all := make([]entry, len(list))
	for i, item := range list {
		if err := json.Unmarshal(item.Data, &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// nextAction returns what this program should do next: send a message, or wait. It stores nothing.
func (b *channelState) nextAction(ctx context.Context, r Rules, now time.Time) (m nextAction, err error) {
	err = b.store.Read(ctx, func(from store.Reader) error {
		open, s, err := b.queued(from)
		m = next(now, open, s, r)
		if len(m.entries) > 0 && b.heldByOther(s, now) {
			m = nextAction{wait: s.Until}
		}
		return err
	})
	return m, err
}

// heldByOther reports whether, at the time now, another program has reserved the channel for
// sending.
func (b *channelState) heldByOther(s sender, now time.Time) bool {
	return s.Holder != b.program && s.Until.After(now)
}

// claim reserves the channel, so that only this program can send over it, and returns the message
// to send. It stores the id of the message with each notification that the message contains. If
// another program has reserved the channel, or if nothing is to be sent, the result has no entries
// and says when to check again. claim does not use the result of an earlier call of nextAction,
// because another program may have sent messages since then.
func (b *channelState) claim(ctx context.Context, r Rules, now time.Time) (m nextAction, err error) {
	err = b.store.Write(ctx, func(tx *store.Tx) error {
		open, s, err := b.queued(tx)
		if err != nil {
			return err
		}
		if b.heldByOther(s, now) {
			m = nextAction{wait: s.Until}
			return nil
		}
		if m, err = b.choose(tx, open, s, r, now); err != nil || len(m.entries) == 0 {
			return err
		}
		for i := range m.entries {
			m.entries[i].Batch = m.id
			if err := b.putEntry(tx, m.entries[i]); err != nil {
				return err
			}
		}
		s.Holder, s.Until, s.Sent = b.program, now.Add(lease), s.recentlySent(now)
		return b.putSender(tx, s, now)
	})
	return m, err
}

// choose returns what to send next. If some of the chosen notifications are outdated, it stores
// that they will never be sent, and then chooses again without them.
func (b *channelState) choose(tx *store.Tx, open []entry, s sender, r Rules, now time.Time) (nextAction, error) {
	for {
		m := next(now, open, s, r)
		gone := 0
		for _, e := range m.entries {
			why, state, err := outdatedReason(tx, e, now)
			if err != nil {
				return m, err
			}
			if why == "" {
				continue
			}
			gone++
			e.State, e.Why, e.Ended = state, why, now
			if err := b.putEntry(tx, e); err != nil {
				return m, err
			}
			open = slices.DeleteFunc(open, func(o entry) bool { return o.Note.ID == e.Note.ID })
		}
		if gone == 0 {
			return m, nil
		}
	}
}

// outdatedReason returns why a queued notification must not be sent any more, and its new state. It
// returns "" if the notification can still be sent. If e.Batch is set, a message with the
// notification may already have been sent, and must be sent again unchanged. Then the notification
// is outdated only if it is too old.
func outdatedReason(tx *store.Tx, e entry, now time.Time) (reason string, state State, err error) {
	if now.Sub(e.Queued) > maxEventAge {
		return cmp.Or(e.Why, "it could not be sent for a day"), GivenUp, nil
	}
	if e.Batch != "" {
		return "", "", nil
	}
	switch {
	case e.Note.Question != "":
		q, err := tx.Question(e.Note.Question)
		if err == nil && q.Closed {
			return "it was answered, or no agent waits any more", Outdated, nil
		}
		return "", "", ignoreNotFound(err)
	case e.Note.Kind == Offline:
		w, err := tx.Worker(e.Note.Worker)
		if err == nil && w.Seen.After(e.Note.Seen) {
			return "the worker has sent a heartbeat again", Outdated, nil
		}
		return "", "", ignoreNotFound(err)
	}
	return "", "", nil
}

// ignoreNotFound returns err, or nil if err is store.ErrNotFound.
func ignoreNotFound(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// storeResult stores the result of sending a message. It also ends this program's reservation of
// the channel, so that other programs can send over it.
func (b *channelState) storeResult(ctx context.Context, m nextAction, outcome error, now time.Time) error {
	return b.store.Write(ctx, func(tx *store.Tx) error {
		var s sender
		if _, err := get(tx, b.senderKey(), &s); err != nil {
			return err
		}
		if s.Holder == b.program {
			s.Until = time.Time{}
		}
		s.recordResult(outcome, now)
		for _, e := range m.entries {
			e.recordResult(outcome, now)
			if err := b.putEntry(tx, e); err != nil {
				return err
			}
		}
		return b.putSender(tx, s, now)
	})
}

// recordResult updates the stored state of sending over a channel, after a message was sent or
// could not be sent.
func (s *sender) recordResult(outcome error, now time.Time) {
	s.Sent = append(s.recentlySent(now), now)
	again, temporary := errors.AsType[*TemporaryError](outcome)
	if !temporary {
		s.Tries, s.Retry = 0, time.Time{}
		return
	}
	s.Tries++
	s.Retry = now.Add(min(max(backoff(s.Tries), again.After), maxBackoff))
}

func (e *entry) recordResult(outcome error, now time.Time) {
	_, temporary := errors.AsType[*TemporaryError](outcome)
	switch {
	case outcome == nil:
		e.State, e.Why, e.Ended = Sent, "", now
	case temporary:
		e.Why = line(outcome.Error(), maxText)
	default:
		e.State, e.Why, e.Ended = GivenUp, line(outcome.Error(), maxText), now
	}
}

// release ends this program's reservation of the channel, so that other programs can send over it.
// A program calls release if it stops after claim and before storeResult has succeeded.
func (b *channelState) release(ctx context.Context, now time.Time) error {
	return b.store.Write(ctx, func(tx *store.Tx) error {
		var s sender
		found, err := get(tx, b.senderKey(), &s)
		if err != nil || !found || s.Holder != b.program {
			return err
		}
		s.Until = time.Time{}
		return b.putSender(tx, s, now)
	})
}
