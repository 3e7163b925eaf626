package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/record"
)

// transaction is an engine transaction in progress. Each field has the methods for one kind of
// change. For example, the methods of the field questions store questions and answers. Each field
// contains pointers to those other fields whose methods it calls.
type transaction struct {
	*txContext
	beads        beads
	items        items
	budgets      budgets
	workers      workers
	questions    questions
	messages     messages
	reviews      reviews
	states       taskStates
	propagation  propagation
	cancellation cancellation
	retries      retries
	rateLimits   rateLimits
	claims       claims
	finishes     finishes
	turns        turns
	heartbeats   heartbeats
	submissions  submissions
	steering     steering
}

// newTransaction returns a transaction. It gives each field pointers to the other fields whose
// methods it calls.
func newTransaction(c *txContext) *transaction {
	tx := &transaction{txContext: c, beads: beads{c}, items: items{c}, budgets: budgets{c}, workers: workers{c}, questions: questions{c}, messages: messages{c}}
	tx.reviews = reviews{c, &tx.messages}
	tx.states = taskStates{txContext: c, workers: &tx.workers, reviews: &tx.reviews, items: &tx.items}
	tx.propagation = propagation{c, &tx.states}
	tx.cancellation = cancellation{c, &tx.states, &tx.propagation}
	tx.retries = retries{c, &tx.states, &tx.beads, &tx.items, &tx.reviews, &tx.budgets}
	tx.rateLimits = rateLimits{c, &tx.states}
	tx.claims = claims{c, &tx.states, &tx.propagation, &tx.budgets}
	tx.finishes = finishes{c, &tx.states, &tx.propagation, &tx.questions, &tx.rateLimits, &tx.messages, &tx.reviews, &tx.budgets}
	tx.turns = turns{c, &tx.claims, &tx.finishes}
	tx.heartbeats = heartbeats{c, &tx.workers, &tx.questions, &tx.messages, &tx.budgets}
	tx.submissions = submissions{c, &tx.states, &tx.beads, &tx.items}
	tx.steering = steering{c, &tx.states, &tx.propagation, &tx.retries, &tx.messages, &tx.reviews}
	return tx
}

// write runs the function fn in a transaction of the store. The parameter who is the user or
// program that the transaction's events name as their cause. If who is empty, the events name
// Options.Who.
func (e *Engine) write(ctx context.Context, who string, fn func(tx *transaction) error) error {
	if who == "" {
		who = e.opts.Who
	}
	var ids []string
	return e.store.Write(ctx, func(tx *store.Tx) error {
		opts := e.opts
		opts.NewID = repeatableIDs(&ids, e.opts.NewID)
		return fn(newTransaction(&txContext{Tx: tx, opts: opts, now: e.opts.Now(), who: who}))
	})
}

// repeatableIDs returns a function that returns the next id of the list ids at each call. At the
// end of the list, it calls newID and adds the new id to the list. A store may try a transaction
// several times until it can commit. Each try calls repeatableIDs with the same list. So each try
// uses the same ids, and changes the same rows.
func repeatableIDs(ids *[]string, newID func() string) func() string {
	used := 0
	return func() string {
		if used == len(*ids) {
			*ids = append(*ids, newID())
		}
		used++
		return (*ids)[used-1]
	}
}

// txContext is what all parts of a transaction share: the store's transaction, the time, and the
// user or program that causes the changes.
type txContext struct {
	*store.Tx
	opts Options
	now  time.Time
	who  string
}

// The methods run, task and attempt return the row with the given id or key. If there is no such
// row, the error is a [*NotFoundError].

func (c *txContext) run(id string) (store.Run, error) {
	run, err := c.Run(id)
	return run, asNotFound(err, "run", id)
}

func (c *txContext) task(key store.TaskKey) (store.Task, error) {
	t, err := c.Task(key)
	return t, asNotFound(err, "task", key.Task)
}

func (c *txContext) attempt(id string) (store.Attempt, error) {
	a, err := c.Attempt(id)
	return a, asNotFound(err, "attempt", id)
}

// ownedAttempt returns the attempt with the given id. The error is a [*NotFoundError] if the
// attempt does not exist. It is a [*ConflictError] if the attempt is not running, or if token is
// not its fencing token.
func (c *txContext) ownedAttempt(id string, token int64) (store.Attempt, error) {
	a, err := c.attempt(id)
	switch {
	case err != nil:
		return a, err
	case a.Token != token:
		return a, &ConflictError{"attempt " + id, "now belongs to another worker"}
	case a.Status != store.Running:
		return a, &ConflictError{"attempt " + id, fmt.Sprintf("is %s already", a.Status)}
	}
	return a, nil
}

// isGone reports whether an error of [txContext.ownedAttempt] means that the worker no
// longer holds the attempt.
func isGone(err error) bool {
	var conflict *ConflictError
	var missing *NotFoundError
	return errors.As(err, &conflict) || errors.As(err, &missing)
}

// heldBy returns the running attempts of a worker.
func (c *txContext) heldBy(worker string) ([]store.Attempt, error) {
	all, err := store.RunningAttempts(c)
	return slices.DeleteFunc(all, func(a store.Attempt) bool { return a.Worker != worker }), err
}

// blockedAccounts returns the names of those [store.Account] rows whose tasks cannot start now,
// because all accounts that can be used for their agent, and for its fallbacks, are paused. The
// field Account of a task names its row.
func (c *txContext) blockedAccounts() ([]string, error) {
	p, err := c.sharedPool()
	if err != nil {
		return nil, err
	}
	return p.blocked(p), nil
}

// leaseEnd returns the end of a lease that is granted or renewed at the time start.
func (c *txContext) leaseEnd(start time.Time) time.Time { return start.Add(c.opts.Lease) }

// event appends the event e. The parameter row is the changed row of the store: a copy of it is
// stored with the event. The Plan of a run and the Spec of a task are long and need not be stored
// with each event, so only the first event of a run or task contains them.
func (c *txContext) event(e store.Event, row any) error {
	first := e.From == "" && e.To != ""
	switch r := row.(type) {
	case store.Run:
		if !first {
			r.Plan = nil
		}
		row = r
	case store.Task:
		if !first {
			r.Spec = nil
		}
		row = r
	}
	text, err := record.Text(row)
	if err != nil {
		return fmt.Errorf("%s: %w", e.Kind, err)
	}
	e.At, e.Who, e.Row = c.now, c.who, json.RawMessage(text)
	c.Append(e)
	return nil
}

// attemptEvent appends an event about an attempt.
func (c *txContext) attemptEvent(kind string, a store.Attempt, why string) error {
	return c.event(store.Event{Kind: kind, Run: a.Run, Task: a.Task, Attempt: a.ID, Why: why}, a)
}

// recordCompactions appends an event for each compaction of the agent's context that the worker
// reports in p. A compaction that was reported before, for example before a crash of the worker,
// gets no second event.
func (c *txContext) recordCompactions(a store.Attempt, p fleet.Progress) error {
	for n := 1; n <= min(p.Compactions, maxCompactions); n++ {
		_, err := once(c, "compacted", fmt.Sprintf("%s %d", a.ID, n), func() (int, error) {
			return n, c.attemptEvent("attempt.compacted", a, p.Compacted)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// maxCompactions is how many compaction events one attempt may have.
const maxCompactions = 1000

// asNotFound converts store.ErrNotFound to a [*NotFoundError] that names the row. It returns any
// other err unchanged.
func asNotFound(err error, what, id string) error {
	if errors.Is(err, store.ErrNotFound) {
		return &NotFoundError{what, id}
	}
	return err
}
