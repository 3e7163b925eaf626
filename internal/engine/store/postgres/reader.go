package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memo"
	"gaffer/internal/engine/store/record"
)

// querier is a connection, a transaction or a pool.
type querier interface {
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
}

// reader looks up rows.
type reader struct {
	ctx   context.Context // for all its queries: a Reader lives for one call
	db    querier
	store *Store

	memo.Queue
	fetched map[string]fetchedLists // by run
}

func (s *Store) newReader(ctx context.Context, db querier) *reader {
	r := &reader{ctx: ctx, db: db, store: s}
	r.ReadyLists, r.IdleLists = r.readyLists, r.idleLists
	r.Ready, r.Idle = &memo.Ready{}, &memo.Idle{}
	r.Ready.Fetch, r.Idle.Fetch = r.readyHead, r.idleHead
	return r
}

// many returns all rows of a query that selects data.
func many[V any](r *reader, query string, args ...any) (list []V, err error) {
	rows, err := r.db.Query(r.ctx, query, args...)
	if err != nil {
		return nil, r.store.fail(err)
	}
	list, err = pgx.CollectRows(rows, scanRow[V])
	return list, r.store.fail(err)
}

// one returns the only row of a query that selects data.
func one[V any](r *reader, query string, args ...any) (V, error) {
	list, err := many[V](r, query, args...)
	if len(list) > 0 && err == nil {
		return list[0], nil
	}
	var none V
	return none, errors.Join(err, notFound(err))
}

func notFound(err error) error {
	if err == nil {
		return store.ErrNotFound
	}
	return nil
}

// scanRow decodes a row whose last column is data.
func scanRow[V any](row pgx.CollectableRow) (V, error) {
	raw := row.RawValues()
	return record.Read[V](raw[len(raw)-1])
}

// scanTask decodes a row whose last columns are data and spec.
func scanTask(row pgx.CollectableRow) (store.Task, error) {
	raw := row.RawValues()
	task, err := record.Read[store.Task](raw[len(raw)-2])
	task.Spec = cloneRaw(raw[len(raw)-1])
	return task, err
}

func scanEvent(row pgx.CollectableRow) (store.Event, error) {
	raw := row.RawValues()
	event, err := record.Read[store.Event](raw[0])
	event.Row, event.Tried = cloneRaw(raw[1]), cloneRaw(raw[2])
	return event, err
}

// cloneRaw copies a value before the driver overwrites its buffer.
func cloneRaw(raw []byte) json.RawMessage {
	if raw == nil {
		return nil
	}
	return append(json.RawMessage{}, raw...)
}

func (r *reader) Run(id string) (store.Run, error) {
	run, err := one[store.Run](r, "SELECT data FROM run WHERE id = $1", id)
	if err != nil {
		return run, err
	}
	return r.withPlan(run)
}

func (r *reader) withPlan(run store.Run) (_ store.Run, err error) {
	run.Plan, err = r.store.plans.Get(run.ID, r.plan)
	return run, err
}

func (r *reader) plan(run string) (json.RawMessage, error) {
	plan, err := one[json.RawMessage](r, "SELECT plan FROM plan WHERE run = $1", run)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return plan, err
}

func (r *reader) Runs() ([]store.Run, error) {
	return r.runs("SELECT data FROM run ORDER BY created, id")
}

func (r *reader) RunningRuns() ([]store.Run, error) {
	return r.runs("SELECT data FROM run WHERE status = 'running' ORDER BY created, id")
}

func (r *reader) runs(query string) ([]store.Run, error) {
	list, err := many[store.Run](r, query)
	for i := range list {
		if err == nil {
			list[i], err = r.withPlan(list[i])
		}
	}
	return list, err
}

// tasks returns the rows of a query that selects data and spec.
func (r *reader) tasks(query string, args ...any) ([]store.Task, error) {
	rows, err := r.db.Query(r.ctx, query, args...)
	if err != nil {
		return nil, r.store.fail(err)
	}
	list, err := pgx.CollectRows(rows, scanTask)
	return list, r.store.fail(err)
}

