package sqlite

import (
	"encoding/json"
	"errors"
	"time"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/record"
)

// reader implements [store.Reader] on one connection.
type reader struct {
	c     *conn
	plans *store.PlanCache
}

// getRow runs a query that selects the column named data of one row, and decodes it.
func getRow[V any](c *conn, query string, args ...any) (row V, err error) {
	var data string
	if err := c.get(query, []any{&data}, args...); err != nil {
		return row, err
	}
	return record.Read[V]([]byte(data))
}

// listRows runs a query that selects the column named data, and decodes this column of all rows.
func listRows[V any](c *conn, query string, args ...any) (list []V, err error) {
	err = c.each(query, func(scan func(...any) error) error {
		var data string
		if err := scan(&data); err != nil {
			return err
		}
		row, err := record.Read[V]([]byte(data))
		list = append(list, row)
		return err
	}, args...)
	return list, err
}

func (r *reader) Run(id string) (store.Run, error) {
	run, err := getRow[store.Run](r.c, "SELECT data FROM run WHERE id = ?", id)
	if err != nil {
		return run, err
	}
	run.Plan, err = r.plans.Get(id, r.plan)
	return run, err
}

func (r *reader) plan(run string) (json.RawMessage, error) {
	var plan string
	err := r.c.get("SELECT plan FROM plan WHERE run = ?", []any{&plan}, run)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return json.RawMessage(plan), err
}

func (r *reader) Runs() ([]store.Run, error) {
	return r.runs("SELECT data FROM run ORDER BY created, id")
}

func (r *reader) RunningRuns() ([]store.Run, error) {
	return r.runs("SELECT data FROM run WHERE status = 'running' ORDER BY created, id")
}

func (r *reader) runs(query string) ([]store.Run, error) {
	list, err := listRows[store.Run](r.c, query)
	for i := range list {
		if err == nil {
			list[i].Plan, err = r.plans.Get(list[i].ID, r.plan)
		}
	}
	return list, err
}

func (r *reader) Task(key store.TaskKey) (store.Task, error) {
	list, err := r.tasks("SELECT data, spec FROM task WHERE run = ? AND task = ?", key.Run, key.Task)
	if err != nil {
		return store.Task{}, err
	}
	if len(list) == 0 {
		return store.Task{}, store.ErrNotFound
	}
	return list[0], nil
}

// tasks runs a query that selects the columns data and spec, and decodes the tasks.
func (r *reader) tasks(query string, args ...any) (list []store.Task, err error) {
	err = r.c.each(query, func(scan func(...any) error) error {
		var data string
		var spec *string
		if err := scan(&data, &spec); err != nil {
			return err
		}
		t, err := readTask(data, spec)
		list = append(list, t)
		return err
	}, args...)
	return list, err
}

func readTask(data string, spec *string) (store.Task, error) {
	t, err := record.Read[store.Task]([]byte(data))
	t.Spec = rawOrNil(spec)
	return t, err
}

func rawOrNil(text *string) json.RawMessage {
	if text == nil {
		return nil
	}
	return json.RawMessage(*text)
}

func (r *reader) Tasks(run string) ([]store.Task, error) {
	return r.tasks("SELECT data, spec FROM task WHERE run = ? ORDER BY seq", run)
}

// The constant final must contain the same condition as the index task_ended, because otherwise
// SQLite does not use this index.
const (
	final       = "status IN ('complete', 'failed', 'cancelled')"
	ended       = "SELECT data, spec FROM task WHERE run = ? AND status = ? AND " + final + " ORDER BY seq DESC LIMIT ?+0"
	endedCounts = "SELECT status, count(*) FROM task WHERE " + final + " GROUP BY status"
)

func (r *reader) EndedTasks(run string, in store.Status, limit int) ([]store.Task, error) {
	return r.tasks(ended, run, in, limit)
}

