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

// follow executes what the engine orders for this attempt. The order o is part of the engine's
// answer to a heartbeat. sent is when that heartbeat was sent.
func (h *heldAttempt) follow(o engine.Order, sent time.Time) {
	switch {
	case o.Gone:
		h.lease.lose()
		h.stop(string(failure.Cancelled))
	case o.Stop != "" && (!o.Interrupt || h.attempt == nil):
		h.stop(o.Stop)
	}
	// The engine lists a message until a heartbeat has told it that the message was delivered. Once
	// the engine no longer lists a message, the worker need not report it as delivered any more.
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

// passStop tells the running attempt to stop, if the engine or the worker has ordered that. If the
// attempt is not running yet, runAttempt calls passStop again as soon as the attempt runs.
func (h *heldAttempt) passStop() {
	if h.stopReason != "" {
		why := h.stopReason
		h.inBackground(func(a *runner.Attempt) { a.Stop(why, false) })
	}
}

// passMessages passes the user's messages to the agent, and the order to interrupt its work if
// there is one. It does nothing if the attempt is not running. It also does nothing before the
// engine has answered the first heartbeat, because the worker does not know the waiting messages
// until then.
func (h *heldAttempt) passMessages() {
	if h.attempt != nil && h.ordered {
		h.attempt.Steer(h.messages, h.interrupt)
	}
}

// passLease tells the agent's supervisor when to freeze (suspend) the agent. It does nothing if the
// lease never ends and the supervisor already knows that.
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

// inBackground calls fn for the running attempt in a goroutine, so that the goroutine of
// [Worker.Run] does not wait for fn. It does nothing if the attempt is not running yet.
func (h *heldAttempt) inBackground(fn func(*runner.Attempt)) {
	if a := h.attempt; a != nil {
		h.worker.running.Go(func() { fn(a) })
	}
}
