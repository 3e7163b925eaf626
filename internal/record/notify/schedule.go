package notify

import (
	"slices"
	"time"
)

// Rules says when notifications are sent.
type Rules struct {
	Quiet     Quiet
	Questions bool // hold questions during quiet hours too
	Burst     int  // maximum messages per minute; more notifications are combined into one message
}

const (
	minute    = time.Minute
	firstWait = 5 * time.Second
	lastWait  = 5 * time.Minute
)

// move is the next action: send a message, or wait.
type move struct {
	id      string
	entries []entry   // content of the message; empty to send nothing
	wait    time.Time // when to check again if nothing is queued; zero for never
}

// message returns what the receiver gets.
func (m move) message() Note {
	if len(m.entries) == 1 {
		return m.entries[0].Note
	}
	notes := make([]Note, len(m.entries))
	for i, e := range m.entries {
		notes[i] = e.Note
	}
	return digest(m.id, notes)
}

// next decides what to do about the queued notifications, which are sorted oldest
// first. A message that may already have been sent is repeated unchanged, so that its
// receiver recognizes it by its id.
func next(now time.Time, open []entry, s sender, r Rules) move {
	if len(open) == 0 {
		return move{}
	}
	if s.Retry.After(now) {
		return move{wait: s.Retry}
	}
	due := slices.DeleteFunc(slices.Clone(open), func(e entry) bool { return r.holds(e, now) })
	for _, e := range due {
		if e.Batch == "" {
			continue
		}
		if again := batch(open, e.Batch); len(again) == len(batch(due, e.Batch)) {
			return move{id: e.Batch, entries: again}
		}
	}
	due = slices.DeleteFunc(due, func(e entry) bool { return e.Batch != "" }) // a part of its batch is still held
	if len(due) == 0 {
		return move{wait: r.Quiet.End(now)}
	}
	sent := s.lately(now)
	room := r.Burst - len(sent)
	if room <= 0 {
		return move{wait: sent[len(sent)-r.Burst].Add(minute)}
	}
	held := slices.DeleteFunc(slices.Clone(due), func(e entry) bool { return !r.holds(e, e.Queued) })
	switch {
	case len(held) > 1:
		return together(held)
	case len(due) > room:
		return together(due)
	}
	return together(due[:1])
}

// holds reports whether quiet hours hold back an entry at a time.
func (r Rules) holds(e entry, at time.Time) bool {
	return r.Quiet.Holds(at) && (r.Questions || e.Note.Kind != Waiting)
}

func batch(list []entry, id string) []entry {
	return slices.DeleteFunc(slices.Clone(list), func(e entry) bool { return e.Batch != id })
}

func together(list []entry) move {
	if len(list) == 1 {
		return move{id: list[0].Note.ID, entries: list}
	}
	ids := []string{string(Digest)}
	for _, e := range list {
		ids = append(ids, e.Note.ID)
	}
	return move{id: idOf(ids...), entries: list}
}

// lately returns the times of the messages in the last minute.
func (s sender) lately(now time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(s.Sent), func(t time.Time) bool { return now.Sub(t) >= minute || t.After(now.Add(minute)) })
}

// backoff returns the wait after a number of consecutive failures.
func backoff(tries int) time.Duration {
	wait := firstWait
	for range tries - 1 {
		wait = min(3*wait, lastWait)
	}
	return wait
}