func (r *reader) EndedTaskCounts() (map[store.Status]int, error) {
	counts := map[store.Status]int{}
	err := r.c.each(endedCounts, func(scan func(...any) error) error {
		var in string
		var n int
		err := scan(&in, &n)
		counts[store.Status(in)] = n
		return err
	})
	return counts, err
}

func (r *reader) Dependents(key store.TaskKey) ([]store.Task, error) {
	return r.tasks(`SELECT t.data, t.spec FROM need n JOIN task t ON t.run = n.run AND t.task = n.task
		WHERE n.run = ? AND n.need = ? ORDER BY t.seq`, key.Run, key.Task)
}

func (r *reader) DelayedTasks(now time.Time, limit int) ([]store.Task, error) {
	return r.tasks(`SELECT data, spec FROM task WHERE idle = 1 AND not_before IS NOT NULL AND not_before <= ?
		ORDER BY not_before, seq LIMIT ?+0`, record.Nanos(now), limit)
}

func (r *reader) Attempt(id string) (store.Attempt, error) {
	return getRow[store.Attempt](r.c, "SELECT data FROM attempt WHERE id = ?", id)
}

func (r *reader) Attempts(key store.TaskKey) ([]store.Attempt, error) {
	return listRows[store.Attempt](r.c, "SELECT data FROM attempt WHERE run = ? AND task = ? ORDER BY started, id", key.Run, key.Task)
}

func (r *reader) AttemptsOf(run string) ([]store.Attempt, error) {
	return listRows[store.Attempt](r.c, "SELECT data FROM attempt WHERE run = ? ORDER BY started, id", run)
}

func (r *reader) Item(key store.ItemKey) (store.Item, error) {
	return getRow[store.Item](r.c, "SELECT data FROM item WHERE kind = ? AND id = ?", key.Kind, key.ID)
}

const itemList = "SELECT data FROM item WHERE kind = ? AND parent = ? AND seq > ? ORDER BY seq, id LIMIT ?+0"

func (r *reader) Items(kind, parent string, after int64, limit int) ([]store.Item, error) {
	return listRows[store.Item](r.c, itemList, kind, parent, after, limit)
}

func (r *reader) DueAttempts(now time.Time, limit int) ([]store.Attempt, error) {
	return listRows[store.Attempt](r.c, "SELECT data FROM attempt WHERE status = 'running' AND due < ? ORDER BY due, id LIMIT ?+0",
		record.Nanos(now), limit)
}

func (r *reader) Worker(id string) (store.Worker, error) {
	return getRow[store.Worker](r.c, "SELECT data FROM worker WHERE id = ?", id)
}

func (r *reader) Workers() ([]store.Worker, error) {
	return listRows[store.Worker](r.c, "SELECT data FROM worker ORDER BY id")
}

func (r *reader) Question(id string) (store.Question, error) {
	return getRow[store.Question](r.c, "SELECT data FROM question WHERE id = ?", id)
}

func (r *reader) Questions(open bool) ([]store.Question, error) {
	if open {
		return listRows[store.Question](r.c, "SELECT data FROM question WHERE closed = 0 ORDER BY asked, id")
	}
	return listRows[store.Question](r.c, "SELECT data FROM question ORDER BY asked, id")
}

func (r *reader) ExpiredQuestions(now time.Time, limit int) ([]store.Question, error) {
	return listRows[store.Question](r.c, `SELECT data FROM question WHERE closed = 0 AND expires IS NOT NULL AND expires < ?
		ORDER BY expires, id LIMIT ?+0`, record.Nanos(now), limit)
}

func (r *reader) Account(name string) (store.Account, error) {
	return getRow[store.Account](r.c, "SELECT data FROM lane WHERE name = ?", name)
}

func (r *reader) Accounts() ([]store.Account, error) {
	return listRows[store.Account](r.c, "SELECT data FROM lane ORDER BY name")
}

