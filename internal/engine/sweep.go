package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
)

// Held is an attempt that a worker reports as running on it.
type Held struct {
	Attempt string
	Token   int64
	Now     fleet.Progress // without a State there is no news
	Asking  []string       // ids of questions whose answers it waits for
	Dropped []string       // questions that the agent has withdrawn, by the agent's own ids
}

// Order tells a worker what to do about an attempt that it holds.
type Order struct {
	Attempt string
	Stop    string           // why the worker must end it; empty if it may continue
	Gone    bool             // the attempt is no longer the worker's: end it without a report
	Answers []store.Question // the closed ones of the questions that the worker asked about
	Waits   bool             // it waits for a user; the worker may not see that if the agent asked by a tool of gaffer
	Lease   time.Duration    // how long the attempt stays valid without another heartbeat, from this one on; 0 if it is gone
}

// Beat records that a worker and the attempts that it holds are alive. It returns what
// the worker must do about each attempt. Fields that the worker leaves empty keep their
// value. A change of what an agent is doing is not an event. The start of an agent is
// one, and so is a change of the data that a named worker reports about itself.
func (e *Engine) Beat(ctx context.Context, said store.Worker, held []Held) (orders []Order, err error) {
	err = e.write(ctx, said.ID, BeatNeed(said, held), func(c *change) error {
		orders, err = c.beats(said, held)
		return err
	})
	return orders, err
}

// BeatNeed returns the rows that a heartbeat or a release will look up.
func BeatNeed(said store.Worker, held []Held) store.Need {
	need := store.Need{Workers: []string{said.ID}}
	for _, h := range held {
		need.Attempts = append(need.Attempts, h.Attempt)
	}
	return need
}

func (c *change) beats(said store.Worker, held []Held) (orders []Order, err error) {
	if err := c.appear(said); err != nil {
		return nil, err
	}
	for _, h := range held {
		order, err := c.beat(h)
		if err != nil {
			return nil, err
		}
		orders = append(orders, order)
	}
	return orders, nil
}

func (c *change) beat(h Held) (Order, error) {
	a, err := c.owned(h.Attempt, h.Token)
	if isGone(err) {
		return Order{Attempt: h.Attempt, Gone: true}, nil
	}
	if err != nil {
		return Order{}, err
	}
	a.Lease = c.lease(c.now)
	started := a.PID == 0 && h.Now.PID != 0
	report(&a, h.Now)
	c.PutAttempt(a)
	if started {
		if err := c.event(store.Event{Kind: "attempt.started", Run: a.Run, Task: a.Task, Attempt: a.ID}, a); err != nil {
			return Order{}, err
		}
	}
	if err := c.compacted(a, h.Now.Compactions, h.Now.Compacted); err != nil {
		return Order{}, err
	}
	if err := c.withdraw(a.ID, h.Dropped); err != nil {
		return Order{}, err
	}
	answers, err := c.answers(h.Asking)
	if err != nil {
		return Order{}, err
	}
	if err := c.workAgain(&a); err != nil {
		return Order{}, err
	}
	return Order{Attempt: a.ID, Stop: a.Stop, Answers: answers, Waits: !a.WaitingSince.IsZero(), Lease: Remaining(a, c.now)}, nil
}

// isGone reports whether an error of [change.owned] means that the attempt no longer
// belongs to the worker.
func isGone(err error) bool {
	var conflict *ConflictError
	var missing *NotFoundError
	return errors.As(err, &conflict) || errors.As(err, &missing)
}

