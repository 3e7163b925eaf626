package postgres

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"gaffer/internal/store"
	"gaffer/internal/store/record"
)

// write is the statements that write changes.
type write struct {
	*session
	batch pgx.Batch
	err   error // the first
}

// all adds what changes. All rows of a kind are one statement.
func (w *write) all(c store.Changes) {
	w.runs(c.Runs)
	w.tasks(c.Tasks)
	w.attempts(c.Attempts)
	w.questions(c.Questions)
	w.small(c)
	w.events(c.Events)
	last := w.head.seq + int64(len(c.Events))
	w.batch.Queue("UPDATE last_event SET seq = $1, writes = $2", last, w.head.writes+1)
	if len(c.Events) > 0 {
		w.batch.Queue("SELECT pg_notify($1, $2)", w.store.channel(), fmt.Sprint(last))
	}
}

// text returns a row as JSON.
func (w *write) text(row any) string {
	text, err := w.store.record.Text(row)
	if err != nil && w.err == nil {
		w.err = err
	}
	return text
}

// columns are arrays of which each holds one column of all rows.
type columns []any

// queue adds a statement, unless there are no rows.
func (w *write) queue(rows int, query string, c columns) {
	if rows > 0 {
		w.batch.Queue(query, c...)
	}
}

func column[R, V any](rows []R, value func(*R) V) []V {
	values := make([]V, len(rows))
	for i := range rows {
		values[i] = value(&rows[i])
	}
	return values
}

func (w *write) runs(runs []store.Run) {
	var planned []store.Run
	runs = slices.Clone(runs)
	for i, r := range runs {
		if _, known := w.Seen.Runs.Known(r.ID); !known && r.Plan != nil {
			planned = append(planned, r)
		}
		runs[i].Plan = nil
	}
	w.queue(len(runs), `INSERT INTO run (id, status, created, data)
		SELECT id, status, created, data::json FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) AS r (id, status, created, data)
		ON CONFLICT (id) DO UPDATE SET status = excluded.status, created = excluded.created, data = excluded.data`, columns{
		column(runs, func(r *store.Run) string { return r.ID }),
		column(runs, func(r *store.Run) string { return string(r.Status) }),
		column(runs, func(r *store.Run) int64 { return record.Nanos(r.Created) }),
		column(runs, func(r *store.Run) string { return w.text(r) }),
	})
	w.queue(len(planned), `INSERT INTO plan (run, plan) SELECT run, plan::json FROM unnest($1::text[], $2::text[]) AS p (run, plan)
		ON CONFLICT DO NOTHING`, columns{
		column(planned, func(r *store.Run) string { return r.ID }),
		column(planned, func(r *store.Run) string { return string(r.Plan) }),
	})
}

// tasks leaves out what is known to be there: the needs, which never change, and
// the spec, which hardly ever does.
func (w *write) tasks(tasks []store.Task) {
	var known, other []store.Task
	var specs []*string
	var run, need, needing []string
	for _, t := range tasks {
		before, there := w.Seen.Tasks.Known(t.TaskKey)
		spec := t.Spec
		t.Spec = nil
		if there && bytes.Equal(before.Spec, spec) {
			known = append(known, t)
			continue
		}
		other = append(other, t)
		specs = append(specs, textOrNull(spec))
		for _, n := range t.Needs {
			run, need, needing = append(run, t.Run), append(need, n), append(needing, t.Task)
		}
	}
	w.queue(len(known), `UPDATE task SET seq = t.seq, status = t.status, ready = t.ready, idle = t.idle, wave = t.wave,
		not_before = t.not_before, priority = t.priority, labels = t.labels, lane = t.lane, data = t.data::json
		FROM `+taskArrays+`) AS t (`+taskColumns+`) WHERE task.run = t.run AND task.task = t.task`, w.taskColumns(known))
	w.queue(len(other), `INSERT INTO task (`+taskColumns+`, spec)
		SELECT run, task, seq, status, ready, idle, wave, not_before, priority, labels, lane, data::json, spec::json
		FROM `+taskArrays+`, $13::text[]) AS t (`+taskColumns+`, spec)
		ON CONFLICT (run, task) DO UPDATE SET seq = excluded.seq, status = excluded.status, ready = excluded.ready,
		idle = excluded.idle, wave = excluded.wave, not_before = excluded.not_before, priority = excluded.priority,
		labels = excluded.labels, lane = excluded.lane, data = excluded.data, spec = excluded.spec`, append(w.taskColumns(other), specs))
	w.queue(len(need), `INSERT INTO need (run, need, task) SELECT * FROM unnest($1::text[], $2::text[], $3::text[])
		ON CONFLICT DO NOTHING`, columns{run, need, needing})
}

const (
	taskColumns = `run, task, seq, status, ready, idle, wave, not_before, priority, labels, lane, data`
	taskArrays  = `unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::boolean[], $6::boolean[], $7::bigint[],
		$8::bigint[], $9::bigint[], $10::text[], $11::text[], $12::text[]`
)

func (w *write) taskColumns(tasks []store.Task) columns {
	return columns{
		column(tasks, func(t *store.Task) string { return t.Run }),
		column(tasks, func(t *store.Task) string { return t.Task }),
		column(tasks, func(t *store.Task) int64 { return t.Seq }),
		column(tasks, func(t *store.Task) string { return string(t.Status) }),
		column(tasks, func(t *store.Task) bool { return t.Ready }),
		column(tasks, func(t *store.Task) bool { return record.Idle(*t) }),
		column(tasks, func(t *store.Task) int64 { return int64(t.Wave) }),
		column(tasks, func(t *store.Task) *int64 { return record.NanosOrNull(t.NotBefore) }),
		column(tasks, func(t *store.Task) int64 { return int64(t.Priority) }),
		column(tasks, func(t *store.Task) string { return t.Labels }),
		column(tasks, func(t *store.Task) string { return t.Lane }),
		column(tasks, func(t *store.Task) string { return w.text(t) }),
	}
}

