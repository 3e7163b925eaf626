package engine

import (
	"cmp"
	"context"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
)

// HeldAttempt is a worker's report about an attempt that it is running.
type HeldAttempt struct {
	Attempt string
	Token   int64
	Now     fleet.Progress // progress of the agent; ignored if Now.State is empty
	Asking  []string       // ids of the questions whose answers the worker waits for
	// Dropped lists the questions that the agent has withdrawn, by the id that the agent gave to
	// each of them.
	Dropped []string
	// Delivered are the ids of the messages that the agent's program has received. A worker may
	// report the same id several times.
	Delivered []string
}

// Order says what a worker must do about an attempt that it is running.
type Order struct {
	Attempt string
	Stop    string // why the worker must end the attempt; empty if it may continue
	// Gone is set if the attempt no longer belongs to the worker. The worker must then end the
	// agent, and must not report the attempt's end.
	Gone    bool
	Answers []store.Question // questions of HeldAttempt.Asking that are closed, with their answers
	// Waits is set while the agent waits for a user. The worker does not know this by itself if the
	// agent asked with gaffer's MCP tool.
	Waits bool
	Lease time.Duration // how long the attempt stays valid after this heartbeat; 0 if Gone is set
	// Messages are the messages that the agent has not received, oldest first. Each heartbeat
	// returns them again until the worker reports that they were delivered.
	Messages []fleet.Message
	// Interrupt is set if the reason in Stop is a user's interrupt or a spent budget. The worker
	// then ends only the agent's current turn. If the agent does not support that, the worker stops
	// the agent. The conversation can be continued in both cases.
	Interrupt bool
	// Limit is what the attempt may spend. It changes when other attempts spend from the same
	// budget. Zero means no limit.
	Limit store.Amount
}

// Beat records a heartbeat of a worker. held are the attempts that the worker is running: Beat
// renews their leases, and returns what the worker must do about each of them. If a field of report
// is empty, the stored field of the worker stays, except for Task and Now, which Beat then clears.
// Beat appends an event when an agent has started. It appends no event if only the activity of an
// agent has changed.
func (e *Engine) Beat(ctx context.Context, report store.Worker, held []HeldAttempt) (orders []Order, err error) {
	err = e.write(ctx, report.ID, func(tx *transaction) error {
		orders, err = tx.heartbeats.recordWorker(report, held)
		return err
	})
	return orders, err
}

// heartbeats handles the heartbeats of workers that list their attempts in each heartbeat.
type heartbeats struct {
	*txContext
	workers   *workers
	questions *questions
	messages  *messages
	budgets   *budgets
}

func (b *heartbeats) recordWorker(report store.Worker, held []HeldAttempt) (orders []Order, err error) {
	if err := b.workers.recordHeartbeat(report); err != nil {
		return nil, err
	}
	// Look up all rows first, without handling errors, so that a remote database loads them in one
	// round trip.
	for _, h := range held {
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
	if err := b.budgets.follow(&a); err != nil {
		return Order{}, err
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
		Messages: waiting, Interrupt: a.StopReason == interrupted || a.StopReason == string(failure.OverBudget), Limit: a.Limit,
	}, nil
}

// applyProgress sets the progress of an attempt to the worker's report. It ignores a report without
// a State. PID, Log and Thread keep their values if they are empty in the report. LogFrom never
// changes once it is set.
func applyProgress(a *store.Attempt, report fleet.Progress) {
	if report.State == "" {
		return
	}
	was := a.Process
	a.Progress = report
	a.PID, a.Log, a.Thread = cmp.Or(report.PID, was.PID), cmp.Or(report.Log, was.Log), cmp.Or(report.Thread, was.Thread)
	a.LogFrom = cmp.Or(was.LogFrom, report.LogFrom)
}
