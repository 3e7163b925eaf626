package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
)

// Held is an attempt that a worker says it runs.
type Held struct {
	Attempt string
	Token   int64
	Now     Activity
	Asking  []string // questions whose answer it waits for
	Dropped []string // questions that the agent has withdrawn, by the agent's own ids
}

// Activity is what an agent does, as its worker sees it.
type Activity struct {
	State   string // running, waiting, retrying; empty if there is nothing new to say
	Doing   string // in a few words
	Source  string // how the worker knows
	At      time.Time
	PID     int    // of the agent
	Log     string // where its output is
	LogFrom int64  // where in Log it begins
	Thread  string
	Spent   store.Amount // so far

	Compacted   string // how the conversation was last made shorter
	Compactions int    // how often so far
}

// Order is what a worker must know about an attempt that it holds.
type Order struct {
	Attempt string
	Stop    string           // why it is to be ended; empty if it may go on
	Gone    bool             // the attempt is not the worker's any more: end it and say nothing
	Answers []store.Question // of those that it asked for, the ones that are closed
	Waits   bool             // for a person, also where the worker does not see it: the agent may ask by a tool of gaffer's
	Lease   time.Duration    // how long it lives without another beat, from this one on; 0 if it is gone
}

// Beat tells that a worker and the attempts it holds are alive, and returns what
// the worker must do about each. What an agent does and since when is no event;
// that it has started is one, and that a worker with a name says something else
// of itself than before. What it does not say of itself stays as it was.
func (e *Engine) Beat(ctx context.Context, said store.Worker, held []Held) (orders []Order, err error) {
	err = e.write(ctx, said.ID, BeatNeed(said, held), func(c *change) error {
		orders, err = c.beats(said, held)
		return err
	})
	return orders, err
}

// BeatNeed is what a beat, or to hand attempts back, will look up.
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
	h.Now.apply(&a)
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

// isGone tells the errors of [change.owned] which mean that an attempt is not the
// worker's any more.
func isGone(err error) bool {
	var conflict *ConflictError
	var missing *NotFoundError
	return errors.As(err, &conflict) || errors.As(err, &missing)
}

// compacted makes an event of each time that the conversation was made shorter.
// A worker may say so again after a crash.
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

// maxCompactions is how many of them are told of an attempt.
const maxCompactions = 1000

// apply writes down what a worker says.
func (n Activity) apply(a *store.Attempt) {
	if n.State == "" {
		return
	}
	a.State, a.Doing, a.Source, a.Said, a.Spent = n.State, n.Doing, n.Source, n.At, n.Spent
	a.PID, a.Log, a.Thread = cmp.Or(n.PID, a.PID), cmp.Or(n.Log, a.Log), cmp.Or(n.Thread, a.Thread)
	a.LogFrom = cmp.Or(a.LogFrom, n.LogFrom)
}

// answers returns those of some questions that nobody need wait for any more.
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

// sweepAtOnce is how much one sweep takes on.
const sweepAtOnce = 100

// Sweep does what time alone brings about: it gives up attempts whose worker
// has not been heard of, asks for the end of those past their deadline, answers
// questions that nobody has, opens lanes, and readies tasks whose time has come.
// It reports whether there may be more.
//
// since is from when on workers could be heard without a break: whoever was not
// heard of before that may have tried. No attempt is given up until its worker
// has had a whole lease since then. The zero time is long ago.
func (e *Engine) Sweep(ctx context.Context, since time.Time) (more bool, err error) {
	err = e.write(ctx, "sweep", store.Need{}, func(c *change) error {
		// The database may have kept us waiting for longer than since is worth.
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

// isCoordinated tells of an attempt whether it is a coordinator's to give up, by a
// clock that all of its workers agree on.
func (c *change) isCoordinated(a store.Attempt) bool {
	return c.engine.opts.Endless && a.Lease.Before(c.now.Add(c.engine.opts.Lease/2))
}

func (c *change) sweepAttempt(a store.Attempt, since time.Time) error {
	silent := a.Lease.Before(c.now)
	if until := c.lease(since); silent && c.now.Before(until) {
		a.Lease = until // not to be met again before
		c.PutAttempt(a)
		return nil // its deadline, if that has passed, is the next sweep's
	}
	if silent {
		a.Summary = "the worker was not heard of for " + c.engine.opts.Lease.String()
		_, err := c.end(a, failure.Lost, false)
		return err
	}
	if a.Stop == "" {
		a.Stop = string(failure.TimedOut)
	}
	a.Deadline = time.Time{} // it is known now
	c.PutAttempt(a)
	return c.event(store.Event{Kind: "attempt.stopping", Run: a.Run, Task: a.Task, Attempt: a.ID, Why: "its deadline has passed"}, a)
}

// lease is when a lease ends that begins then.
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

// maxPause is how long a lane is paused at the most: for the limit of a week. A
// program that says more is wrong, and nothing but time opens a lane.
const maxPause = 8 * 24 * time.Hour

// pause lets nothing start in a lane until a time. Tasks of runs with a limit
// make room for those of other lanes.
func (c *change) pause(lane string, until time.Time) error {
	if most := c.now.Add(maxPause); until.After(most) {
		until = most
	}
	if until.Before(c.now) { // a limit that does not say when it ends, and does not shorten one that has
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
		if err := c.due(t.TaskKey); err != nil {
			return 0, err
		}
	}
	return len(tasks), nil
}

// due is for a task whose time has come. If something else keeps it, it is not to be
// met again: those behind it would never be.
func (c *change) due(key store.TaskKey) error {
	t, err := c.Task(key)
	if err != nil || !t.DelayedUntil(c.now) {
		return err
	}
	t.NotBefore = time.Time{}
	c.PutTask(t)
	return c.event(store.Event{Kind: "task.due", Run: t.Run, Task: t.Task}, t)
}
