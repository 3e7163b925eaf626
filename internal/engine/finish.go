package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
)

// Finish is a worker's report of how an attempt ended.
type Finish struct {
	Attempt string
	Token   int64
	Key     string // idempotency key: a repeated report with the same key gets the same result

	// Progress is the last progress of the attempt. Progress.LogFrom is the offset in the log at
	// which the attempt's output starts. Workers set it even if the agent has not started. Only
	// workers that use a gaffer server leave it zero.
	fleet.Progress
	fleet.Ending
	Final bool // do not retry this failure, even if the task has retries left
	// Reset is the time at which the agent's rate limit ends. It is zero if the agent has reached
	// no rate limit, or if the time is unknown.
	Reset time.Time
	// Delivered are the ids of the messages that the agent's program has received.
	Delivered []string
}

// FinishResult describes the task after one of its attempts has ended.
type FinishResult struct {
	Status store.Status `json:"status"`
	// RetryAt is the earliest start of the next attempt. It is zero if that attempt may start at
	// once, or if the task has ended.
	RetryAt         time.Time `json:"retry,omitzero"`
	NewConversation bool      `json:"fresh,omitempty"` // the next attempt starts a new conversation
}

// Finish ends an attempt. It changes nothing and returns a [*ConflictError] if the attempt
// has already ended, for example because its lease has expired.
func (e *Engine) Finish(ctx context.Context, f Finish) (o FinishResult, err error) {
	err = e.write(ctx, "", func(tx *transaction) error {
		o, err = once(tx.txContext, "finish", f.Key, func() (FinishResult, error) { return tx.finishes.finish(f) })
		return err
	})
	return o, err
}

// finishes ends attempts.
type finishes struct {
	*txContext
	states      *taskStates
	propagation *propagation
	questions   *questions
	rateLimits  *rateLimits
	messages    *messages
	reviews     *reviews
	budgets     *budgets
}

func (e *finishes) finish(f Finish) (FinishResult, error) {
	a, err := e.ownedAttempt(f.Attempt, f.Token)
	if err != nil {
		return FinishResult{}, err
	}
	e.who = a.Worker
	if err := e.recordCompactions(a, f.Progress); err != nil {
		return FinishResult{}, err
	}
	if err := e.messages.deliver(a, f.Delivered); err != nil {
		return FinishResult{}, err
	}
	a.Ending = f.Ending
	// If the report contains a cost, store that cost. If not, keep the cost of the last heartbeat.
	if f.Spent != (store.Amount{}) {
		a.Spent = f.Spent
	}
	a.Thread, a.Log, a.LogFrom = cmp.Or(f.Thread, a.Thread), cmp.Or(f.Log, a.Log), cmp.Or(a.LogFrom, f.LogFrom)
	a.Compacted, a.Compactions = cmp.Or(f.Compacted, a.Compacted), cmp.Or(f.Compactions, a.Compactions)
	a.Sandbox, a.Context = cmp.Or(f.Sandbox, a.Sandbox), cmp.Or(f.Context, a.Context)
	if f.Class == failure.RateLimited || f.Class == failure.Auth {
		if err := e.pauseAccountOf(a, f); err != nil {
			return FinishResult{}, err
		}
	}
	return e.endAttempt(a, f.Class, f.Final)
}

// pauseAccountOf pauses the account that an attempt has used, because the account has reached a
// rate limit or its login was refused. After a refused login, it pauses the account only if the
// agent has another account that may work (see hasOtherLogin).
func (e *finishes) pauseAccountOf(a store.Attempt, f Finish) error {
	t, err := e.task(a.Key())
	if err != nil {
		return err
	}
	end := f.Reset
	if f.Class == failure.Auth {
		other, err := e.hasOtherLogin(a, t)
		if err != nil || !other {
			return err
		}
		end = e.now.Add(refusedLoginPause)
	}
	return e.rateLimits.pauseAccount(accountOf(a, t), end, f.Class)
}

// hasOtherLogin reports whether the agent of an attempt has another account whose login was not
// refused. That other account may be paused because of a rate limit. The result is false if
// a.Account is empty: the attempt has then used the login of the agent's program.
func (e *finishes) hasOtherLogin(a store.Attempt, t store.Task) (bool, error) {
	if a.Account == "" {
		return false, nil
	}
	p, err := e.sharedPool()
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(p.accounts(agentOfAttempt(a, t)), func(other WorkerAccount) bool {
		row := p.rows[AccountName(cmp.Or(a.Fallback, t.Agent()), other.Name)]
		return other.Name != a.Account && (row.Until.IsZero() || row.Reason != string(failure.Auth))
	}), nil
}

