package postgres

import (
	"github.com/jackc/pgx/v5"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/record"
)

// The statements that write rows. Except for setLastEvent, each statement writes all changed rows
// of one table: each parameter is an array with one element for each row.
const (
	putRuns = `INSERT INTO run (id, status, created, data) SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[])
		ON CONFLICT (id) DO UPDATE SET status = excluded.status, created = excluded.created, data = excluded.data`
	putPlans = `INSERT INTO plan (run, plan) SELECT * FROM unnest($1::text[], $2::text[]) ON CONFLICT DO NOTHING`
	// The spec of a task may be long and rarely changes. PostgreSQL stores a long value outside of
	// the row. If the spec has not changed, this statement sets the column spec to task.spec, which
	// is the stored value. Then PostgreSQL does not write the long value again.
	putTasks = `INSERT INTO task (run, task, seq, status, ready, idle, wave, not_before, priority, labels, lane, data, spec)
		SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::boolean[], $6::boolean[], $7::bigint[], $8::bigint[],
			$9::bigint[], $10::text[], $11::text[], $12::text[], $13::text[])
		ON CONFLICT (run, task) DO UPDATE SET seq = excluded.seq, status = excluded.status, ready = excluded.ready,
		idle = excluded.idle, wave = excluded.wave, not_before = excluded.not_before, priority = excluded.priority,
		labels = excluded.labels, lane = excluded.lane, data = excluded.data,
		spec = CASE WHEN task.spec = excluded.spec THEN task.spec ELSE excluded.spec END`
	putNeeds    = `INSERT INTO need (run, need, task) SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) ON CONFLICT DO NOTHING`
	putAttempts = `INSERT INTO attempt (id, run, task, status, started, due, data)
		SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::text[])
		ON CONFLICT (id) DO UPDATE SET status = excluded.status, started = excluded.started, due = excluded.due, data = excluded.data`
	putQuestions = `INSERT INTO question (id, attempt, closed, asked, expires, data)
		SELECT * FROM unnest($1::text[], $2::text[], $3::boolean[], $4::bigint[], $5::bigint[], $6::text[])
		ON CONFLICT (id) DO UPDATE SET closed = excluded.closed, asked = excluded.asked, expires = excluded.expires, data = excluded.data`
	putWorkers = `INSERT INTO worker (id, data) SELECT * FROM unnest($1::text[], $2::text[])
		ON CONFLICT (id) DO UPDATE SET data = excluded.data`
	putAccounts = `INSERT INTO lane (name, data) SELECT * FROM unnest($1::text[], $2::text[])
		ON CONFLICT (name) DO UPDATE SET data = excluded.data`
	putIdempotencyRecords = `INSERT INTO promise (key, made, data) SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[])
		ON CONFLICT (key) DO UPDATE SET made = excluded.made, data = excluded.data`
	putCursors = `INSERT INTO cursor (name, seq, data) SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[])
		ON CONFLICT (name) DO UPDATE SET seq = excluded.seq, data = excluded.data`
	putItems = `INSERT INTO item (kind, id, parent, seq, data)
		SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[])
		ON CONFLICT (kind, id) DO UPDATE SET parent = excluded.parent, seq = excluded.seq, data = excluded.data`
	dropItems = `DELETE FROM item USING unnest($1::text[], $2::text[]) AS i (kind, id) WHERE item.kind = i.kind AND item.id = i.id`
	addEvents = `INSERT INTO event (seq, data, row, tried) SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[])`
	// This version of gaffer does not read the column named writes. Older versions that share the
	// database do: when its value changes, they discard the rows that they have cached.
	setLastEvent = `UPDATE last_event SET seq = $1, writes = writes + 1`
)

// rowWriter collects, in a batch, the statements with which a commit writes and deletes rows.
type rowWriter struct {
	batch pgx.Batch
	err   error // the first error while encoding a row
}

// column returns a list that contains one value of each row, for example its id. A statement gets
// this list as one parameter.
func column[R, V any](rows []R, value func(r *R) V) []V {
	list := make([]V, len(rows))
	for i := range rows {
		list[i] = value(&rows[i])
	}
	return list
}

// data returns the JSON of each row, for the column named data. It stores the first error in w.err.
func data[R any](w *rowWriter, rows []R) []string {
	return column(rows, func(r *R) string {
		text, err := record.Text(r)
		if w.err == nil {
			w.err = err
		}
		return text
	})
}

// texts returns one JSON text for each row, for a column that may be NULL. A nil element of the
// result means NULL.
func texts[R any](rows []R, text func(r *R) []byte) []*string {
	return column(rows, func(r *R) *string {
		if raw := text(r); raw != nil {
			s := string(raw)
			return &s
		}
		return nil
	})
}