func textOrNull(raw []byte) *string {
	if raw == nil {
		return nil
	}
	text := string(raw)
	return &text
}

func (w *write) attempts(attempts []store.Attempt) {
	w.queue(len(attempts), `INSERT INTO attempt (id, run, task, status, started, due, data)
		SELECT id, run, task, status, started, due, data::json
		FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::text[])
			AS a (id, run, task, status, started, due, data)
		ON CONFLICT (id) DO UPDATE SET status = excluded.status, started = excluded.started, due = excluded.due, data = excluded.data`, columns{
		column(attempts, func(a *store.Attempt) string { return a.ID }),
		column(attempts, func(a *store.Attempt) string { return a.Run }),
		column(attempts, func(a *store.Attempt) string { return a.Task }),
		column(attempts, func(a *store.Attempt) string { return string(a.Status) }),
		column(attempts, func(a *store.Attempt) int64 { return record.Nanos(a.Started) }),
		column(attempts, func(a *store.Attempt) int64 { return record.Nanos(a.Due()) }),
		column(attempts, func(a *store.Attempt) string { return w.text(a) }),
	})
}

func (w *write) questions(questions []store.Question) {
	w.queue(len(questions), `INSERT INTO question (id, attempt, closed, asked, expires, data)
		SELECT id, attempt, closed, asked, expires, data::json
		FROM unnest($1::text[], $2::text[], $3::boolean[], $4::bigint[], $5::bigint[], $6::text[])
			AS q (id, attempt, closed, asked, expires, data)
		ON CONFLICT (id) DO UPDATE SET closed = excluded.closed, asked = excluded.asked, expires = excluded.expires, data = excluded.data`, columns{
		column(questions, func(q *store.Question) string { return q.ID }),
		column(questions, func(q *store.Question) string { return q.Attempt }),
		column(questions, func(q *store.Question) bool { return q.Closed }),
		column(questions, func(q *store.Question) int64 { return record.Nanos(q.Asked) }),
		column(questions, func(q *store.Question) *int64 { return record.NanosOrNull(q.Expires) }),
		column(questions, func(q *store.Question) string { return w.text(q) }),
	})
}

// small writes the rows of which hardly anything but the key is looked for.
func (w *write) small(c store.Changes) {
	w.queue(len(c.Workers), `INSERT INTO worker (id, data) SELECT id, data::json FROM unnest($1::text[], $2::text[]) AS w (id, data)
		ON CONFLICT (id) DO UPDATE SET data = excluded.data`, columns{
		column(c.Workers, func(w *store.Worker) string { return w.ID }),
		column(c.Workers, func(row *store.Worker) string { return w.text(row) }),
	})
	w.queue(len(c.Lanes), `INSERT INTO lane (name, data) SELECT name, data::json FROM unnest($1::text[], $2::text[]) AS l (name, data)
		ON CONFLICT (name) DO UPDATE SET data = excluded.data`, columns{
		column(c.Lanes, func(l *store.Lane) string { return l.Name }),
		column(c.Lanes, func(l *store.Lane) string { return w.text(l) }),
	})
	w.queue(len(c.Promises), `INSERT INTO promise (key, made, data)
		SELECT key, made, data::json FROM unnest($1::text[], $2::bigint[], $3::text[]) AS p (key, made, data)
		ON CONFLICT (key) DO UPDATE SET made = excluded.made, data = excluded.data`, columns{
		column(c.Promises, func(p *store.Promise) string { return p.Key }),
		column(c.Promises, func(p *store.Promise) int64 { return record.Nanos(p.Made) }),
		column(c.Promises, func(p *store.Promise) string { return w.text(p) }),
	})
	w.queue(len(c.Cursors), `INSERT INTO cursor (name, seq, data)
		SELECT name, seq, data::json FROM unnest($1::text[], $2::bigint[], $3::text[]) AS c (name, seq, data)
		ON CONFLICT (name) DO UPDATE SET seq = excluded.seq, data = excluded.data`, columns{
		column(c.Cursors, func(c *store.Cursor) string { return c.Name }),
		column(c.Cursors, func(c *store.Cursor) int64 { return c.Seq }),
		column(c.Cursors, func(c *store.Cursor) string { return w.text(c) }),
	})
}

func (w *write) events(events []store.Event) {
	events = slices.Clone(events)
	rows := column(events, func(e *store.Event) *string { return textOrNull(e.Row) })
	tried := column(events, func(e *store.Event) *string { return textOrNull(e.Tried) })
	for i := range events {
		events[i].Row, events[i].Tried = nil, nil
	}
	w.queue(len(events), `INSERT INTO event (seq, at, kind, run, task, data, row, tried)
		SELECT seq, at, kind, run, task, data::json, row::json, tried::json
		FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
			AS e (seq, at, kind, run, task, data, row, tried)`, columns{
		column(events, func(e *store.Event) int64 { return e.Seq }),
		column(events, func(e *store.Event) int64 { return record.Nanos(e.At) }),
		column(events, func(e *store.Event) string { return e.Kind }),
		column(events, func(e *store.Event) string { return e.Run }),
		column(events, func(e *store.Event) string { return e.Task }),
		column(events, func(e *store.Event) string { return w.text(e) }),
		rows,
		tried,
	})
}
