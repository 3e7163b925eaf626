package sqlite

import (
	"bytes"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/record"
)

// apply writes rows.
func (s *session) apply(c store.Changes) error {
	for _, apply := range []func() error{
		func() error { return each(c.Runs, s.putRun) },
		func() error { return s.putTasks(c.Tasks) },
		func() error { return s.putAttempts(c.Attempts) },
		func() error { return s.putWorkers(c.Workers) },
		func() error { return each(c.Questions, s.putQuestion) },
		func() error { return each(c.Lanes, s.putLane) },
		func() error { return s.putPromises(c.Promises) },
		func() error { return each(c.Cursors, s.putCursor) },
		func() error { return each(c.Items, s.putItem) },
		func() error { return each(c.Dropped, s.dropItem) },
		func() error { return s.putEvents(c.Events) },
		func() error { return s.takeAway(c.Gone) },
	} {
		if err := apply(); err != nil {
			return err
		}
	}
	return nil
}

func each[V any](rows []V, put func(V) error) error {
	for _, row := range rows {
		if err := put(row); err != nil {
			return err
		}
	}
	return nil
}

// put writes a row. The row's JSON is the last parameter.
func (s *session) put(query string, row any, args ...any) error {
	data, err := s.store.record.Text(row)
	if err != nil {
		return err
	}
	return s.store.write.exec(query, append(args, data)...)
}

func (s *session) putRun(r store.Run) error {
	plan := r.Plan
	r.Plan = nil
	before, known := s.Seen.Runs.Known(r.ID)
	if !known && plan != nil {
		if err := s.store.write.exec("INSERT INTO plan VALUES (?, ?) ON CONFLICT DO NOTHING", r.ID, string(plan)); err != nil {
			return err
		}
	}
	if known && before.Status == r.Status && before.Created.Equal(r.Created) {
		return s.put("UPDATE run SET data = ?2 WHERE id = ?1", &r, r.ID) // touches no index
	}
	return s.put(`INSERT INTO run (id, status, created, data) VALUES (?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET status = excluded.status, created = excluded.created, data = excluded.data`,
		&r, r.ID, r.Status, record.Nanos(r.Created))
}

var (
	moveTasks = newChange("UPDATE task SET status = v.column3, data = v.column4", "(?, ?, ?, ?)",
		"WHERE task.run = v.column1 AND task.task = v.column2",
		"UPDATE task SET status = ?3, data = ?4 WHERE run = ?1 AND task = ?2")
	takeTasks = newChange("UPDATE task SET status = v.column3, data = v.column4, ready = v.column5", "(?, ?, ?, ?, ?)",
		"WHERE task.run = v.column1 AND task.task = v.column2",
		"UPDATE task SET status = ?3, data = ?4, ready = ?5 WHERE run = ?1 AND task = ?2")
)

// putTasks writes tasks with few changed columns in bulk, and the others one by one.
func (s *session) putTasks(tasks []store.Task) error {
	var moved, taken []*store.Task
	for i := range tasks {
		t := &tasks[i]
		before, known := s.Seen.Tasks.Known(t.TaskKey)
		same := known && bytes.Equal(before.Spec, t.Spec)
		switch {
		case same && stays(&before, t) && before.Ready == t.Ready:
			moved = append(moved, t)
		case same && stays(&before, t):
			taken = append(taken, t)
		default:
			if err := s.putTask(*t, known, same); err != nil {
				return err
			}
		}
	}
	err := putAll(s.store.write, moveTasks, moved, s.moved)
	if err != nil {
		return err
	}
	return putAll(s.store.write, takeTasks, taken, func(to []any, t *store.Task) ([]any, error) {
		to, err := s.moved(to, t)
		return append(to, t.Ready), err
	})
}

func (s *session) moved(to []any, t *store.Task) ([]any, error) {
	row := *t
	row.Spec = nil
	data, err := s.store.record.Text(&row)
	return append(to, t.Run, t.Task, t.Status, data), err
}

// putTask leaves out columns that are known to be unchanged: the needs, which never
// change, and the spec, which hardly ever does.
func (s *session) putTask(t store.Task, known, same bool) error {
	spec := t.Spec
	t.Spec = nil
	if same {
		return s.put(`UPDATE task SET seq = ?3, status = ?4, ready = ?5, idle = ?6, wave = ?7, not_before = ?8, priority = ?9,
			labels = ?10, lane = ?11, data = ?12 WHERE run = ?1 AND task = ?2`, &t, taskColumns(&t)...)
	}
	if !known {
		for _, need := range t.Needs {
			if err := s.store.write.exec("INSERT INTO need (run, need, task) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", t.Run, need, t.Task); err != nil {
				return err
			}
		}
	}
	return s.put(`INSERT INTO task (run, task, seq, status, ready, idle, wave, not_before, priority, labels, lane, spec, data)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET seq = excluded.seq, status = excluded.status, ready = excluded.ready, idle = excluded.idle,
		wave = excluded.wave, not_before = excluded.not_before, priority = excluded.priority, labels = excluded.labels,
		lane = excluded.lane, spec = excluded.spec, data = excluded.data`, &t, append(taskColumns(&t), textOrNull(spec))...)
}

