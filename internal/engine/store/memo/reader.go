package memo

import (
	"time"

	"gaffer/internal/engine/store"
)

// Reader caches the lookups of another reader.
type Reader struct {
	store.Reader
	Seen *Seen
	// Independent reports whether no task of a run needs another, for databases that
	// can answer this. It may be nil.
	Independent func(run string) (bool, error)
}

// Seen is the cache of a [Reader].
type Seen struct {
	Runs       Rows[string, store.Run]
	Tasks      Rows[store.TaskKey, store.Task]
	Attempts   Rows[string, store.Attempt]
	Workers    Rows[string, store.Worker]
	Promises   Rows[string, store.Promise]
	Items      Rows[store.ItemKey, store.Item]
	Dependents Rows[store.TaskKey, []store.TaskKey]
	Alone      Rows[string, bool]   // by run: no task needs another
	Questions  List[store.Question] // open questions
	Lanes      List[store.Lane]
	LabelSets  List[string]
	Ready      Ready
	Idle       Idle
}

const (
	// maxRuns is the maximum number of cached runs: each may have a large plan.
	maxRuns = 256
	// maxItems is the maximum number of cached items: each may be large, and most are
	// read only once.
	maxItems = 1024
)

// NewSeen returns an empty cache. limit is the maximum number of tasks and of attempts;
// DefaultLimit if zero.
func NewSeen(limit int) *Seen {
	s := &Seen{Runs: Rows[string, store.Run]{Limit: maxRuns}, Alone: Rows[string, bool]{Limit: maxRuns}, Items: Rows[store.ItemKey, store.Item]{Limit: maxItems}}
	s.Tasks.Limit, s.Attempts.Limit = limit, limit
	return s
}

// Applied updates the cache after c was written.
func (s *Seen) Applied(c store.Changes) {
	for _, r := range c.Runs {
		s.Runs.Put(r.ID, r)
	}
	for i := range c.Tasks {
		s.applied(&c.Tasks[i])
	}
	for _, a := range c.Attempts {
		s.Attempts.Put(a.ID, a)
	}
	for _, w := range c.Workers {
		s.Workers.Put(w.ID, w)
	}
	for _, i := range c.Items {
		s.Items.Forget(i.ItemKey)
	}
	for _, key := range c.Dropped {
		s.Items.Forget(key)
	}
	if len(c.Questions) > 0 {
		s.Questions.Forget()
	}
	if len(c.Lanes) > 0 {
		s.Lanes.Forget()
	}
}

// applied caches a task. The needs of a task never change, so only a new task can add
// unknown dependents.
func (s *Seen) applied(t *store.Task) {
	if before, known := s.Tasks.Known(t.TaskKey); known {
		s.Ready.applied(&before, t)
		s.Idle.applied(&before, t)
	} else {
		s.Ready.applied(nil, t)
		s.Idle.applied(nil, t)
		for _, need := range t.Needs {
			s.Dependents.Forget(store.TaskKey{Run: t.Run, Task: need})
			s.Alone.Forget(t.Run)
		}
	}
	s.Tasks.Put(t.TaskKey, *t)
}

// EndSession removes what is not worth caching beyond a session: missing rows, long
// lists, and idempotency records, which are hardly ever looked up twice.
func (s *Seen) EndSession() {
	s.Promises = Rows[string, store.Promise]{}
	s.LabelSets.Forget()
	s.Ready.endSession()
	s.Idle.endSession()
	s.Runs.missing, s.Tasks.missing, s.Attempts.missing, s.Workers.missing, s.Dependents.missing = nil, nil, nil, nil, nil
	s.Items.missing = nil
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

// Item implements [store.Reader].
func (r *Reader) Item(key store.ItemKey) (store.Item, error) {
	return r.Seen.Items.Get(key, r.Reader.Item)
}

// Promise implements [store.Reader].
func (r *Reader) Promise(key string) (store.Promise, error) {
	return r.Seen.Promises.Get(key, r.Reader.Promise)
}

// InNeedOfNone reports whether no task of a run needs another. It returns false if the
// database cannot answer this.
func (r *Reader) InNeedOfNone(run string) (bool, error) {
	if r.Independent == nil {
		return false, nil
	}
	return r.Seen.Alone.Get(run, r.Independent)
}

// Dependents implements [store.Reader].
func (r *Reader) Dependents(key store.TaskKey) ([]store.Task, error) {
	if none, err := r.InNeedOfNone(key.Run); none || err != nil {
		return nil, err
	}
	if keys, ok := r.Seen.Dependents.Known(key); ok {
		return r.Known(keys)
	}
	list, err := r.see(r.Reader.Dependents(key))
	if err != nil {
		return nil, err
	}
	r.Seen.Dependents.Put(key, keysOf(list))
	return list, nil
}

// Known returns tasks by their keys. Most of them are usually cached.
func (r *Reader) Known(keys []store.TaskKey) ([]store.Task, error) {
	list := make([]store.Task, len(keys))
	for i, key := range keys {
		t, err := r.Task(key)
		if err != nil {
			return nil, err
		}
		list[i] = t
	}
	return list, nil
}

func keysOf(tasks []store.Task) []store.TaskKey {
	keys := make([]store.TaskKey, len(tasks))
	for i, t := range tasks {
		keys[i] = t.TaskKey
	}
	return keys
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

// see caches tasks, so that a later write knows that they already exist.
func (r *Reader) see(tasks []store.Task, err error) ([]store.Task, error) {
	for _, t := range tasks {
		r.Seen.Tasks.Put(t.TaskKey, t)
	}
	return tasks, err
}
