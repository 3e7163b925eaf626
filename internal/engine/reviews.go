package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"gaffer/fleet"
	"gaffer/internal/engine/review"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// ReviewKind is the Kind of the [store.Item] rows that hold reviews. The Parent of such a row is
// the id of the run.
const ReviewKind = "review"

// reviews stores the users' reviews of the changes that tasks have made.
type reviews struct {
	*txContext
	messages *messages
}

func reviewKey(key store.TaskKey) store.ItemKey {
	return store.ItemKey{Kind: ReviewKind, ID: TaskItemID(key)}
}

// Review returns the review of a task. If the task was not reviewed yet, the result is an
// open review without comments.
func (e *Engine) Review(ctx context.Context, key store.TaskKey) (v fleet.Review, err error) {
	err = e.store.Read(ctx, func(r store.Reader) error {
		if _, err := r.Task(key); err != nil {
			return asNotFound(err, "task", key.Task)
		}
		v, _, err = reviewOf(r, key)
		return err
	})
	return v, err
}

// Reviews returns the reviews of a run's tasks, in the order of the tasks. Tasks without a review
// are left out.
func (e *Engine) Reviews(ctx context.Context, run string) (list []fleet.Review, err error) {
	err = e.store.Read(ctx, func(r store.Reader) error {
		list = nil
		if _, err := r.Run(run); err != nil {
			return asNotFound(err, "run", run)
		}
		items, err := r.Items(ReviewKind, run, math.MinInt64, math.MaxInt32)
		for _, item := range items {
			v, err := decodeReview(item)
			if err != nil {
				return err
			}
			list = append(list, v)
		}
		return err
	})
	return list, err
}

type itemReader interface {
	Item(key store.ItemKey) (store.Item, error)
}

func reviewOf(r itemReader, key store.TaskKey) (v fleet.Review, known bool, err error) {
	item, err := r.Item(reviewKey(key))
	if errors.Is(err, store.ErrNotFound) {
		return fleet.Review{Run: key.Run, Task: key.Task, State: fleet.ReviewOpen}, false, nil
	}
	if err != nil {
		return v, false, err
	}
	v, err = decodeReview(item)
	return v, true, err
}

func decodeReview(item store.Item) (v fleet.Review, err error) {
	if err := json.Unmarshal(item.Data, &v); err != nil {
		return v, fmt.Errorf("review %s: %w", item.ID, err)
	}
	return v, nil
}

// ChangeReview calls the function change with the review of a task, and stores the changed review.
// The function change should call functions of package review, which check the rules. It may be
// called more than once, because the transaction may be repeated. If it returns an error or changes
// nothing, nothing is stored. ChangeReview returns a [*ConflictError] if change approves the work
// of a task that has not ended, or adds a comment for a task that has no agent of its own because
// it picks one of several candidates.
func (e *Engine) ChangeReview(ctx context.Context, key store.TaskKey, who string, change func(*fleet.Review) error) error {
	return e.write(ctx, who, func(tx *transaction) error {
		t, err := tx.task(key)
		if err != nil {
			return err
		}
		v, _, err := reviewOf(tx, key)
		if err != nil {
			return err
		}
		before := v
		if err := change(&v); err != nil {
			return err
		}
		if reflect.DeepEqual(v, before) { // nothing has changed, for example because the request was repeated
			return nil
		}
		// Several agents may do the same task; each result is a candidate. A task that picks one of
		// the candidates has no agent of its own that could receive comments.
		if len(v.Comments) > len(before.Comments) && t.Account == plan.PickAgent {
			return tx.pickTaskError(t)
		}
		if v.State == fleet.ReviewApproved && before.State != v.State && !t.Status.Final() {
			return &ConflictError{"task " + t.Task, fmt.Sprintf("is %s: its change can be approved when it has ended", t.Status)}
		}
		v.By = tx.who
		return tx.reviews.put(t, v, before.State)
	})
}

