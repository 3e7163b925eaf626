package engine

import (
	"cmp"
	"context"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine/store"
)

// HeldAttempt is an attempt that a worker reports as running on it.
type HeldAttempt struct {
	Attempt string
	Token   int64
	Now     fleet.Progress // what the agent is doing; ignored if State is empty
	Asking  []string       // ids of the questions whose answers the worker wants
	Dropped []string       // questions that the agent has withdrawn, by the agent's own ids
	// Delivered are the ids of messages that the agent's program has received. Repeating
	// an id changes nothing.
	Delivered []string
}

// Order says what a worker must do about an attempt that it holds.
type Order struct {
	Attempt string
	Stop    string           // why the worker must end the attempt; empty if it may continue
	Gone    bool             // the worker no longer holds the attempt: it must end the agent and not report the end
	Answers []store.Question // those questions in HeldAttempt.Asking that are closed
	Waits   bool             // the agent waits for a user; a worker does not see this itself if the agent asked with gaffer's MCP tool
	Lease   time.Duration    // how long the attempt stays valid after this heartbeat; 0 if Gone is set
	// Messages are the messages that the agent has not received, oldest first. They are
	// repeated until the worker reports that they were delivered.
	Messages []fleet.Message
	// Interrupt is set if Stop is a user's interrupt. If the agent supports it, the worker
	// ends only the agent's current turn; otherwise it stops the agent. The conversation
	// can be continued in both cases.
	Interrupt bool
}

// Beat records a heartbeat of a worker and of the attempts that it holds. It returns what
// the worker must do about each attempt. Empty fields of the report keep their stored
// value. Beat appends events when an agent has started, and when a named worker has
// changed the data about itself. It appends no event when only an agent's activity has
// changed.
func (e *Engine) Beat(ctx context.Context, report store.Worker, held []HeldAttempt) (orders []Order, err error) {
	err = e.write(ctx, report.ID, func(tx *transaction) error {
		orders, err = tx.heartbeats.recordWorker(report, held)
		return err
	})
	return orders, err
}

// heartbeats records the heartbeats of workers that list their attempts in each one.
type heartbeats struct {
	*txContext
	workers   *workers
	questions *questions
	messages  *messages
}

func (b *heartbeats) recordWorker(report store.Worker, held []HeldAttempt) (orders []Order, err error) {
	if err := b.workers.recordHeartbeat(report); err != nil {
		return nil, err
	}
	for _, h := range held { // request all rows first, so that a remote database loads them in one round trip
		_, _ = b.Attempt(h.Attempt)
	}
	for _, h := range held {
		order, err := b.recordAttempt(h)
		if err != nil {
			return nil, err
		}
		orders = append(orders, order)
	}
	return orders, nil
}

func (b *heartbeats) recordAttempt(h HeldAttempt) (Order, error) {
	a, err := b.ownedAttempt(h.Attempt, h.Token)
	if isGone(err) {
		return Order{Attempt: h.Attempt, Gone: true}, nil
	}
	if err != nil {
		return Order{}, err
	}
	a.Lease = b.leaseEnd(b.now)
	started := a.PID == 0 && h.Now.PID != 0
	applyProgress(&a, h.Now)
	if err := b.messages.deliver(a, h.Delivered); err != nil {
		return Order{}, err
	}
	var waiting []fleet.Message
	if a.HasMessages {
		if waiting, err = b.messages.waiting(a.Key()); err != nil {
			return Order{}, err
		}
		a.HasMessages = len(waiting) > 0
	}
	b.PutAttempt(a)
	if started {
		if err := b.attemptEvent("attempt.started", a, ""); err != nil {
			return Order{}, err
		}
	}
	if err := b.recordCompactions(a, h.Now); err != nil {
		return Order{}, err
	}
	if err := b.questions.withdraw(a.ID, h.Dropped); err != nil {
		return Order{}, err
	}
	answers, err := b.questions.answers(h.Asking)
	if err != nil {
		return Order{}, err
	}
	if err := b.questions.endWaitIfAnswered(&a); err != nil {
		return Order{}, err
	}
	return Order{
		Attempt: a.ID, Stop: a.StopReason, Answers: answers, Waits: !a.WaitingSince.IsZero(), Lease: Remaining(a, b.now),
		Messages: waiting, Interrupt: a.StopReason == interrupted,
	}, nil
}

// applyProgress sets an attempt's progress to the worker's report. PID, Log and Thread
// keep their values if the report leaves them empty. LogFrom is set only once.
func applyProgress(a *store.Attempt, now fleet.Progress) {
	if now.State == "" {
		return
	}
	was := a.Process
	a.Progress = now
	a.PID, a.Log, a.Thread = cmp.Or(now.PID, was.PID), cmp.Or(now.Log, was.Log), cmp.Or(now.Thread, was.Thread)
	a.LogFrom = cmp.Or(was.LogFrom, now.LogFrom)
}
