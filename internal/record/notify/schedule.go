package notify

import (
	"slices"
	"time"
)

// Rules says when notifications are sent.
type Rules struct {
	Quiet         QuietHours
	HoldQuestions bool // hold questions during quiet hours too
	Burst         int  // maximum number of messages per minute; further notifications are combined into one message
}

const (
	minute     = time.Minute
	minBackoff = 5 * time.Second
	maxBackoff = 5 * time.Minute
)

// nextAction is what to do next: send a message, or wait.
type nextAction struct {
	id      string
	entries []entry   // content of the message; empty to send nothing
	wait    time.Time // when to check again if nothing is queued; zero for never
}

// message returns the notification that the receiver gets.
func (m nextAction) message() Note {
	if len(m.entries) == 1 {
		return m.entries[0].Note
	}
	notes := make([]Note, len(m.entries))
	for i, e := range m.entries {
		notes[i] = e.Note
	}
	return digest(m.id, notes)
}

// next decides what to send. open are the queued notifications, oldest first. A message
// that may already have been sent is repeated unchanged, so that its receiver recognizes
// the id.
func next(now time.Time, open []entry, s sender, r Rules) nextAction {
	if len(open) == 0 {
		return nextAction{}
	}
	if s.Retry.After(now) {
		return nextAction{wait: s.Retry}
	}
	due := slices.DeleteFunc(slices.Clone(open), func(e entry) bool { return r.delays(e, now) })
	for _, e := range due {
		if e.Batch == "" {
			continue
		}
		if again := entriesOfBatch(open, e.Batch); len(again) == len(entriesOfBatch(due, e.Batch)) {
			return nextAction{id: e.Batch, entries: again}
		}
	}
	due = slices.DeleteFunc(due, func(e entry) bool { return e.Batch != "" }) // wait until the whole batch may be sent
	if len(due) == 0 {
		return nextAction{wait: r.Quiet.End(now)}
	}
	sent := s.recentlySent(now)
	room := r.Burst - len(sent)
	if room <= 0 {
		return nextAction{wait: sent[len(sent)-r.Burst].Add(minute)}
	}
	held := slices.DeleteFunc(slices.Clone(due), func(e entry) bool { return !r.delays(e, e.Queued) })
	switch {
	case len(held) > 1:
		return combine(held)
	case len(due) > room:
		return combine(due)
	}
	return combine(due[:1])
}

// delays reports whether quiet hours delay an entry at a time.
func (r Rules) delays(e entry, at time.Time) bool {
	return r.Quiet.Contains(at) && (r.HoldQuestions || e.Note.Kind != Waiting)
}

func entriesOfBatch(list []entry, id string) []entry {
	return slices.DeleteFunc(slices.Clone(list), func(e entry) bool { return e.Batch != id })
}

func combine(list []entry) nextAction {
	if len(list) == 1 {
		return nextAction{id: list[0].Note.ID, entries: list}
	}
	ids := []string{string(Digest)}
	for _, e := range list {
		ids = append(ids, e.Note.ID)
	}
	return nextAction{id: idOf(ids...), entries: list}
}

// recentlySent returns when messages were sent in the last minute.
func (s sender) recentlySent(now time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(s.Sent), func(t time.Time) bool { return now.Sub(t) >= minute || t.After(now.Add(minute)) })
}

// backoff returns the time to wait after a number of consecutive failures.
func backoff(tries int) time.Duration {
	wait := minBackoff
	for range tries - 1 {
		wait = min(3*wait, maxBackoff)
	}
	return wait
}