// ActOnReview performs the user's action a on the review of a task, and returns the changed review.
// It returns the same errors as [Engine.SendBack] and [Engine.ChangeReview].
func (e *Engine) ActOnReview(ctx context.Context, key store.TaskKey, who string, a fleet.ReviewAction) (v fleet.Review, err error) {
	if a.Action == fleet.ActSendBack {
		err = e.SendBack(ctx, key, who, a.Tree)
	} else {
		err = e.ChangeReview(ctx, key, who, func(r *fleet.Review) error { return review.Apply(r, a, cmp.Or(who, e.opts.Who), e.opts.Now()) })
	}
	if err != nil {
		return v, err
	}
	return e.Review(ctx, key)
}

// put stores the review v and appends an event. The parameter old is the state of the review before
// this change.
func (rs *reviews) put(t store.Task, v fleet.Review, old fleet.ReviewState) error {
	v.Run, v.Task, v.Updated = t.Run, t.Task, rs.now
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("review of %s: %w", t.Task, err)
	}
	rs.PutItem(store.Item{ItemKey: reviewKey(t.TaskKey), Parent: t.Run, Seq: t.Seq, Data: data, Made: rs.now})
	kind := "review.changed"
	if v.State != old {
		kind = "review." + string(v.State)
	}
	rs.Append(store.Event{
		At: rs.now, Kind: kind, Run: t.Run, Task: t.Task, Who: rs.who,
		Why: fmt.Sprintf("%d comments, %d not sent", len(v.Comments), review.Drafts(v)),
	})
	return nil
}

// update calls the parameter rule, a function of package review, to change the review of a task. It
// does nothing if the task has no review. It does not change v.By, the user who changed the review
// last.
func (rs *reviews) update(key store.TaskKey, rule func(*fleet.Review)) error {
	v, known, err := reviewOf(rs.Tx, key)
	if err != nil || !known {
		return err
	}
	t, err := rs.task(key)
	if err != nil {
		return err
	}
	before := v
	if rule(&v); v.State == before.State && slices.Equal(v.Comments, before.Comments) {
		return nil
	}
	return rs.put(t, v, before.State)
}

// voidApproval makes the approval of a task's change void, because the task is queued again.
func (rs *reviews) voidApproval(key store.TaskKey) error { return rs.update(key, review.VoidApproval) }

// recordAnswers reads the agent's answers to review comments from the last message of an attempt,
// and stores them in the review.
func (rs *reviews) recordAnswers(a store.Attempt) error {
	all, err := rs.messages.ofTask(a.Key())
	if err != nil {
		return err
	}
	var rounds []int
	for _, m := range all {
		if m.Round > 0 && !m.Delivered.IsZero() {
			rounds = append(rounds, m.Round)
		}
	}
	answers := review.Answers(cmp.Or(a.Answer, a.Summary))
	return rs.update(a.Key(), func(v *fleet.Review) { review.RecordAnswers(v, rounds, answers, a.ID, rs.now) })
}

// withdraw withdraws a message to an agent. Review comments in the message become drafts again.
func (rs *reviews) withdraw(m message) error {
	m.Withdrawn = true
	if err := rs.messages.put(m, "message.withdrawn", ""); err != nil || m.Round == 0 {
		return err
	}
	return rs.update(store.TaskKey{Run: m.Run, Task: m.Task}, func(v *fleet.Review) { review.ReturnToDrafts(v, m.Round) })
}

// withdrawAll withdraws all messages that a task's agent has not received.
func (rs *reviews) withdrawAll(key store.TaskKey) error {
	all, err := rs.messages.ofTask(key)
	if err != nil {
		return err
	}
	for _, m := range all {
		if m.Waiting() {
			if err := rs.withdraw(m); err != nil {
				return err
			}
		}
	}
	return nil
}

// returnToUser ends the state "sent back" of a task's review, because the task has ended and the
// user must review the change again. It also clears t.SentBack; the caller must store t. It does
// nothing while a message with review comments still waits for the agent.
func (rs *reviews) returnToUser(t *store.Task) error {
	waiting, err := rs.messages.waiting(t.TaskKey)
	if err != nil || slices.ContainsFunc(waiting, func(m fleet.Message) bool { return m.Round > 0 }) {
		return err
	}
	t.SentBack = false
	return rs.update(t.TaskKey, review.EndRound)
}
