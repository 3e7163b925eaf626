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

// beatEvery is the maximum interval between heartbeats. sayEvery is the minimum
// interval, used when there is something new to report.
const (
	beatEvery = 15 * time.Second
	sayEvery  = 100 * time.Millisecond
)

// leastTime is the minimum timeout of a heartbeat, because an adopted lease may be
// almost over. For the same reason the interval between heartbeats is at least
// firstPause.
const leastTime = time.Second

// An unanswered request is repeated after firstPause, then after pauses that double up
// to lastPause.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 5 * time.Second
)

// beats decides when the next heartbeat is due.
type beats struct {
	last   time.Time     // when the last heartbeat was sent
	dirty  bool          // there is something new to report
	under  bool          // a heartbeat is in flight
	failed time.Duration // pause because the last heartbeat was not answered; 0 if it was
}

// wait returns how long to wait before the next heartbeat. shortest is the shortest
// lease that must be renewed; 0 if no lease ends.
func (b *beats) wait(now time.Time, shortest time.Duration) time.Duration {
	every := beatEvery
	if shortest > 0 {
		every = min(every, max(shortest/4, firstPause))
	}
	switch {
	case b.under:
		return time.Hour // its end arrives as news
	case b.failed > 0:
		every = b.failed
	case b.dirty:
		every = min(every, sayEvery)
	}
	return max(every-now.Sub(b.last), 0)
}

// ended records whether a heartbeat was answered.
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

// shortest returns the shortest lease of the held attempts; 0 if no lease ends.
func (w *Worker) shortest() (shortest time.Duration) {
	for _, h := range w.held {
		if length := h.lease.length(); length > 0 && (shortest == 0 || length < shortest) {
			shortest = length
		}
	}
	return shortest
}

// beat sends a heartbeat with the activity of the attempts, and follows the orders in
// the answer. It does not wait for the answer.
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

// say sends one heartbeat. Its timeout leaves time for another one before a lease ends
// or the worker counts as offline. There is no timeout if no lease ends and the worker
// has no name.
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

// self returns the worker's description of itself. A worker without a name only
// reports its id and slots.
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
	said.Meta, _ = json.Marshal(about) // strings and numbers always marshal
	said.Name, said.Version, said.Labels = w.opts.Name, about.Version, strings.Join(labels, ",")
	said.Status, said.Task = w.status(), w.current()
	return said
}

// current returns the task that is shown for the worker: one that waits for the user,
// otherwise the oldest.
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
	return shown.Task.Run + "." + shown.Task.Task // its id in the coordinator protocol
}

func (h *heldAttempt) waits() bool { return h.now.State == string(agent.Waiting) }

// status returns the combined status of the worker's agents.
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
