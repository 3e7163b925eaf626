package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
)

// Claim is a worker's request for a task.
type Claim struct {
	Worker string
	Labels []string
	Only   bool   // only tasks whose labels are exactly Labels
	Key    string // repeating the key returns the same task while that is running
	After  string // the attempt that the worker finished in the same request, if any
	// OneOf lists sets of labels: a task must have at least one label of each set.
	OneOf [][]string `json:"-"`
	// Agents limits the claim to tasks of these agents; empty allows all.
	Agents []string `json:"-"`
	// May reports whether the worker may take a task; nil allows every task. Tasks that
	// it rejects are skipped.
	May func(store.TaskKey) (bool, error) `json:"-"`
}

// Assignment is a task that a worker must run, with the attempt that authorizes it.
type Assignment struct {
	Attempt store.Attempt
	Task    store.Task
	Before  *store.Attempt // the previous attempt at the task, if any
	// Messages are the user's messages that wait for the agent, oldest first. They are
	// the prompt of a conversation that continues, and follow the prompt of a new one.
	Messages []fleet.Message
	// Earlier are the messages that the agent of an earlier attempt has received. A new
	// conversation must contain them too.
	Earlier []fleet.Message
	// Lease is how long the attempt stays valid without a heartbeat, counted from the
	// reply to the claim. Zero means forever; an engine never returns that.
	Lease time.Duration `json:"-"`
}

// Remaining returns how long an attempt stays valid without a heartbeat, according to
// its row. The result is never zero, because a zero lease means forever: an attempt
// whose lease has ended has one millisecond left.
func Remaining(a store.Attempt, now time.Time) time.Duration {
	return max(a.Lease.Sub(now), time.Millisecond)
}

// claims gives tasks to workers.
type claims struct {
	*txContext
	schedule    *schedule
	propagation *propagation
}

// withLease sets the lease of an assignment. An assignment that is repeated for the same
// key has less time left than at first.
func (c *claims) withLease(a *Assignment) *Assignment {
	if a != nil {
		a.Lease = Remaining(a.Attempt, c.now)
	}
	return a
}

// Claim gives a task to a worker for as long as the worker sends heartbeats. It returns
// [ErrNothing] if no task can start.
func (e *Engine) Claim(ctx context.Context, r Claim) (Assignment, error) {
	var a *Assignment
	err := e.write(ctx, r.Worker, func(tx *transaction) (err error) {
		a, err = tx.claims.claimOnce(r)
		return err
	})
	switch {
	case err != nil:
		return Assignment{}, err
	case a == nil:
		return Assignment{}, ErrNothing
	}
	return *a, nil
}

// claimOp is the operation name under which answers to claims are stored.
const claimOp = "work-claim"

// claimOnce returns the assignment that was stored for the same key, if that is still
// running. Otherwise it claims a task.
func (c *claims) claimOnce(r Claim) (*Assignment, error) {
	var given *Assignment
	id, err := once(c.txContext, claimOp, r.Key, func() (*string, error) {
		a, err := c.claim(r)
		if err != nil || a == nil {
			return nil, err
		}
		given = a
		return &a.Attempt.ID, nil
	})
	if err == nil && given == nil {
		given, err = c.stillAssigned(id, r.Worker)
	}
	return c.withLease(given), err
}

// claim returns nil if no task can start. That is not an error, so that the transaction
// keeps what claim has changed on the way, such as tasks that it set aside for budget
// reasons.
func (c *claims) claim(r Claim) (*Assignment, error) {
	query, err := c.query(r)
	if err != nil {
		return nil, err
	}
	passed := map[store.TaskKey]bool{}
	for {
		list, err := c.ClaimableTasks(query)
		if err != nil || len(list) == 0 {
			return nil, err
		}
		if r.May != nil {
			may, err := r.May(list[0].TaskKey)
			if err != nil {
				return nil, err
			}
			if !may {
				passed[list[0].TaskKey] = true
				query.Skip = func(key store.TaskKey) bool { return passed[key] }
				continue
			}
		}
		a, err := c.startAttempt(list[0], r)
		if err == nil {
			return &a, nil
		}
		if !errors.Is(err, errNoBudget) {
			return nil, err
		}
	}
}

// query builds the store query for one task that the worker's labels allow.
func (c *claims) query(r Claim) (store.ClaimQuery, error) {
	paused, err := c.pausedAccounts()
	if err != nil {
		return store.ClaimQuery{}, err
	}
	q := store.ClaimQuery{PausedAccounts: paused, Accounts: r.Agents, Limit: 1}
	if r.Only {
		q.Labels = []string{joinLabels(r.Labels)}
		return q, nil
	}
	sets, err := c.LabelSets()
	for _, set := range sets {
		if Satisfies(r.Labels, set) && hasOneOfEach(set, r.OneOf) {
			q.Labels = append(q.Labels, set)
		}
	}
	return q, err
}

// joinLabels returns labels in the form of a task row: sorted, unique, separated by
// commas.
func joinLabels(labels []string) string {
	sorted := slices.Sorted(slices.Values(labels))
	return strings.Join(slices.Compact(sorted), ",")
}

// Satisfies reports whether a worker with these labels may take a task with this label
// set, which is the comma-separated form of a task row.
func Satisfies(labels []string, set string) bool {
	for label := range strings.SplitSeq(set, ",") {
		if label != "" && !slices.Contains(labels, label) {
			return false
		}
	}
	return true
}