func (r *reader) IdempotencyRecord(key string) (store.IdempotencyRecord, error) {
	return getRow[store.IdempotencyRecord](r.c, "SELECT data FROM promise WHERE key = ?", key)
}

func (r *reader) Cursor(name string) (store.Cursor, error) {
	return getRow[store.Cursor](r.c, "SELECT data FROM cursor WHERE name = ?", name)
}

func (r *reader) Events(after int64, limit int) ([]store.Event, error) {
	return r.events("SELECT data, row, tried FROM event WHERE seq > ? ORDER BY seq LIMIT ?+0", after, limit)
}

// events runs a query that selects the columns data, row and tried, and decodes the events.
func (r *reader) events(query string, args ...any) (list []store.Event, err error) {
	err = r.c.each(query, func(scan func(...any) error) error {
		var data string
		var row, tried *string
		if err := scan(&data, &row, &tried); err != nil {
			return err
		}
		e, err := record.Read[store.Event]([]byte(data))
		e.Row, e.AttemptRow = rawOrNil(row), rawOrNil(tried)
		list = append(list, e)
		return err
	}, args...)
	return list, err
}

func (r *reader) LastSeq() (last int64, err error) {
	err = r.c.get("SELECT coalesce(max(seq), 0) FROM event", []any{&last})
	return last, err
}

func (r *reader) EventsWithoutRows(after int64, limit int) ([]store.Event, error) {
	return listRows[store.Event](r.c, "SELECT data FROM event WHERE seq > ? ORDER BY seq LIMIT ?+0", after, limit)
}

func (r *reader) RunsBefore(created time.Time) ([]store.Run, error) {
	return listRows[store.Run](r.c, "SELECT data FROM run WHERE created < ? ORDER BY created, id", record.Nanos(created))
}

func (r *reader) IdempotencyRecords(made time.Time, after string, limit int) ([]store.IdempotencyRecord, error) {
	return listRows[store.IdempotencyRecord](r.c, "SELECT data FROM promise WHERE key > ? AND made < ? ORDER BY key LIMIT ?+0", after, record.Nanos(made), limit)
}

// The index event_run contains only events with a non-empty run. SQLite uses this index only for a
// query with the same condition on run, so eventsOf contains this condition.
const (
	eventsOf    = "SELECT data, row, tried FROM event WHERE run = ? AND run <> '' AND seq > ? ORDER BY seq LIMIT ?+0"
	questionsOf = "SELECT data FROM question WHERE data ->> 'run' = ? ORDER BY asked, id"
)

// EventsOf implements [store.Reader].
func (r *reader) EventsOf(run string, after int64, limit int) ([]store.Event, error) {
	return r.events(eventsOf, run, after, limit)
}

// QuestionsOf implements [store.Reader].
func (r *reader) QuestionsOf(run string) ([]store.Question, error) {
	return listRows[store.Question](r.c, questionsOf, run)
}

var _ store.Summaries = (*reader)(nil)

// LatestRuns implements [store.Summaries].
func (r *reader) LatestRuns(running bool, from, limit int) ([]store.Run, error) {
	if running {
		return listRows[store.Run](r.c, "SELECT data FROM run WHERE status = 'running' ORDER BY created DESC, id DESC LIMIT ?+0 OFFSET ?+0", limit, from)
	}
	return listRows[store.Run](r.c, "SELECT data FROM run ORDER BY created DESC, id DESC LIMIT ?+0 OFFSET ?+0", limit, from)
}

// TaskCounts implements [store.Summaries].
func (r *reader) TaskCounts(run string) (map[store.Status]int, error) {
	counts := map[store.Status]int{}
	err := r.c.each("SELECT status, count(*) FROM task WHERE run = ? GROUP BY status", func(scan func(...any) error) error {
		var status string
		var n int
		err := scan(&status, &n)
		counts[store.Status(status)] = n
		return err
	}, run)
	return counts, err
}
