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

// The worker reports to the engine with heartbeats. Normally it sends one every maxBeatInterval. If
// it has something new to report, it sends the next one minBeatInterval after the last. If a lease
// is short, it sends heartbeats more often, see [beatTimer.wait].
const (
	maxBeatInterval = 15 * time.Second
	minBeatInterval = 100 * time.Millisecond
)

// minBeatTimeout is the shortest timeout of a heartbeat. The timeout is normally a quarter of the
// shortest lease. But if the worker was restarted, the lease may be almost over. A quarter of the
// remaining time would then be too short for the engine to answer.
const minBeatTimeout = time.Second

// A request that the engine does not answer is repeated after firstRetryPause, then after pauses
// that double up to maxRetryPause. For the pauses between heartbeats, see [beatTimer.ended].
const (
	firstRetryPause = 50 * time.Millisecond
	maxRetryPause   = 5 * time.Second
)

// beatTimer decides when the next heartbeat is due.
type beatTimer struct {
	last       time.Time     // when the last heartbeat was sent
	dirty      bool          // there is something new to report to the engine
	inFlight   bool          // a heartbeat was sent and not answered yet
	retryPause time.Duration // pause before the next try; 0 if the last heartbeat was answered
}

// wait returns how long to wait before the next heartbeat. shortest is the length of the shortest
// lease that must be renewed, or 0 if no lease expires.
func (b *beatTimer) wait(now time.Time, shortest time.Duration) time.Duration {
	every := maxBeatInterval
	if shortest > 0 {
		every = min(every, max(shortest/4, firstRetryPause))
	}
	switch {
	case b.inFlight:
		return time.Hour // do not send a second heartbeat now: the answer to the last one will wake Run
	case b.retryPause > 0:
		every = b.retryPause
	case b.dirty:
		every = min(every, minBeatInterval)
	}
	return max(every-now.Sub(b.last), 0)
}

// ended records that the last heartbeat was answered or has failed. shortest is the length of the
// shortest lease that must be renewed, or 0 if no lease expires.
func (b *beatTimer) ended(answered bool, shortest time.Duration) {
	b.inFlight = false
	if answered {
		b.retryPause = 0
		return
	}
	limit := maxRetryPause
	if shortest > 0 {
		limit = min(limit, max(shortest/8, firstRetryPause))
	}
	b.retryPause, b.dirty = min(max(2*b.retryPause, minBeatInterval), limit), true
}

// shortestLease returns the length of the shortest lease of the held attempts, or 0 if none of the
// leases expires.
func (w *Worker) shortestLease() (shortest time.Duration) {
	for _, h := range w.held {
		if length := h.lease.length(); length > 0 && (shortest == 0 || length < shortest) {
			shortest = length
		}
	}
	return shortest
}

// beat sends a heartbeat to the engine, with the current activity of the attempts. It does not wait
// for the answer. When the answer arrives, the goroutine of Run executes the orders in it.
func (w *Worker) beat(ctx context.Context) {
	sent := w.opts.Now()
	w.beatTimer.last, w.beatTimer.dirty, w.beatTimer.inFlight = sent, false, true
	self, list, shortest := w.describe(), make([]engine.HeldAttempt, 0, len(w.held)), w.shortestLease()
	for _, h := range w.held {
		list = append(list, h.report())
	}
	// Send the attempts in a fixed order. The iteration order of the map is random.
	slices.SortFunc(list, func(a, b engine.HeldAttempt) int { return strings.Compare(a.Attempt, b.Attempt) })
	w.running.Go(func() {
		orders, err := w.sendBeat(ctx, self, list, shortest)
		w.runInLoop(ctx, func() {
			w.beatTimer.ended(err == nil, shortest)
			for _, o := range orders {
				if h := w.held[o.Attempt]; h != nil {
					h.follow(o, sent)
				}
			}
		})
	})
}

// sendBeat sends one heartbeat. It has a timeout if a lease can expire, so that the worker can send
// another heartbeat before the lease ends. It also has a timeout if the worker has a name, so that
// the worker can send another heartbeat before users see it as offline.
func (w *Worker) sendBeat(ctx context.Context, self store.Worker, held []engine.HeldAttempt, shortest time.Duration) ([]engine.Order, error) {
	within, cancel := ctx, func() {}
	switch {
	case shortest > 0:
		within, cancel = context.WithTimeout(ctx, max(shortest/4, minBeatTimeout))
	case self.Name != "":
		within, cancel = context.WithTimeout(ctx, maxBeatInterval)
	}
	defer cancel()
	orders, err := w.opts.Engine.Beat(within, self, held)
	w.noteAnswer(ctx, "beat", err)
	return orders, err
}

// describe returns the worker's description of itself for the engine. A worker without a name is
// not shown to users, so it only reports its id and its number of slots.
func (w *Worker) describe() store.Worker {
	self := store.Worker{ID: w.opts.ID, Slots: w.opts.Slots}
	if w.opts.Name == "" {
		return self
	}
	labels := slices.Sorted(slices.Values(w.opts.Labels))
	about := w.opts.About
	about.Slots, about.Labels, about.Held, about.Source = w.opts.Slots, labels, len(w.held), "worker"
	if len(w.held) > 0 {
		about.Source = outputSource
	}
	self.Meta, _ = json.Marshal(about) // cannot fail: JSON can encode every field of about
	self.Name, self.Version, self.Labels = w.opts.Name, about.Version, strings.Join(labels, ",")
	self.Status, self.Task = w.status(), w.shownTask()
	return self
}

// shownTask returns the id of the task that users see for the worker. Tasks that wait for the user
// come first, then those with older attempts. The result is "" if the worker holds no attempt.
func (w *Worker) shownTask() string {
	var shown *heldAttempt
	for _, h := range w.held {
		if shown == nil || h.waitsForUser() && !shown.waitsForUser() || h.waitsForUser() == shown.waitsForUser() && h.Attempt.ID < shown.Attempt.ID {
			shown = h
		}
	}
	if shown == nil {
		return ""
	}
	return shown.Task.Run + "." + shown.Task.Task // the form of a task's id in the coordinator protocol
}

func (h *heldAttempt) waitsForUser() bool { return h.now.State == string(agent.Waiting) }

// status returns one status for the whole worker: waiting if one of its agents waits for the user,
// or else running if the worker holds an attempt, or else idle.
func (w *Worker) status() string {
	status := "idle"
	for _, h := range w.held {
		if h.waitsForUser() {
			return string(agent.Waiting)
		}
		status = string(agent.Running)
	}
	return status
}
