package sqlite

import (
	"encoding/json"

	"gaffer/internal/engine/store"
)

// Prefetch implements [store.Session]. The file is local, but one query for many rows
// still costs only half as much as many queries for one row.
func (s *session) Prefetch(need store.Need) error {
	// Each request skips the tasks that earlier requests of the session have changed.
	s.Seen.Ready.AtLeast = max(someTasks, need.Claims)
	s.Seen.Idle.AtLeast = max(someTasks, need.Claims+len(need.Attempts))
	if len(need.Promises) > 1 {
		if err := s.fetchPromises(need.Promises); err != nil {
			return err
		}
	}
	if len(need.Attempts) > 1 {
		return s.fetchAttempts(need.Attempts)
	}
	return nil
}

func (s *session) fetchPromises(keys []string) error {
	list, err := many[store.Promise](s.stored.c, "SELECT data FROM promise WHERE key IN (SELECT value FROM json_each(?))", array(keys))
	if err != nil {
		return err
	}
	for _, promise := range list {
		s.Seen.Promises.Put(promise.Key, promise)
	}
	s.Seen.Promises.Missing(keys...)
	return nil
}

// fetchAttempts fetches attempts, their tasks, and the dependents of those, unless they
// are cached.
func (s *session) fetchAttempts(ids []string) error {
	var unknown []string
	for _, id := range ids {
		if !s.Seen.Attempts.Has(id) {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) > 0 {
		list, err := many[store.Attempt](s.stored.c, "SELECT data FROM attempt WHERE id IN (SELECT value FROM json_each(?))", array(unknown))
		if err != nil {
			return err
		}
		for _, a := range list {
			s.Seen.Attempts.Put(a.ID, a)
		}
		s.Seen.Attempts.Missing(unknown...)
	}
	var keys []store.TaskKey
	for _, id := range ids {
		if a, known := s.Seen.Attempts.Known(id); known {
			keys = append(keys, a.Key())
		}
	}
	if err := s.fetchTasks(keys); err != nil {
		return err
	}
	return s.fetchDependents(keys)
}

const (
	tasksByKey = `SELECT data, spec FROM task WHERE (run, task) IN (
		SELECT value ->> 'run', value ->> 'task' FROM json_each(?))`
	needingKeys = `SELECT n.run, n.need, n.task FROM need n JOIN task t ON t.run = n.run AND t.task = n.task
		WHERE (n.run, n.need) IN (SELECT value ->> 'run', value ->> 'task' FROM json_each(?)) ORDER BY t.seq`
)

// fetchTasks fetches the tasks that are not cached.
func (s *session) fetchTasks(keys []store.TaskKey) error {
	var unknown []store.TaskKey
	for _, key := range keys {
		if !s.Seen.Tasks.Has(key) {
			unknown = append(unknown, key)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	list, err := s.stored.tasks(tasksByKey, array(unknown))
	for _, t := range list {
		s.Seen.Tasks.Put(t.TaskKey, t)
	}
	return err
}

// fetchDependents fetches the dependents of tasks, unless they are cached.
func (s *session) fetchDependents(keys []store.TaskKey) error {
	var unknown []store.TaskKey
	for _, key := range keys {
		none, err := s.InNeedOfNone(key.Run)
		if err != nil {
			return err
		}
		if !none && !s.Seen.Dependents.Has(key) {
			unknown = append(unknown, key)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	needing := map[store.TaskKey][]store.TaskKey{}
	err := s.stored.c.each(needingKeys,
		func(scan func(...any) error) error {
			var need, task store.TaskKey
			err := scan(&need.Run, &need.Task, &task.Task)
			task.Run = need.Run
			needing[need] = append(needing[need], task)
			return err
		}, array(unknown))
	if err != nil {
		return err
	}
	var tasks []store.TaskKey
	for _, key := range unknown {
		s.Seen.Dependents.Put(key, needing[key])
		tasks = append(tasks, needing[key]...)
	}
	return s.fetchTasks(tasks)
}

// array encodes a list as one parameter.
func array[V any](list []V) string {
	text, _ := json.Marshal(list) // encoding strings cannot fail
	return string(text)
}
