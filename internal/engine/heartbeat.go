package engine

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"time"

	"gaffer/internal/engine/store"
)

// Heartbeat writes down that a worker was heard of, by the clock of the engine,
// and what it says of itself: its Name, Status, Task, Meta and Version. What is
// empty stays as it was, but for Task. The leases of the attempts that it was
// given by [Step.Claim] go on. One that was not there before is Owner's, and one
// that has Left comes back unless it says that it has. That
// something but a time has changed is an event.
func (s *Step) Heartbeat(said store.Worker) (store.Worker, error) { return s.c.heartbeat(said) }

func (c *change) heartbeat(said store.Worker) (store.Worker, error) {
	before, w, err := c.heard(said)
	if err != nil {
		return w, err
	}
	if w.Created.IsZero() {
		w.Created = c.now
	}
	w.Left = said.Left
	if w.Holds, err = c.extendLeases(w); err != nil {
		return w, err
	}
	return c.putWorker(before, w)
}

// appear writes down that a worker was heard of which names the attempts that it
// holds. One that has no name is nobody's agent, and no news.
func (c *change) appear(said store.Worker) error {
	before, w, err := c.heard(said)
	if err != nil {
		return err
	}
	if w.Name == "" {
		c.PutWorker(w)
		return nil
	}
	if w.Created.IsZero() {
		w.Created = c.now
	}
	if !w.Left.IsZero() && c.goesOn(w.ID) {
		w.Left = time.Time{}
	}
	_, err = c.putWorker(before, w)
	return err
}

// goesOn reports whether a run has not ended, or not for good.
func (c *change) goesOn(run string) bool {
	row, err := c.Run(run)
	return err == nil && !row.Status.Final()
}

// leave writes down that the worker of a run which has ended is no more: it worked
// for no other. It may still say a last word.
func (c *change) leave(run store.Run) error {
	if run.Place != run.ID {
		return nil // others may come
	}
	before, err := c.Worker(run.Place)
	if errors.Is(err, store.ErrNotFound) || before.Name == "" {
		return nil // nobody has seen it
	}
	if err != nil {
		return err
	}
	w := before
	w.Left = c.now
	_, err = c.putWorker(before, w)
	return err
}

// heard returns a worker as it was and as it is after it has said something.
func (c *change) heard(said store.Worker) (before, w store.Worker, err error) {
	before, err = c.Worker(said.ID)
	w = before
	switch {
	case errors.Is(err, store.ErrNotFound):
		w = store.Worker{ID: said.ID, Owner: said.Owner, Holder: said.Holder}
	case err != nil:
		return before, w, err
	case w.Holder == "" && w.Owner == said.Owner:
		w.Holder = said.Holder // the row is older than this field
	}
	w.Seen, w.Task = c.now, said.Task
	w.Name, w.Version = cmp.Or(said.Name, w.Name), cmp.Or(said.Version, w.Version)
	w.Labels, w.Slots = cmp.Or(said.Labels, w.Labels), cmp.Or(said.Slots, w.Slots)
	if said.Status != "" {
		w.Status, w.Said = said.Status, c.now
	}
	if said.Meta != nil {
		w.Meta = said.Meta
	}
	return before, w, nil
}

// Unseen sets back when a worker was last heard of, because it says that it stops.
// Whoever shows it computes from that time alone whether it is online, programs of
// others too.
func (s *Step) Unseen(id string, seen time.Time) error {
	w, err := s.c.Worker(id)
	if err != nil {
		return missing(err, "worker", id)
	}
	w.Seen, w.Updated = seen, s.c.now
	s.c.PutWorker(w)
	return s.c.event(store.Event{Kind: "worker.changed", From: w.Status, To: w.Status}, w)
}

// Subscribe says which channels a worker takes tasks from.
func (s *Step) Subscribe(id string, channels []string) (store.Worker, error) {
	before, err := s.c.Worker(id)
	if err != nil {
		return before, missing(err, "worker", id)
	}
	w := before
	w.Channels = channels
	return s.c.putWorker(before, w)
}

// putWorker puts a worker, and tells of it if something but a time has changed.
func (c *change) putWorker(before, w store.Worker) (store.Worker, error) {
	if sameButTimes(&before, &w) {
		c.PutWorker(w)
		return w, nil
	}
	w.Updated = c.now
	c.PutWorker(w)
	return w, c.event(store.Event{Kind: "worker.changed", From: before.Status, To: w.Status}, w)
}

// sameButTimes reports whether two forms of a worker say the same to others.
func sameButTimes(a, b *store.Worker) bool {
	return a.ID == b.ID && a.Name == b.Name && a.Labels == b.Labels && a.Slots == b.Slots && a.Status == b.Status && a.Task == b.Task &&
		bytes.Equal(a.Meta, b.Meta) && a.Version == b.Version && a.Owner == b.Owner && a.Holder == b.Holder && slices.Equal(a.Channels, b.Channels) &&
		a.Created.Equal(b.Created) && a.Left.IsZero() == b.Left.IsZero()
}

// extendLeases extends the leases of the attempts that a worker holds, and
// returns those: of the ones that it was given, some have ended since.
func (c *change) extendLeases(w store.Worker) (held []string, err error) {
	for _, id := range w.Holds {
		a, err := c.Attempt(id)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		if a.Status != store.Running { // or it has ended long ago, and is gone
			continue
		}
		a.Lease = c.lease(c.now)
		c.PutAttempt(a)
		held = append(held, id)
	}
	return held, nil
}

// give notes in a worker's row that it was given an attempt. What the worker says
// of itself stays as it is.
func (c *change) give(worker, attempt string) error {
	w, err := c.Worker(worker)
	if err != nil {
		return missing(err, "worker", worker)
	}
	holds := []string{}
	for _, id := range w.Holds {
		a, err := c.Attempt(id)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if a.Status == store.Running {
			holds = append(holds, id)
		}
	}
	w.Holds = append(holds, attempt)
	c.PutWorker(w)
	return nil
}