// stays reports whether all columns that an index uses are the same, except ready.
// SQLite checks every index that contains a column named in the statement.
func stays(before, t *store.Task) bool {
	return before.Idle() == t.Idle() && before.NotBefore.Equal(t.NotBefore) &&
		before.Seq == t.Seq && before.Wave == t.Wave && before.Priority == t.Priority && before.Labels == t.Labels && before.Lane == t.Lane
}

func taskColumns(t *store.Task) []any {
	return []any{
		t.Run, t.Task, t.Seq, t.Status, t.Ready, t.Idle(), t.Wave, record.NanosOrNull(t.NotBefore), t.Priority,
		t.Labels, t.Lane,
	}
}

func textOrNull(raw []byte) any {
	if raw == nil {
		return nil
	}
	return string(raw)
}

var insertAttempts = newBulk("INSERT INTO attempt (id, run, task, status, started, due, data) VALUES ", "(?, ?, ?, ?, ?, ?, ?)",
	` ON CONFLICT DO UPDATE SET status = excluded.status, started = excluded.started, due = excluded.due, data = excluded.data`)

var changeAttempts = newChange("UPDATE attempt SET status = v.column2, started = v.column3, due = v.column4, data = v.column5",
	"(?, ?, ?, ?, ?)", "WHERE attempt.id = v.column1",
	"UPDATE attempt SET status = ?2, started = ?3, due = ?4, data = ?5 WHERE id = ?1")

func (s *session) putAttempts(attempts []store.Attempt) error {
	var known, unknown []*store.Attempt
	for i := range attempts {
		if a := &attempts[i]; s.Seen.Attempts.Has(a.ID) {
			known = append(known, a)
		} else {
			unknown = append(unknown, a)
		}
	}
	err := putAll(s.store.write, changeAttempts, known, func(to []any, a *store.Attempt) ([]any, error) {
		data, err := s.store.record.Text(a)
		return append(to, a.ID, a.Status, record.Nanos(a.Started), record.Nanos(a.Due()), data), err
	})
	if err != nil {
		return err
	}
	return putAll(s.store.write, insertAttempts, unknown, func(to []any, a *store.Attempt) ([]any, error) {
		data, err := s.store.record.Text(a)
		return append(to, a.ID, a.Run, a.Task, a.Status, record.Nanos(a.Started), record.Nanos(a.Due()), data), err
	})
}

var insertWorkers = newBulk("INSERT INTO worker (id, data) VALUES ", "(?, ?)", " ON CONFLICT DO UPDATE SET data = excluded.data")

func (s *session) putWorkers(workers []store.Worker) error {
	return putAll(s.store.write, insertWorkers, workers, func(to []any, w store.Worker) ([]any, error) {
		data, err := s.store.record.Text(&w)
		return append(to, w.ID, data), err
	})
}

func (s *session) putQuestion(q store.Question) error {
	return s.put(`INSERT INTO question (id, attempt, closed, asked, expires, data) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET closed = excluded.closed, asked = excluded.asked, expires = excluded.expires, data = excluded.data`,
		&q, q.ID, q.Attempt, q.Closed, record.Nanos(q.Asked), record.NanosOrNull(q.Expires))
}

func (s *session) putLane(l store.Lane) error {
	return s.put("INSERT INTO lane (name, data) VALUES (?, ?) ON CONFLICT DO UPDATE SET data = excluded.data", &l, l.Name)
}

var insertPromises = newBulk("INSERT INTO promise (key, made, data) VALUES ", "(?, ?, ?)",
	" ON CONFLICT DO UPDATE SET made = excluded.made, data = excluded.data")

func (s *session) putPromises(promises []store.Promise) error {
	return putAll(s.store.write, insertPromises, promises, func(to []any, p store.Promise) ([]any, error) {
		data, err := s.store.record.Text(&p)
		return append(to, p.Key, record.Nanos(p.Made), data), err
	})
}

func (s *session) putCursor(c store.Cursor) error {
	return s.put("INSERT INTO cursor (name, seq, data) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET seq = excluded.seq, data = excluded.data",
		&c, c.Name, c.Seq)
}

func (s *session) putItem(i store.Item) error {
	return s.put(`INSERT INTO item (kind, id, parent, seq, data) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET parent = excluded.parent, seq = excluded.seq, data = excluded.data`, &i, i.Kind, i.ID, i.Parent, i.Seq)
}

func (s *session) dropItem(key store.ItemKey) error {
	return s.store.write.exec("DELETE FROM item WHERE kind = ? AND id = ?", key.Kind, key.ID)
}

var insertEvents = newBulk("INSERT INTO event (seq, at, kind, run, task, row, tried, data) VALUES ", "(?, ?, ?, ?, ?, ?, ?, ?)", "")

func (s *session) putEvents(events []store.Event) error {
	return putAll(s.store.write, insertEvents, events, func(to []any, e store.Event) ([]any, error) {
		row, tried := e.Row, e.Tried
		e.Row, e.Tried = nil, nil
		data, err := s.store.record.Text(&e)
		return append(to, e.Seq, record.Nanos(e.At), e.Kind, e.Run, e.Task, textOrNull(row), textOrNull(tried), data), err
	})
}