// writeChanges adds statements to w.batch that write the changes c. lastEvent is the sequence
// number of the last event after these changes.
func (w *rowWriter) writeChanges(c store.Changes, lastEvent int64) {
	w.batch.Queue(setLastEvent, lastEvent)
	w.runs(&c)
	w.tasks(&c)
	if rows := c.Attempts; len(rows) > 0 {
		w.batch.Queue(putAttempts, column(rows, func(a *store.Attempt) string { return a.ID }),
			column(rows, func(a *store.Attempt) string { return a.Run }),
			column(rows, func(a *store.Attempt) string { return a.Task }),
			column(rows, func(a *store.Attempt) string { return string(a.Status) }),
			column(rows, func(a *store.Attempt) int64 { return record.Nanos(a.Started) }),
			column(rows, func(a *store.Attempt) int64 { return record.Nanos(a.Due()) }), data(w, rows))
	}
	if rows := c.Questions; len(rows) > 0 {
		w.batch.Queue(putQuestions, column(rows, func(q *store.Question) string { return q.ID }),
			column(rows, func(q *store.Question) string { return q.Attempt }),
			column(rows, func(q *store.Question) bool { return q.Closed }),
			column(rows, func(q *store.Question) int64 { return record.Nanos(q.Asked) }),
			column(rows, func(q *store.Question) *int64 { return record.NanosOrNull(q.Expires) }), data(w, rows))
	}
	if rows := c.Workers; len(rows) > 0 {
		w.batch.Queue(putWorkers, column(rows, func(r *store.Worker) string { return r.ID }), data(w, rows))
	}
	if rows := c.Accounts; len(rows) > 0 {
		w.batch.Queue(putAccounts, column(rows, func(l *store.Account) string { return l.Name }), data(w, rows))
	}
	if rows := c.IdempotencyRecords; len(rows) > 0 {
		w.batch.Queue(putIdempotencyRecords, column(rows, func(p *store.IdempotencyRecord) string { return p.Key }),
			column(rows, func(p *store.IdempotencyRecord) int64 { return record.Nanos(p.Made) }), data(w, rows))
	}
	if rows := c.Cursors; len(rows) > 0 {
		w.batch.Queue(putCursors, column(rows, func(c *store.Cursor) string { return c.Name }),
			column(rows, func(c *store.Cursor) int64 { return c.Seq }), data(w, rows))
	}
	if rows := c.Items; len(rows) > 0 {
		w.batch.Queue(putItems, column(rows, func(i *store.Item) string { return i.Kind }),
			column(rows, func(i *store.Item) string { return i.ID }),
			column(rows, func(i *store.Item) string { return i.Parent }),
			column(rows, func(i *store.Item) int64 { return i.Seq }), data(w, rows))
	}
	if keys := c.Dropped; len(keys) > 0 {
		w.batch.Queue(dropItems, column(keys, func(k *store.ItemKey) string { return k.Kind }),
			column(keys, func(k *store.ItemKey) string { return k.ID }))
	}
	if rows := c.Events; len(rows) > 0 {
		bare := column(rows, func(e *store.Event) store.Event {
			bare := *e
			bare.Row, bare.AttemptRow = nil, nil
			return bare
		})
		w.batch.Queue(addEvents, column(rows, func(e *store.Event) int64 { return e.Seq }), data(w, bare),
			texts(rows, func(e *store.Event) []byte { return e.Row }), texts(rows, func(e *store.Event) []byte { return e.AttemptRow }))
	}
	w.deleteRows(c.Deletions)
}

func (w *rowWriter) runs(c *store.Changes) {
	rows := c.Runs
	if len(rows) == 0 {
		return
	}
	var plans, runs []string
	bare := column(rows, func(r *store.Run) store.Run {
		if r.Plan != nil && !c.HasPlan(r.ID) {
			runs, plans = append(runs, r.ID), append(plans, string(r.Plan))
		}
		bare := *r
		bare.Plan = nil
		return bare
	})
	w.batch.Queue(putRuns, column(rows, func(r *store.Run) string { return r.ID }),
		column(rows, func(r *store.Run) string { return string(r.Status) }),
		column(rows, func(r *store.Run) int64 { return record.Nanos(r.Created) }), data(w, bare))
	if len(plans) > 0 {
		w.batch.Queue(putPlans, runs, plans)
	}
}

// tasks adds statements to w.batch that write the changed tasks. The field Needs of a task, which
// lists the tasks that it depends on, never changes. So it is written only for tasks that may be
// new: those that the transaction has not read from the database.
func (w *rowWriter) tasks(c *store.Changes) {
	rows := c.Tasks
	if len(rows) == 0 {
		return
	}
	var runs, needs, tasks []string
	bare := column(rows, func(t *store.Task) store.Task {
		if _, known := c.StoredTask(t.TaskKey); !known {
			for _, need := range t.Needs {
				runs, needs, tasks = append(runs, t.Run), append(needs, need), append(tasks, t.Task)
			}
		}
		bare := *t
		bare.Spec = nil
		return bare
	})
	w.batch.Queue(putTasks, column(rows, func(t *store.Task) string { return t.Run }),
		column(rows, func(t *store.Task) string { return t.Task }),
		column(rows, func(t *store.Task) int64 { return t.Seq }),
		column(rows, func(t *store.Task) string { return string(t.Status) }),
		column(rows, func(t *store.Task) bool { return t.Ready }),
		column(rows, (*store.Task).Idle),
		column(rows, func(t *store.Task) int64 { return int64(t.Wave) }),
		column(rows, func(t *store.Task) *int64 { return record.NanosOrNull(t.NotBefore) }),
		column(rows, func(t *store.Task) int64 { return int64(t.Priority) }),
		column(rows, func(t *store.Task) string { return t.Labels }),
		column(rows, func(t *store.Task) string { return t.Account }),
		data(w, bare), texts(rows, func(t *store.Task) []byte { return t.Spec }))
	if len(needs) > 0 {
		w.batch.Queue(putNeeds, runs, needs, tasks)
	}
}
