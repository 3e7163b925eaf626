package postgres

import (
	"time"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/record"
)

var (
	takeRuns      = statement{"take_runs", `DELETE FROM run USING unnest($1::text[]) AS g (key) WHERE run.id = g.key`}
	takePlans     = statement{"take_plans", `DELETE FROM plan USING unnest($1::text[]) AS g (key) WHERE plan.run = g.key`}
	takeQuestions = statement{"take_questions", `DELETE FROM question USING unnest($1::text[]) AS g (key) WHERE question.id = g.key`}
	takeWorkers   = statement{"take_workers", `DELETE FROM worker USING unnest($1::text[]) AS g (key) WHERE worker.id = g.key`}
	takePromises  = statement{"take_promises", `DELETE FROM promise USING unnest($1::text[]) AS g (key) WHERE promise.key = g.key`}
	takeCursors   = statement{"take_cursors", `DELETE FROM cursor USING unnest($1::text[]) AS g (key) WHERE cursor.name = g.key`}

	takeTasks = statement{"take_tasks", `DELETE FROM task USING unnest($1::text[], $2::text[]) AS g (run, task)
		WHERE task.run = g.run AND task.task = g.task`}
	takeNeeds = statement{"take_needs", `DELETE FROM need USING unnest($1::text[], $2::text[]) AS g (run, task)
		WHERE need.run = g.run AND need.need = g.task`}
	takeAttempts = statement{"take_attempts", `DELETE FROM attempt USING unnest($1::text[], $2::text[]) AS g (run, task)
		WHERE attempt.run = g.run AND attempt.task = g.task`}
	takeLists = statement{"take_lists", `DELETE FROM item USING unnest($1::text[], $2::text[]) AS g (kind, parent)
		WHERE item.kind = g.kind AND item.parent = g.parent`}

	takeEvents = statement{"take_events", `DELETE FROM event USING unnest($1::bigint[]) AS g (seq)
		WHERE event.seq = g.seq AND event.seq < (SELECT seq FROM last_event)`}
)

// takers returns the statements that delete rows.
func takers() []statement {
	return []statement{
		takeRuns, takePlans, takeQuestions, takeWorkers, takePromises, takeCursors, takeTasks, takeNeeds, takeAttempts, takeLists,
		takeEvents,
	}
}

// takeAway adds the statements that delete rows.
func (w *write) takeAway(g store.Gone) {
	w.takeKeys(g.Runs, takeRuns, takePlans)
	w.takeKeys(g.Questions, takeQuestions)
	w.takeKeys(g.Workers, takeWorkers)
	w.takeKeys(g.Promises, takePromises)
	w.takeKeys(g.Cursors, takeCursors)
	takePairs(w, g.Tasks, func(k store.TaskKey) (string, string) { return k.Run, k.Task }, takeNeeds, takeAttempts, takeTasks)
	takePairs(w, g.Lists, func(l store.ItemList) (string, string) { return l.Kind, l.Parent }, takeLists)
	if len(g.Events) > 0 {
		w.statement(takeEvents)
		numbers(&w.message, g.Events, func(n int64) int64 { return n })
		w.run()
	}
}

func (w *write) takeKeys(keys []string, by ...statement) {
	if len(keys) == 0 {
		return
	}
	for _, s := range by {
		w.statement(s)
		texts(&w.message, keys, func(key string) string { return key })
		w.run()
	}
}

func takePairs[K any](w *write, keys []K, pair func(K) (string, string), by ...statement) {
	if len(keys) == 0 {
		return
	}
	first := func(key K) string { a, _ := pair(key); return a }
	second := func(key K) string { _, b := pair(key); return b }
	for _, s := range by {
		w.statement(s)
		texts(&w.message, keys, first)
		texts(&w.message, keys, second)
		w.run()
	}
}

// forget clears the cache, except for the head. Rows are deleted so rarely that this
// costs little.
func (s *Store) forget(g store.Gone) {
	s.known = known{head: s.known.head, alone: s.known.alone}
	s.plans.Forget(g.Runs...)
}

func (r *reader) Headings(after int64, limit int) ([]store.Event, error) {
	return many[store.Event](r, "SELECT data FROM event WHERE seq > $1 ORDER BY seq LIMIT $2", after, limit)
}

func (r *reader) RunsBefore(created time.Time) ([]store.Run, error) {
	return many[store.Run](r, "SELECT data FROM run WHERE created < $1 ORDER BY created, id", record.Nanos(created))
}

func (r *reader) Promises(made time.Time, after string, limit int) ([]store.Promise, error) {
	return many[store.Promise](r, "SELECT data FROM promise WHERE key > $1 AND made < $2 ORDER BY key LIMIT $3", after, record.Nanos(made), limit)
}
