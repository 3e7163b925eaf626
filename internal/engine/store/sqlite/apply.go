package sqlite

import (
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/record"
)

// apply executes the statements that write the changes c. The caller must commit them, or roll them
// back if apply fails.
func (t *transaction) apply(c store.Changes) error {
	w := &rowWriter{c: t.store.write}
	for _, r := range c.Runs {
		if r.Plan != nil && !c.HasPlan(r.ID) {
			w.exec("INSERT INTO plan VALUES (?, ?) ON CONFLICT DO NOTHING", r.ID, string(r.Plan))
		}
		r.Plan = nil
		w.put(`INSERT INTO run (id, status, created, data) VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET status = excluded.status, created = excluded.created, data = excluded.data`,
			&r, r.ID, r.Status, record.Nanos(r.Created))
	}
	for _, row := range c.Tasks {
		w.task(row, &c)
	}
	for _, a := range c.Attempts {
		w.put(`INSERT INTO attempt (id, run, task, status, started, due, data) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET status = excluded.status, started = excluded.started, due = excluded.due, data = excluded.data`,
			&a, a.ID, a.Run, a.Task, a.Status, record.Nanos(a.Started), record.Nanos(a.Due()))
	}
	for _, row := range c.Workers {
		w.put("INSERT INTO worker (id, data) VALUES (?, ?) ON CONFLICT DO UPDATE SET data = excluded.data", &row, row.ID)
	}
	for _, q := range c.Questions {
		w.put(`INSERT INTO question (id, attempt, closed, asked, expires, data) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET closed = excluded.closed, asked = excluded.asked, expires = excluded.expires, data = excluded.data`,
			&q, q.ID, q.Attempt, q.Closed, record.Nanos(q.Asked), record.NanosOrNull(q.Expires))
	}
	for _, l := range c.Accounts {
		w.put("INSERT INTO lane (name, data) VALUES (?, ?) ON CONFLICT DO UPDATE SET data = excluded.data", &l, l.Name)
	}
	for _, p := range c.IdempotencyRecords {
		w.put("INSERT INTO promise (key, made, data) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET made = excluded.made, data = excluded.data",
			&p, p.Key, record.Nanos(p.Made))
	}
	for _, row := range c.Cursors {
		w.put("INSERT INTO cursor (name, seq, data) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET seq = excluded.seq, data = excluded.data",
			&row, row.Name, row.Seq)
	}
	for _, i := range c.Items {
		w.put(`INSERT INTO item (kind, id, parent, seq, data) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET parent = excluded.parent, seq = excluded.seq, data = excluded.data`, &i, i.Kind, i.ID, i.Parent, i.Seq)
	}
	for _, key := range c.Dropped {
		w.exec("DELETE FROM item WHERE kind = ? AND id = ?", key.Kind, key.ID)
	}
	for _, e := range c.Events {
		row, tried := e.Row, e.AttemptRow
		e.Row, e.AttemptRow = nil, nil
		w.put("INSERT INTO event (seq, at, kind, run, task, row, tried, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			&e, e.Seq, record.Nanos(e.At), e.Kind, e.Run, e.Task, textOrNull(row), textOrNull(tried))
	}
	w.deleteRows(c.Deletions)
	return w.err
}

// rowWriter executes statements until one of them fails. It keeps the error in err, and executes no
// more statements.
type rowWriter struct {
	c   *conn
	err error
}

func (w *rowWriter) exec(query string, args ...any) {
	if w.err == nil {
		w.err = w.c.exec(query, args...)
	}
}

// put executes a statement that writes a row. The JSON of the row is the statement's last
// parameter, after args.
func (w *rowWriter) put(query string, row any, args ...any) {
	if w.err != nil {
		return
	}
	var data string
	if data, w.err = record.Text(row); w.err == nil {
		w.exec(query, append(args, data)...)
	}
}

// task writes a task. The Needs of a task never change, so they are written only if the task may be
// new. It may be new if the transaction has not read the task from the database.
func (w *rowWriter) task(t store.Task, c *store.Changes) {
	if _, known := c.StoredTask(t.TaskKey); !known {
		for _, need := range t.Needs {
			w.exec("INSERT INTO need (run, need, task) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", t.Run, need, t.Task)
		}
	}
	spec := t.Spec
	t.Spec = nil
	w.put(`INSERT INTO task (run, task, seq, status, ready, idle, wave, not_before, priority, labels, lane, spec, data)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET seq = excluded.seq, status = excluded.status, ready = excluded.ready, idle = excluded.idle,
		wave = excluded.wave, not_before = excluded.not_before, priority = excluded.priority, labels = excluded.labels,
		lane = excluded.lane, spec = excluded.spec, data = excluded.data`,
		&t, t.Run, t.Task, t.Seq, t.Status, t.Ready, t.Idle(), t.Wave, record.NanosOrNull(t.NotBefore), t.Priority, t.Labels, t.Account,
		textOrNull(spec))
}

func textOrNull(raw []byte) any {
	if raw == nil {
		return nil
	}
	return string(raw)
}
