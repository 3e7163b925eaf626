package worker

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"gaffer/internal/attempt/agent"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
)

// beatEvery is how often a worker tells that it is alive, at the least; sayEvery
// how soon it tells what is new.
const (
	beatEvery = 15 * time.Second
	sayEvery  = 100 * time.Millisecond
)

// What remains of a lease that was taken over may be next to nothing. A beat still has
// leastTime to be answered, and is not made more often than a request that was not.
const leastTime = time.Second

// Requests that are not answered are made again after firstPause, then after longer
// and longer ones.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 5 * time.Second
)

// beats says when the next beat is due.
type beats struct {
	last   time.Time     // when the last was begun
	dirty  bool          // there is something to say
	under  bool          // one is under way
	failed time.Duration // how long to wait because the last was not answered; 0 if it was
}

// wait is how long there is nothing to tell. shortest is the shortest lease that is
// to go on, 0 if none ever ends.
func (b *beats) wait(now time.Time, shortest time.Duration) time.Duration {
	every := beatEvery
	if shortest > 0 {
		every = min(every, max(shortest/4, firstPause))
	}
	switch {
	case b.under:
		return time.Hour // its end is news
	case b.failed > 0:
		every = b.failed
	case b.dirty:
		every = min(every, sayEvery)
	}
	return max(every-now.Sub(b.last), 0)
}

// ended takes in how a beat went.
func (b *beats) ended(answered bool, shortest time.Duration) {
	b.under = false
	if answered {
		b.failed = 0
		return
	}
	limit := lastPause
	if shortest > 0 {
		limit = min(limit, max(shortest/8, firstPause))
	}
	b.failed, b.dirty = min(max(2*b.failed, sayEvery), limit), true
}

// shortest is the shortest lease of what the worker holds, 0 if none ever ends.
func (w *Worker) shortest() (shortest time.Duration) {
	for _, h := range w.held {
		if length := h.lease.length(); length > 0 && (shortest == 0 || length < shortest) {
			shortest = length
		}
	}
	return shortest
}

// beat tells that the worker is alive and what its attempts do, and does what
// it is told. It does not wait for that.
func (w *Worker) beat(ctx context.Context) {
	sent := w.opts.Now()
	w.beats.last, w.beats.dirty, w.beats.under = sent, false, true
	said, list, shortest := w.self(), make([]engine.Held, 0, len(w.held)), w.shortest()
	for _, h := range w.held {
		list = append(list, h.report())
	}
	slices.SortFunc(list, func(a, b engine.Held) int { return strings.Compare(a.Attempt, b.Attempt) }) // the first is shown
	w.running.Go(func() {
		orders, err := w.say(ctx, said, list, shortest)
		w.tell(ctx, func() {
			w.beats.ended(err == nil, shortest)
			for _, o := range orders {
				if h := w.held[o.Attempt]; h != nil {
					h.follow(o, sent)
				}
			}
		})
	})
}

// say gives one beat up in time for another, before a lease ends or others take us
// for gone. Without a lease or a name neither can be.
func (w *Worker) say(ctx context.Context, said store.Worker, held []engine.Held, shortest time.Duration) ([]engine.Order, error) {
	within, cancel := ctx, func() {}
	switch {
	case shortest > 0:
		within, cancel = context.WithTimeout(ctx, max(shortest/4, leastTime))
	case said.Name != "":
		within, cancel = context.WithTimeout(ctx, beatEvery)
	}
	defer cancel()
	orders, err := w.opts.Engine.Beat(within, said, held)
	w.heard(ctx, "beat", err)
	return orders, err
}

// self is what the worker says of itself. One that has no name says nothing.
func (w *Worker) self() store.Worker {
	said := store.Worker{ID: w.opts.ID, Slots: w.opts.Slots}
	if w.opts.Name == "" {
		return said
	}
	labels := slices.Sorted(slices.Values(w.opts.Labels))
	about := w.opts.About
	about.Slots, about.Labels, about.Held, about.Source = w.opts.Slots, labels, len(w.held), "worker"
	if len(w.held) > 0 {
		about.Source = outputSource
	}
	said.Meta, _ = json.Marshal(about) // texts and numbers can always be JSON
	said.Name, said.Version, said.Labels = w.opts.Name, about.Version, strings.Join(labels, ",")
	said.Status, said.Task = w.status(), w.current()
	return said
}

// current is the task that the worker shows: one that waits for a person, or else
// the one that it has had for longest.
func (w *Worker) current() string {
	var shown *heldAttempt
	for _, h := range w.held {
		if shown == nil || h.waits() && !shown.waits() || h.waits() == shown.waits() && h.Attempt.ID < shown.Attempt.ID {
			shown = h
		}
	}
	if shown == nil {
		return ""
	}
	return shown.Task.Run + "." + shown.Task.Task // its id in the coordinator's protocol
}

func (h *heldAttempt) waits() bool { return h.now.State == string(agent.Waiting) }

// status is what the worker's agents do together.
func (w *Worker) status() string {
	status := "idle"
	for _, h := range w.held {
		if h.waits() {
			return string(agent.Waiting)
		}
		status = string(agent.Running)
	}
	return status
}
