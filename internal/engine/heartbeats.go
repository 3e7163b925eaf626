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
	Now     fleet.Progress // without a State there is no news
	Asking  []string       // ids of questions whose answers it waits for
	Dropped []string       // questions that the agent has withdrawn, by the agent's own ids
	// Delivered are the ids of messages that the agent's program has taken. Repeating an
	// id changes nothing.
	Delivered []string
}

// Order tells a worker what to do about an attempt that it holds.
type Order struct {
	Attempt string
	Stop    string           // why the worker must end it; empty if it may continue
	Gone    bool             // the attempt is no longer the worker's: end it without a report
	Answers []store.Question // the closed ones of the questions that the worker asked about
	Waits   bool             // it waits for a user; the worker may not see that if the agent asked by a tool of gaffer
	Lease   time.Duration    // how long the attempt stays valid without another heartbeat, from this one on; 0 if it is gone
	// Messages are the messages that wait for the agent, oldest first. They are repeated
	// until the worker reports that they were delivered.
	Messages []fleet.Message
	// Interrupt tells a worker that the user wants to interrupt the agent, which Stop
	// says too. An agent that can be interrupted ends its turn; others are stopped. The
	// conversation is kept.
	Interrupt bool
}

// Beat records that a worker and the attempts that it holds are alive. It returns what
// the worker must do about each attempt. Fields that the worker leaves empty keep their
// value. A change of what an agent is doing is not an event. The start of an agent is
// one, and so is a change of the data that a named worker reports about itself.
func (e *Engine) Beat(ctx context.Context, said store.Worker, held []HeldAttempt) (orders []Order, err error) {
	err = e.write(ctx, said.ID, func(tx *transaction) error {
		orders, err = tx.heartbeats.recordWorker(said, held)
		return err
	})
	return orders, err
}

// heartbeats records the heartbeats of workers that list their attempts.
type heartbeats struct {
	*txContext
	workers   *workers
	questions *questions
	messages  *messages
}

func (b *heartbeats) recordWorker(said store.Worker, held []HeldAttempt) (orders []Order, err error) {
	if err := b.workers.recordHeartbeat(said); err != nil {
		return nil, err
	}
	for _, h := range held { // a remote database loads all of them together
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

// applyProgress stores a worker's report in the attempt's row. A report that leaves out a part
// of the process does not change that part. LogFrom never changes.
func applyProgress(a *store.Attempt, now fleet.Progress) {
	if now.State == "" {
		return
	}
	was := a.Process
	a.Progress = now
	a.PID, a.Log, a.Thread = cmp.Or(now.PID, was.PID), cmp.Or(now.Log, was.Log), cmp.Or(now.Thread, was.Thread)
	a.LogFrom = cmp.Or(was.LogFrom, now.LogFrom)
}
