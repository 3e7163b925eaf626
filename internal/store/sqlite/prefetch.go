package sqlite

import (
	"encoding/json"
	"slices"

	"gaffer/internal/store"
)

// Prefetch implements [store.Session]. The file is near, but one query for many
// rows still costs half of many queries for one.
func (s *session) Prefetch(need store.Need) error {
	// Each request passes over the tasks that the requests before it changed.
	atLeast := need.Claims + len(need.Attempts)
	s.stored.Ready.AtLeast, s.stored.Idle.AtLeast = atLeast, atLeast
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

// fetchAttempts fetches attempts, with their tasks and what needs those.
func (s *session) fetchAttempts(ids []string) error {
	list, err := many[store.Attempt](s.stored.c, "SELECT data FROM attempt WHERE id IN (SELECT value FROM json_each(?))", array(ids))
	if err != nil {
		return err
	}
	for _, a := range list {
		s.Seen.Attempts.Put(a.ID, a)
		s.Seen.Dependents.Put(a.Key(), nil)
	}
	s.Seen.Attempts.Missing(ids...)
	if err := s.fetchTasks(ids); err != nil {
		return err
	}
	return s.fetchDependents(ids)
}

func (s *session) fetchTasks(attempts []string) error {
	list, err := s.stored.tasks(`SELECT t.data, t.spec FROM attempt a JOIN task t ON t.run = a.run AND t.task = a.task
		WHERE a.id IN (SELECT value FROM json_each(?))`, array(attempts))
	for _, t := range list {
		s.Seen.Tasks.Put(t.TaskKey, t)
	}
	return err
}

func (s *session) fetchDependents(attempts []string) error {
	list, err := s.stored.tasks(`SELECT t.data, t.spec FROM task t WHERE (t.run, t.task) IN (
		SELECT n.run, n.task FROM attempt a JOIN need n ON n.run = a.run AND n.need = a.task
		WHERE a.id IN (SELECT value FROM json_each(?))) ORDER BY t.seq`, array(attempts))
	for _, t := range list {
		for _, need := range slices.Compact(slices.Sorted(slices.Values(t.Needs))) {
			key := store.TaskKey{Run: t.Run, Task: need}
			if known, asked := s.Seen.Dependents.Known(key); asked {
				s.Seen.Dependents.Put(key, append(known, t))
			}
		}
	}
	return err
}

// array is a list of texts as one parameter.
func array(texts []string) string {
	text, _ := json.Marshal(texts) // texts can always be JSON
	return string(text)
}
