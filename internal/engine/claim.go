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
	Only   bool   // claim only tasks whose required labels are exactly Labels
	Key    string // idempotency key: a second claim with the same key returns the same attempt, or no task if that attempt has ended
	After  string // id of the attempt that the worker ends in the same request; empty if it ends none
	// OneOf holds sets of labels. The worker gets only tasks that have at least one label of each
	// set.
	OneOf [][]string `json:"-"`
	// Agents are the agents whose tasks the worker can run. Empty means all agents.
	Agents []string `json:"-"`
	// Accounts are the accounts of the user that the worker has. Those of one agent are in the order
	// in which they should be used. For an agent without accounts here, the agent's program uses its
	// own account.
	Accounts []WorkerAccount `json:"-"`
	// Fallbacks says that the worker can use the fallbacks of a task. Older workers cannot.
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
	// Messages are the user's messages that the agent has not received, oldest first. If the agent
	// continues its conversation, they are its next prompt. If it starts a new conversation, they
	// are appended to the task's prompt.
	Messages []fleet.Message
	// Earlier are the messages that agents of earlier attempts have received. An agent that starts
	// a new conversation must get them again.
	Earlier []fleet.Message
	// Grants are the rules that hold for the task because a user has answered a question with them.
	Grants []fleet.Grant
	// Lease is how long the attempt stays valid without a heartbeat, counted from the
	// reply to the claim. Zero means forever; the engine never sets zero.
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

// withLease sets a.Lease, unless a is nil, and returns a. The lease is computed for each reply,
// because less of it is left when a reply is repeated.
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

// claimOp is the operation in the keys of idempotency records that store answers to claims.
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

// claim starts an attempt at the first task that the worker may take. If no task can start, it
// returns nil and no error. An error would roll back its changes, but they must be stored: claim
// may have failed tasks that the budget does not allow.
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
		if !ok { // no agent of the task is free: the query leaves out most such tasks, but not those of agents without a row in the store
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

// query returns the store query for the next task that the worker can run: the worker has the task's
// labels, and an account of one of the task's agents is free. While a limit of the user is reached,
// only tasks without an agent can start. query returns errNoBudget if the worker runs no such tasks.
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
	if held { // only tasks that start no agent may start
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

// Satisfies reports whether a worker with these labels may take a task. set has the labels that the
// task requires, in the format of [store.Task.Labels].
func Satisfies(labels []string, set string) bool {
	for label := range strings.SplitSeq(set, ",") {
		if label != "" && !slices.Contains(labels, label) {
			return false
		}
	}
	return true
}

// hasOneOfEach reports whether the labels of a task, separated by commas, contain at least one
// label of each set.
func hasOneOfEach(labels string, sets [][]string) bool {
	for _, set := range sets {
		if !slices.ContainsFunc(strings.Split(labels, ","), func(l string) bool { return slices.Contains(set, l) }) {
			return false
		}
	}
	return true
}

// startAttempt stores a new running attempt at a task. The attempt uses one of the accounts in
// with. If the budget of the task or of its run does not allow the attempt, startAttempt returns
// errNoBudget. In this case, it has failed the task or made it wait, so that the next query does
// not return it.
func (c *claims) startAttempt(t store.Task, r Claim, with use) (Assignment, error) {
	// Each lookup is made even if another one fails, so that a remote database gets all of them in
	// one round trip, see [store.Loader].
	account, errAccount := c.pickAccount(with.accounts)
	run, errRun := c.run(t.Run)
	before, errBefore := c.previousAttempt(t)
	given := Assignment{Task: t, Before: before}
	if err := errors.Join(errAccount, errRun, errBefore, given.AddMessages(c), given.AddGrants(c)); err != nil {
		return Assignment{}, err
	}
	if run.Active == 0 { // no attempt is running, so nothing is reserved; an older version of gaffer may have left an amount
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
	if before != nil && before.Worker == r.Worker && !t.NewConversation && agentOfAttempt(*before, t) == agentOfAttempt(a, t) { // only the worker and the agent of the previous attempt can continue its conversation
		a.SpentEarlier = before.SpentEarlier.Add(before.Spent)
		a.Thread = before.Thread // set now, so that it is not lost if the attempt ends before its agent has started
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
// any more: if an ended attempt were assigned again, two agents could work on one task.
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
