package protocol

import (
	"math"
	"time"

	"gaffer/internal/api/server"
	"gaffer/internal/engine/store"
	"gaffer/internal/record/prune"
)

// Rows finds the rows that clients of the protocol have created and that are old enough to delete.
// It implements [prune.ProtocolRows].
type Rows struct{}

// OwnsRun reports whether a run belongs to a channel or a chain.
func (Rows) OwnsRun(run string) bool { return OwnsRun(run) }

// FindOld returns the tasks, inputs and notes of protocol clients that are old, and the keys of the
// other tasks, which must be kept. Inputs are text or keys for the agent of a task. Notes are
// events that clients have published.
//   - A task of a channel or chain is old if it ended before the given time.
//   - An input is old if an agent claimed it before that time. Inputs that no agent has claimed
//     are listed with their task.
//   - A note is old if it was created before that time.
func (Rows) FindOld(r store.Reader, before time.Time) (prune.OldProtocolRows, error) {
	old := prune.OldProtocolRows{KeptTasks: map[store.TaskKey]bool{}}
	runs, err := runsOf(r, server.TaskFilter{})
	for _, run := range runs {
		if err == nil {
			err = addTasks(&old, r, run, before)
		}
	}
	if err == nil {
		old.Inputs, err = oldItems(r, kindInput, before)
	}
	if err == nil {
		old.Notes, err = oldItems(r, kindNote, before)
	}
	return old, err
}

func addTasks(o *prune.OldProtocolRows, r store.Reader, run string, before time.Time) error {
	tasks, err := r.Tasks(run)
	if err != nil {
		return err
	}
	attempts, err := r.AttemptsOf(run)
	if err != nil {
		return err
	}
	ended, tries := map[string]time.Time{}, map[string]int{}
	for _, a := range attempts {
		tries[a.Task]++
		if a.Ended.After(ended[a.Task]) {
			ended[a.Task] = a.Ended
		}
	}
	for _, t := range tasks {
		if !t.Status.Final() || !endOf(t, ended[t.Task]).Before(before) {
			o.KeptTasks[t.TaskKey] = true
			continue
		}
		o.Tasks = append(o.Tasks, prune.OldTask{
			TaskKey: t.TaskKey, LastAttempt: t.LastAttempt, Attempts: tries[t.Task],
			Inputs: store.ItemList{Kind: kindInput, Parent: wireID(t.TaskKey)},
		})
	}
	return nil
}

// endOf returns when a task ended: lastAttempt, which is when its last attempt ended. If the task
// had no attempt, lastAttempt is zero and endOf returns when the task was created.
func endOf(t store.Task, lastAttempt time.Time) time.Time {
	if !lastAttempt.IsZero() {
		return lastAttempt
	}
	s, _ := specOf(t) // on an error Created is zero, so the task counts as old
	return s.Step.Created
}

// oldItems returns the keys of the items of the given kind that were last stored before the given
// time. It considers only items without a parent. The parent of an input is its task until an agent
// claims the input; then it has none.
func oldItems(r store.Reader, kind string, before time.Time) (keys []store.ItemKey, err error) {
	for after := int64(math.MinInt64); ; {
		items, err := r.Items(kind, "", after, itemsAtOnce)
		if err != nil {
			return nil, err
		}
		for _, i := range items {
			if i.Made.Before(before) {
				keys = append(keys, i.ItemKey)
			}
			after = i.Seq
		}
		if len(items) < itemsAtOnce {
			return keys, nil
		}
	}
}

// itemsAtOnce is how many items oldItems reads at a time.
const itemsAtOnce = 1000
