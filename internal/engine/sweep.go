package engine

import (
	"context"
	"time"

	"gaffer/internal/failure"
	"gaffer/internal/store"
)

// Held is an attempt that a worker says it runs.
type Held struct {
	Attempt string
	Token   int64
}

// Order is what a worker must know about an attempt that it holds.
type Order struct {
	Attempt string
	Stop    string // why it is to be ended; empty if it may go on
	Gone    bool   // the attempt is not the worker's any more: end it and say nothing
}

// Beat tells that a worker and the attempts it holds are alive, and returns what
// the worker must do about each. It is no event: it changes nothing but times.
func (e *Engine) Beat(ctx context.Context, w store.Worker, held []Held) (orders []Order, err error) {
	need := store.Need{}
	for _, h := range held {
		need.Attempts = append(need.Attempts, h.Attempt)
	}
	err = e.write(ctx, w.ID, need, func(c *change) error {
		w.Seen = c.now
		c.PutWorker(w)
		orders = nil
		for _, h := range held {
			orders = append(orders, c.beat(h))
		}
		return nil
	})
	return orders, err
}

func (c *change) beat(h Held) Order {
	a, err := c.owned(h.Attempt, h.Token)
	if err != nil {
		return Order{Attempt: h.Attempt, Gone: true}
	}
	a.Lease = c.now.Add(c.engine.opts.Lease)
	c.PutAttempt(a)
	return Order{Attempt: a.ID, Stop: a.Stop}
}

// sweepAtOnce is how much one sweep takes on.
const sweepAtOnce = 100

// Sweep does what time alone brings about: it gives up attempts whose worker
// has not been heard of, asks for the end of those past their deadline, answers
// questions that nobody has, opens lanes, and readies tasks whose time has come.
// It reports whether there may be more.
func (e *Engine) Sweep(ctx context.Context) (more bool, err error) {
	err = e.write(ctx, "sweep", store.Need{}, func(c *change) error {
		more = false
		for _, sweep := range []func() (int, error){c.sweepAttempts, c.sweepQuestions, c.sweepLanes, c.sweepDelayed} {
			n, err := sweep()
			if err != nil {
				return err
			}
			more = more || n >= sweepAtOnce
		}
		return nil
	})
	return more, err
}

func (c *change) sweepAttempts() (int, error) {
	due, err := c.Due(c.now, sweepAtOnce)
	if err != nil {
		return 0, err
	}
	for _, a := range due {
		if err := c.sweepAttempt(a); err != nil {
			return 0, err
		}
	}
	return len(due), nil
}

func (c *change) sweepAttempt(a store.Attempt) error {
	if a.Lease.Before(c.now) {
		a.Summary = "the worker was not heard of for " + c.engine.opts.Lease.String()
		_, err := c.end(a, failure.Lost)
		return err
	}
	if a.Stop == "" {
		a.Stop = string(failure.TimedOut)
	}
	a.Deadline = time.Time{} // it is known now
	c.PutAttempt(a)
	return c.event(store.Event{Kind: "attempt.stopping", Run: a.Run, Task: a.Task, Attempt: a.ID, Why: "its deadline has passed"}, a)
}

func (c *change) sweepQuestions() (int, error) {
	expired, err := c.Expired(c.now, sweepAtOnce)
	if err != nil {
		return 0, err
	}
	for _, q := range expired {
		if err := c.answer(q, q.Default); err != nil {
			return 0, err
		}
	}
	return len(expired), nil
}

// pause lets nothing start in a lane until a time. Tasks of runs with a limit
// make room for those of other lanes.
func (c *change) pause(lane string, until time.Time) error {
	if until.Before(c.now) {
		until = c.now.Add(time.Minute) // a limit that does not say when it ends
	}
	l := store.Lane{Name: lane, Until: until, Reason: string(failure.RateLimited)}
	c.PutLane(l)
	if err := c.event(store.Event{Kind: "lane.paused", Why: "rate limit until " + until.UTC().Format(time.RFC3339)}, l); err != nil {
		return err
	}
	return c.eachLimited(func(run store.Run) error {
		tasks, err := c.Tasks(run.ID)
		if err != nil {
			return err
		}
		for _, t := range tasks {
			if t.Ready && t.Lane == lane {
				if err := c.ready(t, false, "lane "+lane+" is paused"); err != nil {
					return err
				}
			}
		}
		return c.fill(run.ID)
	})
}

// eachLimited visits the runs that let only so many tasks run at once.
func (c *change) eachLimited(visit func(store.Run) error) error {
	runs, err := c.RunningRuns()
	if err != nil {
		return err
	}
	for _, run := range runs {
		if run.Parallel == 0 {
			continue
		}
		if err := visit(run); err != nil {
			return err
		}
	}
	return nil
}

func (c *change) sweepLanes() (int, error) {
	lanes, err := c.Lanes()
	if err != nil {
		return 0, err
	}
	opened := 0
	for _, l := range lanes {
		if l.Until.IsZero() || l.Until.After(c.now) {
			continue
		}
		opened++
		l.Until, l.Reason = time.Time{}, ""
		c.PutLane(l)
		if err := c.event(store.Event{Kind: "lane.open"}, l); err != nil {
			return 0, err
		}
	}
	if opened == 0 {
		return 0, nil
	}
	runs, err := c.RunningRuns()
	if err != nil {
		return 0, err
	}
	for _, run := range runs {
		if err := c.fill(run.ID); err != nil {
			return 0, err
		}
	}
	return opened, nil
}

func (c *change) sweepDelayed() (int, error) {
	tasks, err := c.Delayed(c.now, sweepAtOnce)
	if err != nil {
		return 0, err
	}
	for _, t := range tasks {
		if err := c.fill(t.Run); err != nil {
			return 0, err
		}
	}
	return len(tasks), nil
}
