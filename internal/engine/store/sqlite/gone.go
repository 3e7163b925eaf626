package sqlite

import (
	"time"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/record"
)

// Each list of keys is one parameter.
const (
	dropRuns      = "DELETE FROM run WHERE id IN (SELECT value FROM json_each(?))"
	dropPlans     = "DELETE FROM plan WHERE run IN (SELECT value FROM json_each(?))"
	dropTasks     = "DELETE FROM task WHERE (run, task) IN (SELECT value ->> 'run', value ->> 'task' FROM json_each(?))"
	dropNeeds     = "DELETE FROM need WHERE (run, need) IN (SELECT value ->> 'run', value ->> 'task' FROM json_each(?))"
	dropAttempts  = "DELETE FROM attempt WHERE (run, task) IN (SELECT value ->> 'run', value ->> 'task' FROM json_each(?))"
	dropQuestions = "DELETE FROM question WHERE id IN (SELECT value FROM json_each(?))"
	dropWorkers   = "DELETE FROM worker WHERE id IN (SELECT value FROM json_each(?))"
	dropPromises  = "DELETE FROM promise WHERE key IN (SELECT value FROM json_each(?))"
	dropCursors   = "DELETE FROM cursor WHERE name IN (SELECT value FROM json_each(?))"
	dropLists     = "DELETE FROM item WHERE (kind, parent) IN (SELECT value ->> 'kind', value ->> 'parent' FROM json_each(?))"
	// Never delete the last event: the next event's number is derived from it.
	dropEvents = "DELETE FROM event WHERE seq IN (SELECT value FROM json_each(?)) AND seq < (SELECT max(seq) FROM event)"
)

// takeAway deletes rows.
func (w *rowWriter) takeAway(g store.Deletions) {
	for _, drop := range []struct {
		query string
		count int
		keys  any
	}{
		{dropRuns, len(g.Runs), g.Runs},
		{dropPlans, len(g.Runs), g.Runs},
		{dropNeeds, len(g.Tasks), g.Tasks},
		{dropAttempts, len(g.Tasks), g.Tasks},
		{dropTasks, len(g.Tasks), g.Tasks},
		{dropQuestions, len(g.Questions), g.Questions},
		{dropWorkers, len(g.Workers), g.Workers},
		{dropPromises, len(g.IdempotencyKeys), g.IdempotencyKeys},
		{dropCursors, len(g.Cursors), g.Cursors},
		{dropLists, len(g.Lists), g.Lists},
		{dropEvents, len(g.Events), g.Events},
	} {
		if drop.count > 0 {
			w.put(drop.query, drop.keys)
		}
	}
}

func (r *reader) EventsWithoutRows(after int64, limit int) ([]store.Event, error) {
	return many[store.Event](r.c, "SELECT data FROM event WHERE seq > ? ORDER BY seq LIMIT ?+0", after, limit)
}

func (r *reader) RunsBefore(created time.Time) ([]store.Run, error) {
	return many[store.Run](r.c, "SELECT data FROM run WHERE created < ? ORDER BY created, id", record.Nanos(created))
}

func (r *reader) IdempotencyRecords(made time.Time, after string, limit int) ([]store.IdempotencyRecord, error) {
	return many[store.IdempotencyRecord](r.c, "SELECT data FROM promise WHERE key > ? AND made < ? ORDER BY key LIMIT ?+0", after, record.Nanos(made), limit)
}
