package worker

import (
	"fmt"
	"slices"
	"time"

	"gaffer/fleet"
	"gaffer/internal/attempt/runner"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
)

// follow executes the orders for this attempt in the engine's answer to a heartbeat. sent is when
// the heartbeat was sent.
func (h *heldAttempt) follow(o engine.Order, sent time.Time) {
	switch {
	case o.Gone:
		h.lease.lose()
		h.stop(string(failure.Cancelled))
	case o.Stop != "" && (!o.Interrupt || h.attempt == nil):
		h.stop(o.Stop)
	}
	// Forget a delivered message as soon as the engine no longer lists it as waiting.
	h.delivered = slices.DeleteFunc(h.delivered, func(id string) bool {
		return !slices.ContainsFunc(o.Messages, func(m fleet.Message) bool { return m.ID == id })
	})
	if slices.ContainsFunc(o.Messages, func(m fleet.Message) bool { return m.Round > 0 }) {
		h.sentBack.Store(true)
	}
	h.messages, h.interrupt, h.ordered = o.Messages, o.Interrupt, true
	h.passMessages()
	if h.attempt != nil {
		h.attempt.SetLimit(o.Limit)
	}
	if o.Lease > 0 && h.lease.renew(o.Lease, sent) {
		h.passLease()
	}
	if o.Waits != h.orderedWaiting {
		h.orderedWaiting = o.Waits
		h.inBackground(func(a *runner.Attempt) { a.Wait(o.Waits) })
	}
	for _, q := range o.Answers {
		asked, waiting := h.questions[q.ID]
		if !waiting {
			continue
		}
		delete(h.questions, q.ID)
		h.inBackground(func(a *runner.Attempt) { a.Answer(asked, answerOf(q)) })
	}
}

func (h *heldAttempt) stop(why string) {
	if h.stopReason == "" {
		h.stopReason = why
		close(h.stopping)
		h.passStop()
	}
}

// passStop passes a stop order to the running attempt. If the attempt is not running yet,
// runAttempt calls passStop again as soon as the attempt runs.
func (h *heldAttempt) passStop() {
	if h.stopReason != "" {
		why := h.stopReason
		h.inBackground(func(a *runner.Attempt) { a.Stop(why, false) })
	}
}

// passMessages passes the user's messages and an interrupt to the agent, if the attempt is running.
// It does nothing before the first order of the engine, because the waiting messages are not known
// until then.
func (h *heldAttempt) passMessages() {
	if h.attempt != nil && h.ordered {
		h.attempt.Steer(h.messages, h.interrupt)
	}
}

// passLease tells the agent's supervisor when to freeze the agent. It does nothing if the agent's
// lease had no end before and has none now.
func (h *heldAttempt) passLease() {
	freezeAt := h.lease.freezeAt()
	if h.endless && freezeAt.IsZero() {
		return
	}
	h.endless = freezeAt.IsZero()
	h.inBackground(func(a *runner.Attempt) {
		if err := a.Extend(freezeAt); err != nil {
			h.worker.opts.Notice(fmt.Sprintf("task %s: %v", h.Task.Task, err))
		}
	})
}

// inBackground calls fn with the running attempt in a goroutine, so that the worker's loop does not
// wait for fn. It does nothing if the attempt is not running yet.
func (h *heldAttempt) inBackground(fn func(*runner.Attempt)) {
	if a := h.attempt; a != nil {
		h.worker.running.Go(func() { fn(a) })
	}
}
