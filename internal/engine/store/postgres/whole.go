package postgres

import (
	"cmp"
	"errors"
	"slices"

	"gaffer/internal/engine/store"
)

// If this process creates a run, it knows all tasks of the run and their dependents,
// because no task exists before its run. This is worth caching: at the end of each task
// the engine asks for its dependents, and at the end of a run for all of its tasks.

const (
	// maxRuns is the maximum number of runs whose tasks are all cached.
	maxRuns = 256
	// maxWhole is the maximum number of tasks of such a run.
	maxWhole = 1024
)

// applied updates the cache after changes were sent.
func (s *session) applied(c store.Changes) {
	if !c.Gone.Empty() {
		s.store.forget(c.Gone)
		return
	}
	added := s.added(c)
	k := &s.store.known
	for _, t := range c.Tasks {
		if _, whole := added[t.Run]; !whole && !s.Seen.Tasks.Has(t.TaskKey) {
			k.whole.Forget(t.Run)
		}
	}
	k.ready.applied(c.Tasks)
	s.Seen.Applied(c)
	for run, tasks := range added {
		slices.SortFunc(tasks, bySeq)
		k.whole.Put(run, keys(tasks))
		for key, needing := range dependentsAmong(tasks) {
			s.Seen.Dependents.Put(key, needing)
		}
	}
}

var errUnknown = errors.New("it is not known whether it is there")

// added returns the tasks of new runs. A run is new if a lookup has found it missing.
func (s *session) added(c store.Changes) map[string][]store.Task {
	added := map[string][]store.Task{}
	for _, r := range c.Runs {
		_, err := s.Seen.Runs.Get(r.ID, func(string) (store.Run, error) { return store.Run{}, errUnknown })
		if errors.Is(err, store.ErrNotFound) {
			added[r.ID] = nil
		}
	}
	if len(added) == 0 {
		return nil
	}
	for _, t := range c.Tasks {
		if _, ok := added[t.Run]; ok {
			added[t.Run] = append(added[t.Run], t)
		}
	}
	for run, tasks := range added {
		if len(tasks) > maxWhole {
			delete(added, run)
		}
	}
	return added
}

// dependentsAmong returns for each task the tasks in the list that need it.
func dependentsAmong(tasks []store.Task) map[store.TaskKey][]store.TaskKey {
	below := make(map[store.TaskKey][]store.TaskKey, len(tasks))
	for _, t := range tasks {
		below[t.TaskKey] = nil
	}
	for _, t := range tasks {
		for _, need := range t.Needs {
			key := store.TaskKey{Run: t.Run, Task: need}
			if !slices.Contains(below[key], t.TaskKey) {
				below[key] = append(below[key], t.TaskKey)
			}
		}
	}
	return below
}

// Tasks implements [store.Reader].
func (s *session) Tasks(run string) ([]store.Task, error) {
	if known, ok := s.store.known.whole.Known(run); ok && s.hasAll(known) {
		list, err := s.Known(known)
		slices.SortFunc(list, bySeq)
		return list, err
	}
	list, err := s.Reader.Tasks(run)
	if err == nil && len(list) <= maxWhole {
		s.store.known.whole.Put(run, keys(list))
	}
	return list, err
}

func (s *session) hasAll(keys []store.TaskKey) bool {
	return !slices.ContainsFunc(keys, func(key store.TaskKey) bool { return !s.Seen.Tasks.Has(key) })
}

func bySeq(a, b store.Task) int { return cmp.Compare(a.Seq, b.Seq) }

func keys(tasks []store.Task) []store.TaskKey {
	list := make([]store.TaskKey, len(tasks))
	for i, t := range tasks {
		list[i] = t.TaskKey
	}
	return list
}
