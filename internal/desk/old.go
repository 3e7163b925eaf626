package desk

import (
	"encoding/json"
	"math"
	"time"

	"gaffer/internal/server"
	"gaffer/internal/store"
)

// Old is what of the desk's rows ended, or was told, before a time. Channels and
// chains never end, and neither do their runs.
type Old struct {
	Tasks  []OldTask
	Stay   map[store.TaskKey]bool // all other tasks
	Inputs []store.ItemKey        // that were claimed
	Notes  []store.ItemKey
}

// OldTask is a task that has ended.
type OldTask struct {
	store.TaskKey
	Failed   bool
	Attempts int
	Inputs   store.ItemList // that nobody has claimed, nor ever will
}

// Ours reports whether a run is that of a channel or a chain.
func Ours(run string) bool { return ours(run) }

// FindOld looks for what is old.
func FindOld(r store.Reader, before time.Time) (Old, error) {
	old := Old{Stay: map[store.TaskKey]bool{}}
	runs, err := runsOf(r, server.TaskFilter{})
	for _, run := range runs {
		if err == nil {
			err = old.addTasks(r, run, before)
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

func (o *Old) addTasks(r store.Reader, run string, before time.Time) error {
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
			o.Stay[t.TaskKey] = true
			continue
		}
		o.Tasks = append(o.Tasks, OldTask{
			TaskKey: t.TaskKey, Failed: t.Status == store.Failed, Attempts: tries[t.Task],
			Inputs: store.ItemList{Kind: kindInput, Parent: wireID(t.TaskKey)},
		})
	}
	return nil
}

// endOf is when a task ended whose last attempt ended then. Of one that nobody
// ever tried it is only known when it was made.
func endOf(t store.Task, last time.Time) time.Time {
	if !last.IsZero() {
		return last
	}
	var s spec
	_ = json.Unmarshal(t.Spec, &s) // then it was made long ago
	return s.Step.Created
}

// oldItems lists items of a kind that are nobody's, the oldest first.
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

// itemsAtOnce is how many items are looked at together.
const itemsAtOnce = 1000
