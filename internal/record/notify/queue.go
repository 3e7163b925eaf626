package notify

import (
	"slices"
	"time"
)

// Rules say when notes are told.
type Rules struct {
	Quiet     Quiet
	Questions bool // are held while it is quiet, like all else
	Burst     int  // how many messages are sent in a minute; more notes become one
}

// entry is a note that waits to be told over a channel, or was.
type entry struct {
	Note   Note      `json:"note"`
	Queued time.Time `json:"queued"`
	State  State     `json:"state"`
	Batch  string    `json:"batch,omitempty"` // the id of the message that it was sent with, perhaps
	Why    string    `json:"why,omitempty"`   // it was not told
	Ended  time.Time `json:"ended,omitzero"`
}

// State is where a note is on its way.
type State string

// The states.
const (
	Pending  State = "waiting"  // to be told
	Told     State = "told"     //
	GivenUp  State = "given up" // it could not be told
	Overtook State = "overtaken"
)

// sender is what programs on one store must agree on about a channel.
type sender struct {
	Holder string      `json:"holder,omitempty"` // who sends
	Until  time.Time   `json:"until,omitzero"`   // and how long that holds
	Tries  int         `json:"tries,omitempty"`  // in a row that went wrong
	Retry  time.Time   `json:"retry,omitzero"`   // nothing is sent before this
	Sent   []time.Time `json:"sent,omitempty"`   // the messages of the last minute
}

const (
	minute    = time.Minute
	lease     = 30 * time.Second // longer than a message may take
	firstWait = 5 * time.Second
	lastWait  = 5 * time.Minute
)

// move is what to do next: to send a message, or to wait.
type move struct {
	id      string
	entries []entry   // that the message is made of; none to send nothing
	wait    time.Time // when there may be something to do, if nobody queues more; zero for never
}

// message is what a receiver gets.
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

// next decides what to do about notes that wait, the oldest first. A message that
// was perhaps sent already is sent as it was, so that its receiver can tell.
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
	due = slices.DeleteFunc(due, func(e entry) bool { return e.Batch != "" }) // a part of it is still held
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

// holds reports whether an entry is not to be told at a time.
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

// lately are the messages of the last minute.
func (s sender) lately(now time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(s.Sent), func(t time.Time) bool { return now.Sub(t) >= minute || t.After(now.Add(minute)) })
}

// backoff is how long after so many failures in a row it is tried again.
func backoff(tries int) time.Duration {
	wait := firstWait
	for range tries - 1 {
		wait = min(3*wait, lastWait)
	}
	return wait
}
