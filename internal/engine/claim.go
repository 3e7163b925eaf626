package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine/store"
)

// Claim is a worker's request for a task.
type Claim struct {
	Worker string
	Labels []string
	Only   bool // claim only tasks whose required labels are exactly Labels
	// Key is an idempotency key. A second claim with the same key returns the same attempt, or no
	// task if that attempt has ended.
	Key string
	// After is the id of the attempt that the worker ends in the same request. It is empty if the
	// worker ends none.
	After string
	// Each element of OneOf is a set of labels. The worker gets only tasks that require at least
	// one label of each set.
	OneOf [][]string `json:"-"`
	// Agents are the agents whose tasks the worker can run. Empty means all agents.
	Agents []string `json:"-"`
	// Accounts lists the user's accounts that the worker can use. The accounts of one agent are in
	// order of preference. If the list has no account for an agent, the worker uses the account
	// that the agent's program is logged in to.
	Accounts []WorkerAccount `json:"-"`
	// Fallbacks is set if the worker can run a task with one of the task's fallback agents. Workers
	// with an older version of gaffer cannot.
	Fallbacks bool `json:"-"`
	// May reports whether the worker may take a task; the engine skips tasks for which it returns
	// false. If May is nil, the worker may take every task.
	May func(store.TaskKey) (bool, error) `json:"-"`
}

// Assignment is a task for a worker to run, and the attempt that was created for it.
type Assignment struct {
	Attempt store.Attempt
	Task    store.Task
	Before  *store.Attempt // the previous attempt at the task; nil if Attempt is the first
	// Messages are the user's messages that no agent of the task has received yet, oldest first.
	// They become a part of the attempt's prompt.
	Messages []fleet.Message
	// Earlier are the user's messages that an agent of the task has already received. An agent that
	// starts a new conversation must get them again.
	Earlier []fleet.Message
	// Grants are the permission rules that users have made by answering questions, and that hold
	// for the task.
	Grants []fleet.Grant
	// Lease is how long the attempt stays valid without a heartbeat, counted from the reply to the
	// claim. The engine never sets zero, which would mean forever.
	Lease time.Duration `json:"-"`
}

// Remaining returns how long an attempt stays valid without a heartbeat. If its lease has already
// ended, Remaining returns one millisecond, because zero would mean forever.
func Remaining(a store.Attempt, now time.Time) time.Duration {
	return max(a.Lease.Sub(now), time.Millisecond)
}

// claims assigns tasks to workers.
type claims struct {
	*txContext
	states      *taskStates
	propagation *propagation
	budgets     *budgets
}

// withLease sets a.Lease to the time from now until the attempt's lease ends, and returns a. If a
// is nil, it returns nil. When a stored reply is sent again, this time must be computed again.
func (c *claims) withLease(a *Assignment) *Assignment {
	if a != nil {
		a.Lease = Remaining(a.Attempt, c.now)
	}
	return a
}

// Claim assigns a task to a worker. The assignment is valid while the worker sends
// heartbeats. Claim returns [ErrNothing] if no task can start.
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

// claimOp is the first word of the keys of the idempotency records that store replies to claims.
const claimOp = "work-claim"

// claimOnce claims a task. If r.Key was used before, it returns the assignment of the first claim
// again, or nil if that attempt is not running any more.
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

// claim starts an attempt at the first task that the worker may take. If no task can start, claim
// returns nil and no error. It may have set tasks to failed because their budget is spent, and an
// error would roll back these changes.
func (c *claims) claim(r Claim) (*Assignment, error) {
	for _, a := range r.Accounts {
		if err := c.budgets.pauseSpentAccount(AccountName(a.Agent, a.Name)); err != nil {
			return nil, err
		}
	}
	shared, err := c.sharedPool()
	if err != nil {
		return nil, err
	}
	changed, err := c.rememberPool(r, shared, false)
	if err == nil && changed {
		shared, err = c.sharedPool()
	}
	if err != nil {
		return nil, err
	}
	worker := workerPool(r, shared)
	query, err := c.query(r, worker, shared)
	if errors.Is(err, errNoBudget) {
		return nil, nil
	}
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
		with, ok := worker.choose(list[0].AllAgents(), shared)
		// If the worker cannot start an agent of the task now, try the next task. The query has
		// already left out most such tasks, but not those whose agents have no row in the store.
		if !ok {
			passed[list[0].TaskKey] = true
			query.Skip = func(key store.TaskKey) bool { return passed[key] }
			continue
		}
		a, err := c.startAttempt(list[0], r, with)
		if err == nil {
			return &a, nil
		}
		if !errors.Is(err, errNoBudget) {
			return nil, err
		}
	}
}

