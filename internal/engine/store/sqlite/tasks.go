package sqlite

import (
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memo"
)

// A list is a range of the index task_ready or task_idle. Each list is found with one
// or two index lookups, however long the lists before it are. The queries compare
// columns separately, because SQLite would use the index only for the first column of a
// row comparison.
const (
	readyLists = `WITH RECURSIVE list (labels, lane) AS (
		SELECT * FROM (SELECT labels, lane FROM task WHERE ready = 1 ORDER BY labels, lane LIMIT 1)
		UNION ALL
		SELECT t.labels, t.lane FROM list JOIN task t ON t.rowid = coalesce(
			(SELECT rowid FROM task WHERE ready = 1 AND labels = list.labels AND lane > list.lane ORDER BY lane LIMIT 1),
			(SELECT rowid FROM task WHERE ready = 1 AND labels > list.labels ORDER BY labels, lane LIMIT 1)))
		SELECT labels, lane FROM list`
	readyHead = `FROM task WHERE ready = 1 AND labels = ? AND lane = ? ORDER BY priority DESC, seq LIMIT ?+0`

	idleLists = `WITH RECURSIVE list (wave, lane) AS (
		SELECT * FROM (SELECT wave, lane FROM task WHERE idle = 1 AND run = ?1 AND wave <= ?2 ORDER BY wave, lane LIMIT 1)
		UNION ALL
		SELECT t.wave, t.lane FROM list JOIN task t ON t.rowid = coalesce(
			(SELECT rowid FROM task WHERE idle = 1 AND run = ?1 AND wave = list.wave AND lane > list.lane ORDER BY lane LIMIT 1),
			(SELECT rowid FROM task WHERE idle = 1 AND run = ?1 AND wave > list.wave AND wave <= ?2 ORDER BY wave, lane LIMIT 1)))
		SELECT wave, lane FROM list`
	idleHead = `FROM task WHERE idle = 1 AND run = ? AND wave = ? AND lane = ? ORDER BY priority DESC, seq LIMIT ?+0`
)

func (r *reader) readyLists() (lists []memo.ReadyList, err error) {
	err = r.c.each(readyLists, func(scan func(...any) error) error {
		var l memo.ReadyList
		err := scan(&l.Labels, &l.Lane)
		lists = append(lists, l)
		return err
	})
	return lists, err
}

func (r *reader) readyHead(l memo.ReadyList, limit int) ([]store.Task, error) {
	return r.tasks("SELECT data, spec "+readyHead, l.Labels, l.Lane, limit)
}

func (r *reader) idleLists(upTo memo.IdleList) (lists []memo.IdleList, err error) {
	err = r.c.each(idleLists, func(scan func(...any) error) error {
		l := memo.IdleList{Run: upTo.Run}
		err := scan(&l.Wave, &l.Lane)
		lists = append(lists, l)
		return err
	}, upTo.Run, upTo.Wave)
	return lists, err
}

func (r *reader) idleHead(l memo.IdleList, limit int) ([]store.Task, error) {
	return r.tasks("SELECT data, spec "+idleHead, l.Run, l.Wave, l.Lane, limit)
}

// readyHead decodes only the tasks that are not cached.
func (s *session) readyHead(l memo.ReadyList, limit int) ([]store.Task, error) {
	return s.head(readyHead, l.Labels, l.Lane, limit)
}

func (s *session) idleHead(l memo.IdleList, limit int) ([]store.Task, error) {
	return s.head(idleHead, l.Run, l.Wave, l.Lane, limit)
}

func (s *session) head(query string, args ...any) (list []store.Task, err error) {
	err = s.stored.c.each("SELECT run, task, data, spec "+query, func(scan func(...any) error) error {
		var key store.TaskKey
		var data string
		var spec *string
		if err := scan(&key.Run, &key.Task, &data, &spec); err != nil {
			return err
		}
		t, err := s.Seen.Tasks.Get(key, func(store.TaskKey) (store.Task, error) { return readTask(data, spec) })
		list = append(list, t)
		return err
	}, args...)
	return list, err
}