func (r *reader) Task(key store.TaskKey) (store.Task, error) {
	list, err := r.tasks("SELECT data, spec FROM task WHERE run = $1 AND task = $2", key.Run, key.Task)
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

// final is the condition of the index task_ended.
const (
	final       = "status IN ('complete', 'failed', 'cancelled')"
	ended       = "SELECT data, spec FROM task WHERE run = $1 AND status = $2 AND " + final + " ORDER BY seq DESC LIMIT $3"
	endedCounts = "SELECT status, count(*) FROM task WHERE " + final + " GROUP BY status"
)

func (r *reader) Ended(run string, in store.Status, limit int) ([]store.Task, error) {
	return r.tasks(ended, run, in, limit)
}

func (r *reader) EndedCounts() (map[store.Status]int, error) {
	rows, err := r.db.Query(r.ctx, endedCounts)
	if err != nil {
		return nil, r.store.fail(err)
	}
	counts := map[store.Status]int{}
	var in store.Status
	var n int
	_, err = pgx.ForEachRow(rows, []any{&in, &n}, func() error {
		counts[in] = n
		return nil
	})
	return counts, r.store.fail(err)
}

func (r *reader) Dependents(key store.TaskKey) ([]store.Task, error) {
	return r.tasks(`SELECT t.data, t.spec FROM need n JOIN task t ON t.run = n.run AND t.task = n.task
		WHERE n.run = $1 AND n.need = $2 ORDER BY t.seq`, key.Run, key.Task)
}

func (r *reader) Delayed(now time.Time, limit int) ([]store.Task, error) {
	return r.tasks(`SELECT data, spec FROM task WHERE idle AND not_before IS NOT NULL AND not_before <= $1
		ORDER BY not_before, seq LIMIT $2`, record.Nanos(now), limit)
}

func (r *reader) Attempt(id string) (store.Attempt, error) {
	return one[store.Attempt](r, "SELECT data FROM attempt WHERE id = $1", id)
}

func (r *reader) Attempts(key store.TaskKey) ([]store.Attempt, error) {
	return many[store.Attempt](r, "SELECT data FROM attempt WHERE run = $1 AND task = $2 ORDER BY started, id", key.Run, key.Task)
}

func (r *reader) AttemptsOf(run string) ([]store.Attempt, error) {
	return many[store.Attempt](r, "SELECT data FROM attempt WHERE run = $1 ORDER BY started, id", run)
}

func (r *reader) Item(key store.ItemKey) (store.Item, error) {
	return one[store.Item](r, "SELECT data FROM item WHERE kind = $1 AND id = $2", key.Kind, key.ID)
}

const itemList = "SELECT data FROM item WHERE kind = $1 AND parent = $2 AND seq > $3 ORDER BY seq, id LIMIT $4"

func (r *reader) Items(kind, parent string, after int64, limit int) ([]store.Item, error) {
	return many[store.Item](r, itemList, kind, parent, after, limit)
}

func (r *reader) Due(now time.Time, limit int) ([]store.Attempt, error) {
	return many[store.Attempt](r, "SELECT data FROM attempt WHERE status = 'running' AND due < $1 ORDER BY due, id LIMIT $2",
		record.Nanos(now), limit)
}

func (r *reader) Worker(id string) (store.Worker, error) {
	return one[store.Worker](r, "SELECT data FROM worker WHERE id = $1", id)
}

func (r *reader) Workers() ([]store.Worker, error) {
	return many[store.Worker](r, "SELECT data FROM worker ORDER BY id")
}

func (r *reader) Question(id string) (store.Question, error) {
	return one[store.Question](r, "SELECT data FROM question WHERE id = $1", id)
}

const openQuestions = "SELECT data FROM question WHERE NOT closed ORDER BY asked, id"

func (r *reader) Questions(open bool) ([]store.Question, error) {
	if open {
		return many[store.Question](r, openQuestions)
	}
	return many[store.Question](r, "SELECT data FROM question ORDER BY asked, id")
}

func (r *reader) Expired(now time.Time, limit int) ([]store.Question, error) {
	return many[store.Question](r, `SELECT data FROM question WHERE NOT closed AND expires IS NOT NULL AND expires < $1
		ORDER BY expires, id LIMIT $2`, record.Nanos(now), limit)
}

func (r *reader) Lane(name string) (store.Lane, error) {
	return one[store.Lane](r, "SELECT data FROM lane WHERE name = $1", name)
}

const allLanes = "SELECT data FROM lane ORDER BY name"

func (r *reader) Lanes() ([]store.Lane, error) { return many[store.Lane](r, allLanes) }

func (r *reader) Promise(key string) (store.Promise, error) {
	return one[store.Promise](r, "SELECT data FROM promise WHERE key = $1", key)
}

func (r *reader) Cursor(name string) (store.Cursor, error) {
	return one[store.Cursor](r, "SELECT data FROM cursor WHERE name = $1", name)
}

func (r *reader) Events(after int64, limit int) ([]store.Event, error) {
	return r.events("SELECT data, row, tried FROM event WHERE seq > $1 ORDER BY seq LIMIT $2", after, limit)
}

// events returns the rows of a query that selects data, row and tried.
func (r *reader) events(query string, args ...any) ([]store.Event, error) {
	rows, err := r.db.Query(r.ctx, query, args...)
	if err != nil {
		return nil, r.store.fail(err)
	}
	list, err := pgx.CollectRows(rows, scanEvent)
	return list, r.store.fail(err)
}

func (r *reader) LastSeq() (last int64, err error) {
	rows, err := r.db.Query(r.ctx, "SELECT seq FROM last_event")
	if err != nil {
		return 0, r.store.fail(err)
	}
	last, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64])
	return last, r.store.fail(err)
}