// query returns the store query for the next task that the worker can run: the worker has the
// task's labels, and an account of one of the task's agents is free. While the user's spending
// limit for the day or the month is reached, only tasks that start no agent are returned. If the
// worker does not run such tasks, query then returns errNoBudget.
func (c *claims) query(r Claim, worker, shared *pool) (store.ClaimQuery, error) {
	paused := worker.blocked(shared)
	q := store.ClaimQuery{PausedAccounts: paused, Accounts: r.Agents, Limit: 1}
	if len(r.Agents) > 0 {
		q.Accounts = slices.Concat(r.Agents, worker.chainNames(paused))
	}
	held, err := c.budgets.holdForUserLimits()
	if err != nil {
		return q, err
	}
	// If a spending limit of the user is reached, only tasks that start no agent may start.
	if held {
		q.Accounts = freeAccounts()
		if len(r.Agents) > 0 {
			q.Accounts = slices.DeleteFunc(q.Accounts, func(name string) bool { return !slices.Contains(r.Agents, name) })
		}
		if len(q.Accounts) == 0 {
			return q, errNoBudget
		}
	}
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

// joinLabels returns labels in the format of [store.Task.Labels]: sorted, without duplicates and
// separated by commas, for example "gpu,linux".
func joinLabels(labels []string) string {
	sorted := slices.Sorted(slices.Values(labels))
	return strings.Join(slices.Compact(sorted), ",")
}

// Satisfies reports whether a worker with the given labels may take a task that requires the labels
// in set. set has the format of [store.Task.Labels].
func Satisfies(labels []string, set string) bool {
	for label := range strings.SplitSeq(set, ",") {
		if label != "" && !slices.Contains(labels, label) {
			return false
		}
	}
	return true
}

// hasOneOfEach reports whether the labels of a task contain at least one label of each set. labels
// has the format of [store.Task.Labels].
func hasOneOfEach(labels string, sets [][]string) bool {
	for _, set := range sets {
		if !slices.ContainsFunc(strings.Split(labels, ","), func(l string) bool { return slices.Contains(set, l) }) {
			return false
		}
	}
	return true
}

// startAttempt stores a new running attempt at a task. The parameter with contains the accounts
// that the attempt can use. If the budget of the task or of its run does not allow the attempt,
// startAttempt returns errNoBudget. It has then set the task to failed or made it wait, so that the
// next query does not return the task again.
func (c *claims) startAttempt(t store.Task, r Claim, with use) (Assignment, error) {
	// Make all lookups before checking their errors. On a remote database, the lookup of a row that
	// is not loaded yet returns an error. All these rows are then loaded in one round trip, and the
	// request runs again (see [store.Loader]).
	account, errAccount := c.pickAccount(with.accounts)
	run, errRun := c.run(t.Run)
	before, errBefore := c.previousAttempt(t)
	given := Assignment{Task: t, Before: before}
	if err := errors.Join(errAccount, errRun, errBefore, given.AddMessages(c), given.AddGrants(c)); err != nil {
		return Assignment{}, err
	}
	// If no attempt of the run is running, no part of the run's budget can be reserved. So set the
	// reserved amount to zero.
	if run.Active == 0 {
		run.Reserved = store.Amount{}
	}
	var refused *BudgetError
	switch err := c.budgets.mayStart(run, t); {
	case errors.As(err, &refused) && refused.Task != "":
		return Assignment{}, c.failOverBudget(t, refused.Error())
	case errors.As(err, &refused):
		return Assignment{}, c.overBudget(t, run)
	case err != nil:
		return Assignment{}, err
	}
	unreserved := run
	run.Reserved = run.Reserved.Add(reserveOf(t))
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
		Status: store.Running, Lease: c.leaseEnd(c.now), Started: c.now, Account: account, Fallback: with.fallback,
	}
	if t.Timeout > 0 {
		a.Deadline = c.now.Add(t.Timeout)
	}
	t.RunningAttempt = a.ID
	a.Day = DayOf(c.now, c.budgets.zone())
	scopes, err := c.budgets.scopes(a, t, unreserved)
	if err != nil {
		return Assignment{}, err
	}
	a.Limit = limitOf(scopes)
	// The agent can continue the previous attempt's conversation only if the worker and the agent
	// are the same.
	if before != nil && before.Worker == r.Worker && !t.NewConversation && agentOfAttempt(*before, t) == agentOfAttempt(a, t) {
		a.SpentEarlier = before.SpentEarlier.Add(before.Spent)
		// Set Thread, the id of the conversation, now. If the agent never starts, it cannot report
		// the id, and later attempts could not continue the conversation.
		a.Thread = before.Thread
	}
	a.HasMessages, t.EndedAs = len(given.Messages) > 0, ""
	for _, m := range given.Messages {
		a.PromptMessages = append(a.PromptMessages, m.ID)
	}
	err = c.states.setStatusWithAttempt(&t, &a, store.Running, "")
	given.Attempt, given.Task = a, t
	return given, err
}

// AddMessages reads the messages that users have sent to the agent of a.Task. It adds those that no
// agent has received to a.Messages, and the others to a.Earlier. It leaves out withdrawn messages.
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

// previousAttempt returns the last ended attempt at a task, or nil if no attempt has ended.
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

// stillAssigned returns the assignment of the attempt with this id, which an earlier reply has
// assigned to the worker. It returns nil if id is nil, or if the worker does not run the attempt
// any more. An ended attempt must not be assigned again, because two agents could then work on one
// task.
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
	return given, errors.Join(given.AddMessages(c), given.AddGrants(c))
}
