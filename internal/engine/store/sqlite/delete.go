package sqlite

import "gaffer/internal/engine/store"

// The statements that delete rows. The only parameter of each statement is a JSON array with the
// keys.
const (
	dropRuns               = "DELETE FROM run WHERE id IN (SELECT value FROM json_each(?))"
	dropPlans              = "DELETE FROM plan WHERE run IN (SELECT value FROM json_each(?))"
	dropTasks              = "DELETE FROM task WHERE (run, task) IN (SELECT value ->> 'run', value ->> 'task' FROM json_each(?))"
	dropNeeds              = "DELETE FROM need WHERE (run, need) IN (SELECT value ->> 'run', value ->> 'task' FROM json_each(?))"
	dropAttempts           = "DELETE FROM attempt WHERE (run, task) IN (SELECT value ->> 'run', value ->> 'task' FROM json_each(?))"
	dropQuestions          = "DELETE FROM question WHERE id IN (SELECT value FROM json_each(?))"
	dropWorkers            = "DELETE FROM worker WHERE id IN (SELECT value FROM json_each(?))"
	dropIdempotencyRecords = "DELETE FROM promise WHERE key IN (SELECT value FROM json_each(?))"
	dropCursors            = "DELETE FROM cursor WHERE name IN (SELECT value FROM json_each(?))"
	dropLists              = "DELETE FROM item WHERE (kind, parent) IN (SELECT value ->> 'kind', value ->> 'parent' FROM json_each(?))"
	// Never delete the last event: the sequence number of the next event is computed from it.
	dropEvents = "DELETE FROM event WHERE seq IN (SELECT value FROM json_each(?)) AND seq < (SELECT max(seq) FROM event)"
)

// deleteRows executes the statements that delete the rows listed in g.
func (w *rowWriter) deleteRows(g store.Deletions) {
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
		{dropIdempotencyRecords, len(g.IdempotencyKeys), g.IdempotencyKeys},
		{dropCursors, len(g.Cursors), g.Cursors},
		{dropLists, len(g.Lists), g.Lists},
		{dropEvents, len(g.Events), g.Events},
	} {
		if drop.count > 0 {
			w.put(drop.query, drop.keys)
		}
	}
}