// hasOneOfEach reports whether a task's labels contain at least one label of each set.
func hasOneOfEach(labels string, sets [][]string) bool {
	for _, set := range sets {
		if !slices.ContainsFunc(strings.Split(labels, ","), func(l string) bool { return slices.Contains(set, l) }) {
			return false
		}
	}
	return true
}

// errNoBudget reports that a task was set aside because it might exceed the budget.
var errNoBudget = errors.New("not within the budget")

// startAttempt creates and stores a running attempt at a task.
func (c *claims) startAttempt(t store.Task, r Claim) (Assignment, error) {
	run, err := c.run(t.Run)
	if err != nil {
		return Assignment{}, err
	}
	if !withinBudget(run, t.Reserve) {
		return Assignment{}, c.overBudget(t, run)
	}
	run.Reserved = addAmounts(run.Reserved, t.Reserve)
	c.PutRun(run)
	if t.AnyNeed {
		if err := c.compareCandidates(&t); err != nil {
			return Assignment{}, err
		}
	}
	t.CountedAttempts++
	t.Tries++
	a := store.Attempt{
		ID: c.opts.NewID(), Run: t.Run, Task: t.Task, Number: t.Tries, Token: c.NextSeq(), Worker: r.Worker, After: r.After,
		Status: store.Running, Lease: c.leaseEnd(c.now), Started: c.now,
	}
	if t.Timeout > 0 {
		a.Deadline = c.now.Add(t.Timeout)
	}
	t.RunningAttempt = a.ID
	before, err := c.previousAttempt(t)
	if err != nil {
		return Assignment{}, err
	}
	if before != nil && before.Worker == r.Worker && !t.NewConversation { // a conversation stays on the worker that has it
		a.SpentEarlier = addAmounts(before.SpentEarlier, before.Spent)
		a.Thread = before.Thread // also if this attempt ends before its agent has started
	}
	given := Assignment{Task: t, Before: before}
	if err := given.AddMessages(c); err != nil {
		return Assignment{}, err
	}
	a.HasMessages, t.EndedAs = len(given.Messages) > 0, ""
	for _, m := range given.Messages {
		a.PromptMessages = append(a.PromptMessages, m.ID)
	}
	err = c.schedule.setStatusWithAttempt(&t, &a, store.Running, "")
	given.Attempt, given.Task = a, t
	return given, err
}

// AddMessages adds the messages of users to an assignment whose Task is set.
func (a *Assignment) AddMessages(r ItemLister) error {
	if !a.Task.HasMessages {
		return nil
	}
	all, err := taskMessages(r, a.Task.TaskKey)
	for _, m := range all {
		switch {
		case m.Waiting():
			a.Messages = append(a.Messages, m.Message)
		case !m.Withdrawn:
			a.Earlier = append(a.Earlier, m.Message)
		}
	}
	return err
}

// previousAttempt returns the attempt at a task that ended last, or nil.
func (c *claims) previousAttempt(t store.Task) (*store.Attempt, error) {
	if t.LastAttempt == "" {
		return nil, nil
	}
	a, err := c.attempt(t.LastAttempt)
	if err != nil {
		return nil, err
	}
	return &a, nil
}

// stillAssigned returns the assignment of an attempt that was given to a worker earlier,
// or nil if that is not running any more. Starting it again would let two agents work
// on one task.
func (c *claims) stillAssigned(id *string, worker string) (*Assignment, error) {
	if id == nil {
		return nil, nil
	}
	a, err := c.Attempt(*id)
	if errors.Is(err, store.ErrNotFound) || err == nil && (a.Status != store.Running || a.Worker != worker) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	t, err := c.task(a.Key())
	if err != nil {
		return nil, err
	}
	before, err := c.previousAttempt(t)
	if err != nil {
		return nil, err
	}
	given := &Assignment{Attempt: a, Task: t, Before: before}
	return given, given.AddMessages(c)
}

// overBudget makes a task wait until other tasks release their reserved budget. If no task
// of the run is running, it fails the task.
func (c *claims) overBudget(t store.Task, run store.Run) error {
	if run.Active > 0 {
		if err := c.schedule.setReady(t, false, "the budget is reserved by others"); err != nil {
			return err
		}
		return errNoBudget
	}
	t.Outcome = string(failure.OverBudget)
	if err := c.schedule.setStatus(&t, store.Failed, "the run's budget does not allow it"); err != nil {
		return err
	}
	if err := c.propagation.statusChanged(t); err != nil {
		return err
	}
	return errNoBudget
}

func withinBudget(run store.Run, more store.Amount) bool {
	total := addAmounts(addAmounts(run.Spent, run.Reserved), more)
	return (run.Budget.MicroUSD == 0 || total.MicroUSD <= run.Budget.MicroUSD) &&
		(run.Budget.Tokens == 0 || total.Tokens <= run.Budget.Tokens)
}

func addAmounts(a, b store.Amount) store.Amount {
	return store.Amount{MicroUSD: a.MicroUSD + b.MicroUSD, Tokens: a.Tokens + b.Tokens}
}

func subtractAmounts(a, b store.Amount) store.Amount {
	return store.Amount{MicroUSD: a.MicroUSD - b.MicroUSD, Tokens: a.Tokens - b.Tokens}
}
