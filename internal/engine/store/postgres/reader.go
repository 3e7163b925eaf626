package postgres

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/record"
)

// reader implements [store.Reader]. Its queries select only columns of type TEXT.
type reader struct {
	store *Store
	// rows runs a query and returns its rows. In a write transaction it may return
	// [store.ErrNotLoaded]. Then the request runs again after the rows were loaded.
	rows func(query string, args ...any) ([]textRow, error)
	// rowsNow sends a query immediately, so it never returns [store.ErrNotLoaded]. It is for
	// queries with an argument that is different in each call, such as the current time. A stored
	// result of such a query could not be used for a later call.
	rowsNow func(query string, args ...any) ([]textRow, error)
	// rowsByKey returns the rows that a query finds for one key. The query must be able to look up
	// many keys at once, because several lookups may be sent as one statement: each parameter is an
	// array that contains one part of every key, and the first column of the result is the position
	// of the key in these arrays, starting at 1. rowsByKey removes this column from the rows.
	rowsByKey func(query string, key ...string) ([]textRow, error)
}

const (
	oneKey  = "unnest($1::text[]) WITH ORDINALITY AS k (key, n)"
	twoKeys = "unnest($1::text[], $2::text[]) WITH ORDINALITY AS k (key, key2, n)"

	runByID    = "SELECT k.n::text, data FROM " + oneKey + " JOIN run ON id = key"
	planByRun  = "SELECT k.n::text, plan FROM " + oneKey + " JOIN plan ON run = key"
	taskByKey  = "SELECT k.n::text, data, spec FROM " + twoKeys + " JOIN task ON run = key AND task = key2"
	dependents = "SELECT k.n::text, t.data, t.spec FROM " + twoKeys + " JOIN need ON need.run = key AND need.need = key2 " +
		"JOIN task t ON t.run = need.run AND t.task = need.task ORDER BY t.seq"
	attemptByID            = "SELECT k.n::text, data FROM " + oneKey + " JOIN attempt ON id = key"
	itemByKey              = "SELECT k.n::text, data FROM " + twoKeys + " JOIN item ON kind = key AND id = key2"
	workerByID             = "SELECT k.n::text, data FROM " + oneKey + " JOIN worker ON id = key"
	questionByID           = "SELECT k.n::text, data FROM " + oneKey + " JOIN question ON id = key"
	accountByName          = "SELECT k.n::text, data FROM " + oneKey + " JOIN lane ON name = key"
	idempotencyRecordByKey = "SELECT k.n::text, data FROM " + oneKey + " JOIN promise p ON p.key = k.key"
	cursorByName           = "SELECT k.n::text, data FROM " + oneKey + " JOIN cursor ON name = key"
)

// textRow is a row of a query's result. A nil element means NULL.
type textRow [][]byte

// textRows reads all rows of a query's result.
func textRows(rows pgx.Rows) ([]textRow, error) {
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (textRow, error) {
		raw := row.RawValues()
		columns := make(textRow, len(raw))
		for i, value := range raw {
			if value != nil {
				columns[i] = append([]byte{}, value...) // copy the value, because the driver reuses its buffer
			}
		}
		return columns, nil
	})
}

