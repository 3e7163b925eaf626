package memo

import (
	"slices"
	"time"

	"gaffer/internal/store"
)

// Reader remembers what it has looked up in another one.
type Reader struct {
	store.Reader
	Seen Seen
}

// Seen is what a [Reader] remembers.
type Seen struct {
	Runs       Rows[string, store.Run]
	Tasks      Rows[store.TaskKey, store.Task]
	Attempts   Rows[string, store.Attempt]
	Workers    Rows[string, store.Worker]
	Promises   Rows[string, store.Promise]
	Dependents Rows[store.TaskKey, []store.Task]
	Questions  List[store.Question] // those that are open
	Lanes      List[store.Lane]
	LabelSets  List[string]
}

// Run implements [store.Reader].
func (r *Reader) Run(id string) (store.Run, error) { return r.Seen.Runs.Get(id, r.Reader.Run) }

// Runs implements [store.Reader].
func (r *Reader) Runs() ([]store.Run, error) { return r.seeRuns(r.Reader.Runs()) }

// RunningRuns implements [store.Reader].
func (r *Reader) RunningRuns() ([]store.Run, error) { return r.seeRuns(r.Reader.RunningRuns()) }

// Task implements [store.Reader].
func (r *Reader) Task(key store.TaskKey) (store.Task, error) {
	return r.Seen.Tasks.Get(key, r.Reader.Task)
}

// Attempt implements [store.Reader].
func (r *Reader) Attempt(id string) (store.Attempt, error) {
	return r.Seen.Attempts.Get(id, r.Reader.Attempt)
}

// Worker implements [store.Reader].
func (r *Reader) Worker(id string) (store.Worker, error) {
	return r.Seen.Workers.Get(id, r.Reader.Worker)
}

// Promise implements [store.Reader].
func (r *Reader) Promise(key string) (store.Promise, error) {
	return r.Seen.Promises.Get(key, r.Reader.Promise)
}

// Dependents implements [store.Reader].
func (r *Reader) Dependents(key store.TaskKey) ([]store.Task, error) {
	list, err := r.Seen.Dependents.Get(key, r.Reader.Dependents)
	return r.see(slices.Clone(list), err)
}

// Questions implements [store.Reader].
func (r *Reader) Questions(open bool) ([]store.Question, error) {
	if !open {
		return r.Reader.Questions(false)
	}
	return r.Seen.Questions.Get(func() ([]store.Question, error) { return r.Reader.Questions(true) })
}

// Lanes implements [store.Reader].
func (r *Reader) Lanes() ([]store.Lane, error) { return r.Seen.Lanes.Get(r.Reader.Lanes) }

// LabelSets implements [store.Reader].
func (r *Reader) LabelSets() ([]string, error) { return r.Seen.LabelSets.Get(r.Reader.LabelSets) }

// Tasks implements [store.Reader].
func (r *Reader) Tasks(run string) ([]store.Task, error) { return r.see(r.Reader.Tasks(run)) }

// Claimable implements [store.Reader].
func (r *Reader) Claimable(c store.Claim) ([]store.Task, error) { return r.see(r.Reader.Claimable(c)) }

// Waiting implements [store.Reader].
func (r *Reader) Waiting(w store.Wait) ([]store.Task, error) { return r.see(r.Reader.Waiting(w)) }

// Delayed implements [store.Reader].
func (r *Reader) Delayed(now time.Time, limit int) ([]store.Task, error) {
	return r.see(r.Reader.Delayed(now, limit))
}

func (r *Reader) seeRuns(runs []store.Run, err error) ([]store.Run, error) {
	for _, run := range runs {
		r.Seen.Runs.Put(run.ID, run)
	}
	return runs, err
}

// see remembers tasks, so that it is known that they are there when they are
// written.
func (r *Reader) see(tasks []store.Task, err error) ([]store.Task, error) {
	for _, t := range tasks {
		r.Seen.Tasks.Put(t.TaskKey, t)
	}
	return tasks, err
}