// endAttempt ends an attempt, decides whether its task is retried, and updates the task and its
// run.
func (e *finishes) endAttempt(a store.Attempt, class failure.Class, final bool) (FinishResult, error) {
	// Make all lookups before checking their errors. On a remote database, the lookup of a row that
	// is not loaded yet returns an error. All these rows are then loaded in one round trip, and the
	// request runs again (see [store.Loader]). The dependents are needed later, by the method
	// statusChanged.
	t, errTask := e.task(a.Key())
	run, errRun := e.run(a.Run)
	_, errDependents := e.Dependents(a.Key())
	err := errors.Join(errTask, errRun, errDependents)
	if err != nil {
		return FinishResult{}, err
	}
	if a.StopReason != "" && a.StopReason != cancelled && class != failure.None {
		class = failure.Class(a.StopReason)
	}
	if class == failure.Lost {
		t.Lost++
	}
	if class, err = e.settle(&a, &t, &run, class); err != nil {
		return FinishResult{}, err
	}
	v, err := e.decide(a, t, run, class, final)
	if err != nil {
		return FinishResult{}, err
	}
	if class == failure.Lost && v.Status == store.Failed && !final {
		a.Summary = fmt.Sprintf("%s; %d attempts at this task were lost, so the task may be what ends its workers: find out why before you retry it",
			cmp.Or(a.Summary, "the attempt was lost"), t.Lost)
	}

	a.Class, a.Ended, a.State, a.Doing, a.HasMessages = class, e.now, "", "", false
	endWait(&a, e.now)
	switch {
	case v.Status == store.Cancelled:
		a.Status = store.Cancelled
	case class == failure.None:
		a.Status = store.Complete
	default:
		a.Status = store.Failed
	}
	if err := e.questions.closeAll(a.ID); err != nil {
		return FinishResult{}, err
	}

	run.Waited += a.Waited
	worked := max(a.Ended.Sub(a.Started)-a.Waited, 0)
	run.Worked += worked
	e.PutRun(run)
	t.Worked += worked

	if t.SentBack && class == failure.None {
		if err := e.reviews.recordAnswers(a); err != nil {
			return FinishResult{}, err
		}
	}
	if t.HasMessages && v.Status.Final() && (!final || class == failure.None) {
		if v, err = e.decideForMessages(v, a, &t, run, class); err != nil {
			return FinishResult{}, err
		}
	}

	t.RunningAttempt, t.LastAttempt, t.NewConversation, t.Outcome, t.NotBefore = "", a.ID, v.NewConversation, string(class), time.Time{}
	if !v.Counts {
		t.CountedAttempts--
	}
	// Do not delay a retry in an ordered run, whose tasks run one after the other. The next task
	// would otherwise start before the delayed one.
	if v.Delay > 0 && !run.Ordered {
		t.NotBefore = e.now.Add(v.Delay)
	}
	o := FinishResult{Status: v.Status, RetryAt: t.NotBefore, NewConversation: v.NewConversation}
	if err := e.states.setStatusWithAttempt(&t, &a, v.Status, a.Summary); err != nil {
		return o, err
	}
	return o, e.propagation.statusChanged(t)
}

// decide decides what happens to the task of an attempt that has ended with this failure class. A
// task that would fail is queued again if it can continue with another login, or if it can continue
// when the day or month of the user's spending limit ends. If final is set, the worker knows that
// no other attempt can succeed, so the task fails instead of being queued again.
func (e *finishes) decide(a store.Attempt, t store.Task, run store.Run, class failure.Class, final bool) (v decision, err error) {
	v = decideNext(class, a.StopReason, t, e.opts.Rand())
	continues := false
	switch {
	case v.Status != store.Failed:
	case class == failure.OverBudget:
		continues, err = e.budgets.waitsForPeriod(run, t, a)
	case class == failure.Auth && !final:
		continues, err = e.hasOtherLogin(a, t)
	}
	if continues {
		v = decision{Status: store.Queued}
	}
	if final && v.Status == store.Queued {
		v = decision{Status: store.Failed, Counts: true}
	}
	return v, err
}

// decideForMessages returns the decision to queue a task again if the decision v would end the task
// while the user's messages still wait for its agent. In this case, it stores in t.EndedAs how the
// task would have ended, and allows at least one more attempt. It returns v unchanged if no message
// needs another attempt, if the budgets do not allow one, or if it could not deliver the message
// (see retryForMessage).
func (e *finishes) decideForMessages(v decision, a store.Attempt, t *store.Task, run store.Run, class failure.Class) (decision, error) {
	another, err := e.messages.needsAttempt(*t, class)
	if err != nil || !another {
		return v, err
	}
	if may, err := e.budgets.mayStartNow(run, *t); err != nil || !may {
		return v, err
	}
	ends := v.Status
	if v = v.retryForMessage(class, a.StopReason, e.opts.Rand()); v.Status == store.Queued {
		t.EndedAs, t.Retries = ends, max(t.Retries, t.CountedAttempts)
	}
	return v, nil
}