// decode decodes the rows of a query as JSON, from the last column of each row. The parameters are
// the results of the call that ran the query. If err is not nil, decode returns err.
func decode[V any](rows []textRow, err error) (list []V, _ error) {
	for _, row := range rows {
		v, err := record.Read[V](row[len(row)-1])
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, err
}

// listRows runs a query that selects the column named data, and decodes this column of all rows.
func listRows[V any](r *reader, query string, args ...any) (list []V, err error) {
	return decode[V](r.rows(query, args...))
}

// getRow looks up a row by its key and decodes it. The query must select the column named data.
// getRow returns [store.ErrNotFound] if there is no such row.
func getRow[V any](r *reader, query string, key ...string) (row V, err error) {
	list, err := decode[V](r.rowsByKey(query, key...))
	if err != nil {
		return row, err
	}
	if len(list) == 0 {
		return row, store.ErrNotFound
	}
	return list[0], nil
}

// readTask decodes a task. The last two columns of row must be data and spec.
func readTask(row textRow) (store.Task, error) {
	t, err := record.Read[store.Task](row[len(row)-2])
	t.Spec = row[len(row)-1]
	return t, err
}

// decodeTasks decodes each row of a query as a task. The last two columns of a row must be data and
// spec. The parameters are the results of the call that ran the query. If err is not nil,
// decodeTasks returns err.
func decodeTasks(rows []textRow, err error) (list []store.Task, _ error) {
	for _, row := range rows {
		t, err := readTask(row)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, err
}

func (r *reader) Run(id string) (store.Run, error) {
	run, err := getRow[store.Run](r, runByID, id)
	if err != nil {
		return run, err
	}
	run.Plan, err = r.store.plans.Get(id, r.plan)
	return run, err
}

func (r *reader) plan(run string) (json.RawMessage, error) {
	rows, err := r.rowsByKey(planByRun, run)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0][0], nil
}

func (r *reader) Runs() ([]store.Run, error) {
	return r.runs("SELECT data FROM run ORDER BY created, id")
}

func (r *reader) RunningRuns() ([]store.Run, error) {
	return r.runs("SELECT data FROM run WHERE status = 'running' ORDER BY created, id")
}

func (r *reader) runs(query string) ([]store.Run, error) {
	list, err := listRows[store.Run](r, query)
	for i := range list {
		if err == nil {
			list[i].Plan, err = r.store.plans.Get(list[i].ID, r.plan)
		}
	}
	return list, err
}

// tasks runs a query that selects the columns data and spec, and decodes the tasks.
func (r *reader) tasks(query string, args ...any) ([]store.Task, error) {
	return decodeTasks(r.rows(query, args...))
}

func (r *reader) Task(key store.TaskKey) (store.Task, error) {
	list, err := decodeTasks(r.rowsByKey(taskByKey, key.Run, key.Task))
	if err != nil {
		return store.Task{}, err
	}
	if len(list) == 0 {
		return store.Task{}, store.ErrNotFound
	}
	return list[0], nil
}

func (r *reader) Tasks(run string) ([]store.Task, error) {
	return r.tasks("SELECT data, spec FROM task WHERE run = $1 ORDER BY seq", run)
}

// The constant final must contain the same condition as the index task_ended, because otherwise
// PostgreSQL does not use this index.
const (
	final       = "status IN ('complete', 'failed', 'cancelled')"
	ended       = "SELECT data, spec FROM task WHERE run = $1 AND status = $2 AND " + final + " ORDER BY seq DESC LIMIT $3"
	endedCounts = "SELECT status, count(*)::text FROM task WHERE " + final + " GROUP BY status"
)

func (r *reader) EndedTasks(run string, in store.Status, limit int) ([]store.Task, error) {
	return r.tasks(ended, run, string(in), limit)
}

func (r *reader) EndedTaskCounts() (map[store.Status]int, error) {
	return r.counts(endedCounts)
}

// counts runs a query that selects a status and a count in each row, and returns the counts by
// status.
func (r *reader) counts(query string, args ...any) (map[store.Status]int, error) {
	rows, err := r.rows(query, args...)
	counts := map[store.Status]int{}
	for _, row := range rows {
		n, err := strconv.Atoi(string(row[1]))
		if err != nil {
			return nil, err
		}
		counts[store.Status(row[0])] = n
	}
	return counts, err
}

func (r *reader) Dependents(key store.TaskKey) ([]store.Task, error) {
	return decodeTasks(r.rowsByKey(dependents, key.Run, key.Task))
}

func (r *reader) DelayedTasks(now time.Time, limit int) ([]store.Task, error) {
	return decodeTasks(r.rowsNow(`SELECT data, spec FROM task WHERE idle AND not_before IS NOT NULL AND not_before <= $1
		ORDER BY not_before, seq LIMIT $2`, record.Nanos(now), limit))
}

func (r *reader) Attempt(id string) (store.Attempt, error) {
	return getRow[store.Attempt](r, attemptByID, id)
}

func (r *reader) Attempts(key store.TaskKey) ([]store.Attempt, error) {
	return listRows[store.Attempt](r, "SELECT data FROM attempt WHERE run = $1 AND task = $2 ORDER BY started, id", key.Run, key.Task)
}

func (r *reader) AttemptsOf(run string) ([]store.Attempt, error) {
	return listRows[store.Attempt](r, "SELECT data FROM attempt WHERE run = $1 ORDER BY started, id", run)
}

func (r *reader) Item(key store.ItemKey) (store.Item, error) {
	return getRow[store.Item](r, itemByKey, key.Kind, key.ID)
}

const itemList = "SELECT data FROM item WHERE kind = $1 AND parent = $2 AND seq > $3 ORDER BY seq, id LIMIT $4"

func (r *reader) Items(kind, parent string, after int64, limit int) ([]store.Item, error) {
	return listRows[store.Item](r, itemList, kind, parent, after, limit)
}

func (r *reader) DueAttempts(now time.Time, limit int) ([]store.Attempt, error) {
	return decode[store.Attempt](r.rowsNow("SELECT data FROM attempt WHERE status = 'running' AND due < $1 ORDER BY due, id LIMIT $2",
		record.Nanos(now), limit))
}

func (r *reader) Worker(id string) (store.Worker, error) {
	return getRow[store.Worker](r, workerByID, id)
}

func (r *reader) Workers() ([]store.Worker, error) {
	return listRows[store.Worker](r, "SELECT data FROM worker ORDER BY id")
}

func (r *reader) Question(id string) (store.Question, error) {
	return getRow[store.Question](r, questionByID, id)
}

const openQuestions = "SELECT data FROM question WHERE NOT closed ORDER BY asked, id"

func (r *reader) Questions(open bool) ([]store.Question, error) {
	if open {
		return listRows[store.Question](r, openQuestions)
	}
	return listRows[store.Question](r, "SELECT data FROM question ORDER BY asked, id")
}

func (r *reader) ExpiredQuestions(now time.Time, limit int) ([]store.Question, error) {
	return decode[store.Question](r.rowsNow(`SELECT data FROM question WHERE NOT closed AND expires IS NOT NULL AND expires < $1
		ORDER BY expires, id LIMIT $2`, record.Nanos(now), limit))
}

func (r *reader) Account(name string) (store.Account, error) {
	return getRow[store.Account](r, accountByName, name)
}

const allAccounts = "SELECT data FROM lane ORDER BY name"

func (r *reader) Accounts() ([]store.Account, error) { return listRows[store.Account](r, allAccounts) }

func (r *reader) IdempotencyRecord(key string) (store.IdempotencyRecord, error) {
	return getRow[store.IdempotencyRecord](r, idempotencyRecordByKey, key)
}

func (r *reader) Cursor(name string) (store.Cursor, error) {
	return getRow[store.Cursor](r, cursorByName, name)
}

func (r *reader) Events(after int64, limit int) ([]store.Event, error) {
	return r.events("SELECT data, row, tried FROM event WHERE seq > $1 ORDER BY seq LIMIT $2", after, limit)
}

// events runs a query that selects the columns data, row and tried, and decodes the events.
func (r *reader) events(query string, args ...any) (list []store.Event, err error) {
	rows, err := r.rows(query, args...)
	for _, row := range rows {
		e, err := record.Read[store.Event](row[0])
		if err != nil {
			return nil, err
		}
		e.Row, e.AttemptRow = row[1], row[2]
		list = append(list, e)
	}
	return list, err
}

func (r *reader) LastSeq() (int64, error) {
	rows, err := r.rows("SELECT seq::text FROM last_event")
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(string(rows[0][0]), 10, 64)
}

func (r *reader) EventsWithoutRows(after int64, limit int) ([]store.Event, error) {
	return listRows[store.Event](r, "SELECT data FROM event WHERE seq > $1 ORDER BY seq LIMIT $2", after, limit)
}

func (r *reader) RunsBefore(created time.Time) ([]store.Run, error) {
	return listRows[store.Run](r, "SELECT data FROM run WHERE created < $1 ORDER BY created, id", record.Nanos(created))
}

func (r *reader) IdempotencyRecords(made time.Time, after string, limit int) ([]store.IdempotencyRecord, error) {
	return listRows[store.IdempotencyRecord](r, "SELECT data FROM promise WHERE key > $1 AND made < $2 ORDER BY key LIMIT $3", after, record.Nanos(made), limit)
}

const (
	eventsOf    = "SELECT data, row, tried FROM event WHERE run = $1 AND seq > $2 ORDER BY seq LIMIT $3"
	questionsOf = "SELECT data FROM question WHERE (readable(data) ->> 'run') COLLATE \"C\" = $1 ORDER BY asked, id"
)

// EventsOf implements [store.Reader].
func (r *reader) EventsOf(run string, after int64, limit int) ([]store.Event, error) {
	return r.events(eventsOf, run, after, limit)
}

// QuestionsOf implements [store.Reader].
func (r *reader) QuestionsOf(run string) ([]store.Question, error) {
	return listRows[store.Question](r, questionsOf, run)
}

var _ store.Summaries = (*reader)(nil)

// LatestRuns implements [store.Summaries].
func (r *reader) LatestRuns(running bool, from, limit int) ([]store.Run, error) {
	if running {
		return listRows[store.Run](r, "SELECT data FROM run WHERE status = 'running' ORDER BY created DESC, id DESC LIMIT $1 OFFSET $2", limit, from)
	}
	return listRows[store.Run](r, "SELECT data FROM run ORDER BY created DESC, id DESC LIMIT $1 OFFSET $2", limit, from)
}

// TaskCounts implements [store.Summaries].
func (r *reader) TaskCounts(run string) (map[store.Status]int, error) {
	return r.counts("SELECT status, count(*)::text FROM task WHERE run = $1 GROUP BY status", run)
}
