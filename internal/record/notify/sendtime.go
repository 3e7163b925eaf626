package notify

import (
	"slices"
	"time"
)

// Rules says when notifications may be sent.
type Rules struct {
	Quiet         QuietHours
	HoldQuestions bool // quiet hours also hold back notifications about agents' questions
	// Burst is the maximum number of messages per minute. If there are more notifications, several
	// are combined in one message.
	Burst int
}

const (
	minute     = time.Minute
	minBackoff = 5 * time.Second
	maxBackoff = 5 * time.Minute
)

// nextAction says what a sender does next: send a message, or wait.
type nextAction struct {
	id      string
	entries []entry   // notifications to send in one message; empty means wait
	wait    time.Time // when to check again; zero if nothing is queued
}

// message returns the notification that the receiver gets: a single notification, or a digest of
// several.
func (m nextAction) message() Notification {
	if len(m.entries) == 1 {
		return m.entries[0].Note
	}
	notes := make([]Notification, len(m.entries))
	for i, e := range m.entries {
		notes[i] = e.Note
	}
	return digest(m.id, notes)
}

// next decides what to send at the time now. The parameter open holds the queued notifications,
// oldest first. If sending a message was interrupted or has failed temporarily, the message may
// have arrived all the same. So next returns this message again with the same id and content, and
// the receiver can recognize the duplicate.
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
	// Leave out notifications of a message that may already have arrived. That message is sent
	// again unchanged, as soon as the rules allow all of its notifications.
	due = slices.DeleteFunc(due, func(e entry) bool { return e.Batch != "" })
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

// delays reports whether the quiet hours hold back a notification at the time t.
func (r Rules) delays(e entry, t time.Time) bool {
	return r.Quiet.Contains(t) && (r.HoldQuestions || e.Note.Kind != Waiting)
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

// recentlySent returns the times at which messages were sent in the last minute.
func (s sender) recentlySent(now time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(s.Sent), func(t time.Time) bool { return now.Sub(t) >= minute || t.After(now.Add(minute)) })
}

// backoff returns how long to wait before the next try. tries is the number of tries in a row that
// have failed.
func backoff(tries int) time.Duration {
	wait := minBackoff
	for range tries - 1 {
		wait = min(3*wait, maxBackoff)
	}
	return wait
}