// settle adds what an ended attempt has spent to its run, its task and the sums of its day and
// month. It returns the attempt's class. If a successful attempt has spent more than its limit, the
// class becomes OverBudget.
func (e *finishes) settle(a *store.Attempt, t *store.Task, run *store.Run, class failure.Class) (failure.Class, error) {
	if err := e.budgets.count(a, *t, *run); err != nil {
		return class, err
	}
	scopes, err := e.budgets.scopes(*a, *t, *run)
	if err != nil {
		return class, err
	}
	if err := e.budgets.warn(scopes, *a); err != nil {
		return class, err
	}
	if err := e.budgets.uncountLive(*a, *t, *run); err != nil {
		return class, err
	}
	run.Reserved = subtractAmounts(run.Reserved, reserveOf(*t))
	run.Spent, t.Spent = run.Spent.Add(a.Spent), t.Spent.Add(a.Spent)
	if class == failure.None && a.Spent.Exceeds(a.Limit) {
		class = failure.OverBudget
		a.Summary = strings.TrimSpace(OverBudgetText(a.Spent, a.Limit) + "\n" + a.Summary)
	}
	return class, nil
}

// OverBudgetText returns a text for an attempt that has spent more than it was allowed to, such as
// "spent $0.0047 of $0.0020".
func OverBudgetText(spent, limit store.Amount) string { return "spent " + spent.Of(limit) }

// Release ends attempts that a worker gives back because it is stopping. Their tasks are queued
// again at once, without using up a retry. The worker must first end all processes of these
// attempts. Release skips attempts that the worker does not hold, so a request may be repeated.
func (e *Engine) Release(ctx context.Context, worker string, held []HeldAttempt) error {
	return e.write(ctx, worker, func(tx *transaction) error {
		return tx.finishes.release(worker, held)
	})
}

func (e *finishes) release(worker string, held []HeldAttempt) error {
	for _, h := range held {
		a, err := e.ownedAttempt(h.Attempt, h.Token)
		if isGone(err) || err == nil && a.Worker != worker {
			continue
		}
		if err != nil {
			return err
		}
		applyProgress(&a, h.Now)
		if err := e.messages.deliver(a, h.Delivered); err != nil {
			return err
		}
		a.Exit, a.Summary = -1, "the worker has handed it back"
		if _, err := e.endAttempt(a, failure.Released, false); err != nil {
			return err
		}
	}
	return nil
}

// expireAttempts ends attempts whose worker has stopped sending heartbeats, and asks workers to end
// attempts that have exceeded their task's timeout. It returns how many attempts it has handled.
// reachableSince is the time since which workers could reach this process (see [Engine.Sweep]).
func (e *finishes) expireAttempts(reachableSince time.Time) (expired int, err error) {
	due, err := e.DueAttempts(e.now, sweepAtOnce)
	if err != nil {
		return 0, err
	}
	for _, a := range due {
		if e.opts.Endless && a.Lease.Before(e.now.Add(e.opts.Lease/2)) {
			// The lease is shorter than the leases of this engine, so a gaffer server has assigned
			// the attempt. Only the server may end it.
			continue
		}
		expired++
		silent, until := a.Lease.Before(e.now), e.leaseEnd(reachableSince)
		switch {
		case silent && e.now.Before(until):
			// The lease has ended, but perhaps only because the worker could not reach this process
			// to renew it. So extend the lease. If the attempt has also exceeded its task's
			// timeout, the next call of expireAttempts handles that.
			a.Lease = until
			e.PutAttempt(a)
		case silent:
			a.Summary = "the worker was not heard of for " + e.opts.Lease.String()
			_, err = e.endAttempt(a, failure.Lost, false)
		default:
			a.StopReason = cmp.Or(a.StopReason, string(failure.TimedOut))
			// StopReason asks the worker to end the attempt. Clear the attempt's deadline, so that
			// the next call of expireAttempts does not handle this attempt again.
			a.Deadline = time.Time{}
			e.PutAttempt(a)
			err = e.attemptEvent("attempt.stopping", a, "its deadline has passed")
		}
		if err != nil {
			return 0, err
		}
	}
	return expired, nil
}
