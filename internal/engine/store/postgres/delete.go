package postgres

import "gaffer/internal/engine/store"

// The statements that delete rows. Each parameter is an array that contains one part of every key.
// For example, dropTasks gets an array of run ids and an array of task ids.
const (
	dropRuns               = `DELETE FROM run USING unnest($1::text[]) AS g (key) WHERE run.id = g.key`
	dropPlans              = `DELETE FROM plan USING unnest($1::text[]) AS g (key) WHERE plan.run = g.key`
	dropQuestions          = `DELETE FROM question USING unnest($1::text[]) AS g (key) WHERE question.id = g.key`
	dropWorkers            = `DELETE FROM worker USING unnest($1::text[]) AS g (key) WHERE worker.id = g.key`
	dropIdempotencyRecords = `DELETE FROM promise USING unnest($1::text[]) AS g (key) WHERE promise.key = g.key`
	dropCursors            = `DELETE FROM cursor USING unnest($1::text[]) AS g (key) WHERE cursor.name = g.key`
	dropTasks              = `DELETE FROM task USING unnest($1::text[], $2::text[]) AS g (run, task) WHERE task.run = g.run AND task.task = g.task`
	dropNeeds              = `DELETE FROM need USING unnest($1::text[], $2::text[]) AS g (run, task) WHERE need.run = g.run AND need.need = g.task`
	dropAttempts           = `DELETE FROM attempt USING unnest($1::text[], $2::text[]) AS g (run, task)
		WHERE attempt.run = g.run AND attempt.task = g.task`
	dropLists = `DELETE FROM item USING unnest($1::text[], $2::text[]) AS g (kind, parent)
		WHERE item.kind = g.kind AND item.parent = g.parent`
	dropEvents = `DELETE FROM event USING unnest($1::bigint[]) AS g (seq)
		WHERE event.seq = g.seq AND event.seq < (SELECT seq FROM last_event)`
)

// deleteRows adds statements to the batch that delete the rows listed in g.
func (w *rowWriter) deleteRows(g store.Deletions) {
	for _, drop := range []struct {
		query string
		keys  []string
	}{
		{dropRuns, g.Runs},
		{dropPlans, g.Runs},
		{dropQuestions, g.Questions},
		{dropWorkers, g.Workers},
		{dropIdempotencyRecords, g.IdempotencyKeys},
		{dropCursors, g.Cursors},
	} {
		if len(drop.keys) > 0 {
			w.batch.Queue(drop.query, drop.keys)
		}
	}
	if len(g.Tasks) > 0 {
		runs := column(g.Tasks, func(k *store.TaskKey) string { return k.Run })
		tasks := column(g.Tasks, func(k *store.TaskKey) string { return k.Task })
		for _, query := range []string{dropNeeds, dropAttempts, dropTasks} {
			w.batch.Queue(query, runs, tasks)
		}
	}
	if len(g.Lists) > 0 {
		w.batch.Queue(dropLists, column(g.Lists, func(l *store.ItemList) string { return l.Kind }),
			column(g.Lists, func(l *store.ItemList) string { return l.Parent }))
	}
	if len(g.Events) > 0 {
		w.batch.Queue(dropEvents, g.Events)
	}
}