// compacted appends one event for each compaction of the conversation. It appends each
// event only once, because a worker may report a compaction again after a crash.
func (c *change) compacted(a store.Attempt, times int, how string) error {
	for n := 1; n <= min(times, maxCompactions); n++ {
		_, err := once(c, "compacted", fmt.Sprintf("%s %d", a.ID, n), func() (int, error) {
			return n, c.event(store.Event{Kind: "attempt.compacted", Run: a.Run, Task: a.Task, Attempt: a.ID, Why: how}, a)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// maxCompactions limits the compaction events of one attempt.
const maxCompactions = 1000

// report stores a worker's report in the attempt's row. A report that leaves out a part
// of the process does not change that part. LogFrom never changes.
func report(a *store.Attempt, now fleet.Progress) {
	if now.State == "" {
		return
	}
	was := a.Process
	a.Progress = now
	a.PID, a.Log, a.Thread = cmp.Or(now.PID, was.PID), cmp.Or(now.Log, was.Log), cmp.Or(now.Thread, was.Thread)
	a.LogFrom = cmp.Or(was.LogFrom, now.LogFrom)
}

// answers returns the closed ones of the given questions.
func (c *change) answers(questions []string) (closed []store.Question, err error) {
	for _, id := range questions {
		q, err := c.Question(id)
		if err != nil {
			return nil, missing(err, "question", id)
		}
		if q.Closed {
			closed = append(closed, q)
		}
	}
	return closed, nil
}

// sweepAtOnce is the maximum number of rows that one sweep handles of each kind.
const sweepAtOnce = 100

// Sweep applies everything that depends only on time. It gives up attempts whose worker
// has stopped sending heartbeats, asks workers to end attempts past their deadline,
// closes expired questions, opens paused lanes, and makes delayed tasks ready. An expired
// question gets its default answer, or is denied if it has none. Sweep reports whether
// there may be more to do.
//
// since is the start of the period in which workers could reach the coordinator without
// interruption. Before it, a worker may have tried to send a heartbeat in vain. No
// attempt is given up until its worker has had a whole lease since then. The zero time
// means long ago.
func (e *Engine) Sweep(ctx context.Context, since time.Time) (more bool, err error) {
	err = e.write(ctx, "sweep", store.Need{}, func(c *change) error {
		// Waiting for the database may have made since out of date.
		if err := ctx.Err(); err != nil {
			return err
		}
		more = false
		attempts := func() (int, error) { return c.sweepAttempts(since) }
		for _, sweep := range []func() (int, error){attempts, c.sweepQuestions, c.sweepLanes, c.sweepDelayed} {
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

func (c *change) sweepAttempts(since time.Time) (int, error) {
	due, err := c.Due(c.now, sweepAtOnce)
	if err != nil {
		return 0, err
	}
	swept := 0
	for _, a := range due {
		if c.isCoordinated(a) {
			continue
		}
		if err := c.sweepAttempt(a, since); err != nil {
			return 0, err
		}
		swept++
	}
	return swept, nil
}

// isCoordinated reports whether only the coordinator may give up an attempt, by its own
// clock, which all of its workers share. It applies to engines with endless leases.
func (c *change) isCoordinated(a store.Attempt) bool {
	return c.engine.opts.Endless && a.Lease.Before(c.now.Add(c.engine.opts.Lease/2))
}

func (c *change) sweepAttempt(a store.Attempt, since time.Time) error {
	silent := a.Lease.Before(c.now)
	if until := c.lease(since); silent && c.now.Before(until) {
		a.Lease = until // do not look at it again before then
		c.PutAttempt(a)
		return nil // if its deadline has passed, the next sweep handles that
	}
	if silent {
		a.Summary = "the worker was not heard of for " + c.engine.opts.Lease.String()
		_, err := c.end(a, failure.Lost, false)
		return err
	}
	if a.Stop == "" {
		a.Stop = string(failure.TimedOut)
	}
	a.Deadline = time.Time{} // it has been handled
	c.PutAttempt(a)
	return c.event(store.Event{Kind: "attempt.stopping", Run: a.Run, Task: a.Task, Attempt: a.ID, Why: "its deadline has passed"}, a)
}

// lease returns the end of a lease that begins at the given time.
func (c *change) lease(from time.Time) time.Time { return from.Add(c.engine.opts.Lease) }

func (c *change) sweepQuestions() (int, error) {
	expired, err := c.Expired(c.now, sweepAtOnce)
	if err != nil {
		return 0, err
	}
	for _, q := range expired {
		if err := c.answer(q, cmp.Or(q.Default, "nobody answered in time"), q.Default == ""); err != nil {
			return 0, err
		}
	}
	return len(expired), nil
}

// maxPause is the longest pause of a lane; it covers weekly limits. A program that
// reports a longer one is wrong, and only time reopens a lane.
const maxPause = 8 * 24 * time.Hour

// pause prevents tasks of a lane from starting until a time. In runs with a parallel
// limit, its ready tasks make room for tasks of other lanes.
func (c *change) pause(lane string, until time.Time) error {
	if most := c.now.Add(maxPause); until.After(most) {
		until = most
	}
	if until.Before(c.now) { // the limit has no known end; use a minute, but do not shorten a pause that has one
		was, err := c.Lane(lane)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if until = c.now.Add(time.Minute); was.Until.After(until) {
			until = was.Until
		}
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

// eachLimited calls visit for each running run that limits how many tasks run at once.
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
		if err := c.due(t.TaskKey); err != nil {
			return 0, err
		}
	}
	return len(tasks), nil
}

// due handles a task whose NotBefore has passed. If something else still prevents the
// task from starting, due clears NotBefore. Otherwise later sweeps would find the task
// again and never reach those behind it.
func (c *change) due(key store.TaskKey) error {
	t, err := c.Task(key)
	if err != nil || !t.DelayedUntil(c.now) {
		return err
	}
	t.NotBefore = time.Time{}
	c.PutTask(t)
	return c.event(store.Event{Kind: "task.due", Run: t.Run, Task: t.Task}, t)
}
