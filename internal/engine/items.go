package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// HeldItem is an item of a source of tasks, such as an issue of an issue tracker, that may not get
// a new task now. By is the task that was queued for the item last. Status is the status of By.
type HeldItem struct {
	Item   plan.SourceItem
	By     store.TaskKey
	Status store.Status
}

func (h HeldItem) String() string {
	return fmt.Sprintf("%s of %s is %s in run %s", h.Item.ID, h.Item.Source, h.Status, h.By.Run)
}

// ItemsHeldError reports items, such as issues, that already have a task. The engine returns it if
// a new run may not have tasks for these items, or if an ended task cannot be queued again because
// another task works on its item.
type ItemsHeldError struct{ Items []HeldItem }

func (e *ItemsHeldError) Error() string {
	texts := make([]string, min(len(e.Items), 3))
	for i := range texts {
		texts[i] = e.Items[i].String()
	}
	if more := len(e.Items) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, ", ")
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *ItemsHeldError) Conflict() bool { return true }

// items records, for each item of a source (such as an issue of an issue tracker), the task that
// was queued for the item last: a new task, or an ended task that was queued again. This task is
// called the item's holder. An item cannot have two unfinished tasks. Candidates, which are several
// tasks that do the same work, do not count.
type items struct{ *txContext }

// itemKey returns the key of the idempotency record that stores which task was queued last for an
// item.
func itemKey(i plan.SourceItem) string { return "item " + i.Source + " " + i.ID }

// holderReader has the methods of [store.Reader] that find the task that was queued last for an
// item. Both a transaction and a reader implement it.
type holderReader interface {
	IdempotencyRecord(key string) (store.IdempotencyRecord, error)
	Task(key store.TaskKey) (store.Task, error)
}

// holderOf returns the task that was queued last for an item, or for a bead (a work item of the
// ledger protocol). key is the key of the idempotency record that stores this task's key. If there
// is no such task, the error is [store.ErrNotFound].
func holderOf(r holderReader, key string) (t store.Task, err error) {
	p, err := r.IdempotencyRecord(key)
	if err != nil {
		return t, err
	}
	var by store.TaskKey
	if err := json.Unmarshal(p.Answer, &by); err != nil {
		return t, fmt.Errorf("%s: %w", key, err)
	}
	return r.Task(by)
}

// HeldItems returns those items of a new plan's tasks, such as issues, for which no new task may be
// created now.
func HeldItems(r holderReader, tasks []plan.Task) (held []HeldItem, err error) {
	for _, t := range tasks {
		if t.Item.ID == "" || t.Candidate != "" {
			continue
		}
		keys := []string{itemKey(t.Item)}
		// If the task works on a bead, which is a work item of the ledger protocol, the command
		// 'gaffer dispatch' may have created another task for the bead.
		if t.Dispatch != nil {
			keys = append(keys, beadKey(t.Dispatch))
		}
		for _, key := range keys {
			by, err := holderOf(r, key)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if mayNotTake(t.Item.Take, by.Status) {
				held = append(held, HeldItem{t.Item, by.TaskKey, by.Status})
				break
			}
		}
	}
	return held, nil
}

// mayNotTake reports whether no new task may be created for an item. status is the status of the
// item's last task. The parameter take says for which items the plan wants tasks.
func mayNotTake(take plan.ItemTake, status store.Status) bool {
	switch {
	case !status.Final():
		return true
	case status == store.Complete:
		return take != plan.TakeAgain
	}
	return take == plan.TakeNew
}

// take records that a new task was created for its item. It does nothing if the task has no item,
// or is a candidate: the item then belongs to the task that picks one of the candidates.
func (i *items) take(run string, t plan.Task) error {
	if t.Item.ID == "" || t.Candidate != "" {
		return nil
	}
	return i.setHolder(t.Item, store.TaskKey{Run: run, Task: t.ID})
}

func (i *items) setHolder(item plan.SourceItem, key store.TaskKey) error {
	answer, err := json.Marshal(key)
	if err != nil {
		return err
	}
	i.PutIdempotencyRecord(store.IdempotencyRecord{Key: itemKey(item), Answer: answer, Made: i.now})
	return nil
}

// holdAgain records that an ended task, which is queued again, works on its item again. It returns
// an [*ItemsHeldError] if another unfinished task works on the item. It does nothing if the task
// has no item or is a candidate.
func (i *items) holdAgain(t store.Task) error {
	spec, err := itemSpec(t)
	if err != nil || spec.Item.ID == "" || spec.Candidate != "" {
		return err
	}
	by, err := holderOf(i, itemKey(spec.Item))
	switch {
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return err
	case err == nil && by.TaskKey == t.TaskKey:
		return nil
	case err == nil && !by.Status.Final():
		return &ItemsHeldError{[]HeldItem{{spec.Item, by.TaskKey, by.Status}}}
	}
	return i.setHolder(spec.Item, t.TaskKey)
}

// itemSpec returns the decoded spec of t if t was made from an item, and a zero spec if not. To
// save time, it decodes only specs whose JSON contains an item.
func itemSpec(t store.Task) (plan.Task, error) {
	if !strings.Contains(string(t.Spec), `"Item":`) { // JSON name of plan.Task.Item
		return plan.Task{}, nil
	}
	spec, err := plan.DecodeTask(t.Spec)
	if err != nil {
		return plan.Task{}, fmt.Errorf("task %s: %w", t.Task, err)
	}
	return spec, nil
}

// WithoutItems returns the plan without the tasks for the items (such as issues) in held. If such a
// task picks one of several candidates, which are tasks that do the same work, the candidates are
// left out too. WithoutItems also leaves out tasks that depend on a task that is left out, because
// they could never start. There is one exception: if another run has completed the work on an item,
// the tasks that depend on that work stay in the plan, and need not wait.
func WithoutItems(p plan.Plan, held []HeldItem) plan.Plan {
	// left contains the ids of the tasks that are left out. done[id] is true if another run has
	// completed the work of the task with this id.
	left, done := map[string]bool{}, map[string]bool{}
	for i, t := range p.Tasks {
		at := slices.IndexFunc(held, func(h HeldItem) bool { return itemKey(h.Item) == itemKey(t.Item) })
		if t.Item.ID != "" && at >= 0 {
			left[p.Tasks[i].ID] = true
			done[p.Tasks[i].ID] = held[at].Status == store.Complete
		}
	}
	waits := func(t plan.Task) bool {
		return slices.ContainsFunc(t.After, func(id string) bool { return left[id] && !done[id] })
	}
	for again := true; again; {
		again = false
		for _, t := range p.Tasks {
			if !left[t.ID] && (waits(t) || left[t.Candidate]) {
				left[t.ID], again = true, true
			}
		}
	}
	p.Tasks = slices.DeleteFunc(slices.Clone(p.Tasks), func(t plan.Task) bool { return left[t.ID] })
	for i, t := range p.Tasks {
		p.Tasks[i].After = slices.DeleteFunc(slices.Clone(t.After), func(id string) bool { return left[id] })
	}
	return p
}
