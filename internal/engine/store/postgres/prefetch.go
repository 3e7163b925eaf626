package postgres

import (
	"math"

	"github.com/jackc/pgx/v5"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memo"
	"gaffer/internal/engine/store/record"
)

const (
	// maxLists is the number of idle lists that are prefetched per run.
	maxLists = 8
	// If tasks must be fetched, ahead is the number of sessions like this one to fetch
	// tasks for. farAhead is the number of sessions to fetch the keys of the next tasks
	// and their dependents for.
	ahead, farAhead = 16, 64
)

// prefetch fetches the rows that many requests need and that are not cached, in a few
// exchanges with the server. Usually it is one exchange, and none for requests that
// only end attempts.
type prefetch struct {
	*session
	need  store.Need
	limit int // how many tasks of a list the requests may look at
	batch pgx.Batch

	tasks wanted[store.TaskKey]
	below wanted[store.TaskKey] // tasks whose dependents are wanted
	runs  wanted[string]
}

// Prefetch implements [store.Session].
func (s *session) Prefetch(need store.Need) error {
	p := &prefetch{session: s, need: need, limit: need.Claims + len(need.Attempts) + 1}
	s.stored.Ready.AtLeast, s.stored.Idle.AtLeast = p.limit, p.limit
	for _, round := range []func(){p.first, p.rows, p.idle} {
		round()
		if p.batch.Len() > 0 && !s.locked {
			if err := s.lock(); err != nil {
				return err
			}
			return s.Prefetch(need) // start again: lock may have cleared the cache
		}
		if err := p.send(); err != nil {
			return err
		}
	}
	p.keep()
	s.shown = true
	return nil
}

func (p *prefetch) send() error {
	if p.batch.Len() == 0 {
		return nil
	}
	err := p.store.line.conn.SendBatch(p.ctx, &p.batch).Close()
	p.batch = pgx.Batch{}
	return p.store.fail(err)
}

// first queries what follows from the requests alone.
func (p *prefetch) first() {
	if len(p.need.Promises) > 0 {
		p.promises()
	}
	p.attempts()
	p.workers()
	p.items()
	if len(p.need.Attempts) > 0 && !p.Seen.Questions.Known() {
		fetchList(p, openQuestions, &p.Seen.Questions)
	}
	if p.need.Claims > 0 && !p.store.known.ready.enough(p.limit) {
		p.readyKeys()
	}
	if p.need.Claims+len(p.need.Attempts) > 0 && !p.Seen.Lanes.Known() {
		fetchList(p, allLanes, &p.Seen.Lanes)
	}
}

func (p *prefetch) promises() {
	p.batch.Queue("SELECT data FROM promise WHERE key = ANY($1)", p.need.Promises).Query(func(rows pgx.Rows) error {
		list, err := pgx.CollectRows(rows, scanRow[store.Promise])
		for _, promise := range list {
			p.Seen.Promises.Put(promise.Key, promise)
		}
		p.Seen.Promises.Missing(p.need.Promises...)
		return err
	})
}

func (p *prefetch) attempts() {
	var unknown []string
	for _, id := range p.need.Attempts {
		if !p.Seen.Attempts.Has(id) {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) == 0 {
		return
	}
	p.batch.Queue("SELECT data FROM attempt WHERE id = ANY($1)", unknown).Query(func(rows pgx.Rows) error {
		list, err := pgx.CollectRows(rows, scanRow[store.Attempt])
		for _, a := range list {
			p.Seen.Attempts.Put(a.ID, a)
		}
		p.Seen.Attempts.Missing(unknown...)
		return err
	})
}

func (p *prefetch) workers() {
	var unknown wanted[string]
	for _, id := range p.need.Workers {
		unknown.want(id, p.Seen.Workers.Has(id))
	}
	if len(unknown.list) == 0 {
		return
	}
	p.batch.Queue("SELECT data FROM worker WHERE id = ANY($1)", unknown.list).Query(func(rows pgx.Rows) error {
		list, err := pgx.CollectRows(rows, scanRow[store.Worker])
		for _, w := range list {
			p.Seen.Workers.Put(w.ID, w)
		}
		p.Seen.Workers.Missing(unknown.list...)
		return err
	})
}

func (p *prefetch) items() {
	var unknown wanted[store.ItemKey]
	for _, key := range p.need.Items {
		unknown.want(key, p.Seen.Items.Has(key))
	}
	if len(unknown.list) == 0 {
		return
	}
	var kinds, ids []string
	for _, key := range unknown.list {
		kinds, ids = append(kinds, key.Kind), append(ids, key.ID)
	}
	p.batch.Queue(itemsByKey, kinds, ids).Query(func(rows pgx.Rows) error {
		list, err := pgx.CollectRows(rows, scanRow[store.Item])
		for _, i := range list {
			p.Seen.Items.Put(i.ItemKey, i)
		}
		p.Seen.Items.Missing(unknown.list...)
		return err
	})
}

const itemsByKey = `SELECT i.data FROM unnest($1::text[], $2::text[]) AS k (kind, id)
	JOIN item i ON i.kind = k.kind AND i.id = k.id`

func fetchList[V any](p *prefetch, query string, to *memo.List[V]) {
	p.batch.Queue(query).Query(func(rows pgx.Rows) error {
		list, err := pgx.CollectRows(rows, scanRow[V])
		to.Put(list)
		return err
	})
}

// readyKeys fetches the keys of the first tasks of all ready lists.
func (p *prefetch) readyKeys() {
	limit := farAhead * p.limit
	p.batch.Queue(readyKeys, limit).Query(func(rows pgx.Rows) error {
		spots, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (s spot, err error) {
			err = row.Scan(&s.list.Labels, &s.list.Lane, &s.priority, &s.seq, &s.key.Run, &s.key.Task)
			return s, err
		})
		p.store.known.ready.put(spots, limit)
		return err
	})
}

// rows queries the rows that the first answers refer to.
func (p *prefetch) rows() {
	for _, id := range p.need.Attempts {
		if a, known := p.Seen.Attempts.Known(id); known {
			p.tasks.want(a.Key(), p.Seen.Tasks.Has(a.Key()))
			p.below.want(a.Key(), p.Seen.Dependents.Has(a.Key()))
			p.wantRun(a.Run)
		}
	}
	for _, run := range p.need.Runs {
		p.wantRun(run)
	}
	p.wantReady()
	p.fetchTasks()
	p.fetchDependents()
	p.fetchRuns()
}

// wantReady requests the tasks that will be claimed, and some more for later sessions.
func (p *prefetch) wantReady() {
	if p.need.Claims == 0 {
		return
	}
	for _, l := range p.store.known.ready.lists {
		if p.all(l.spots[:min(p.limit, len(l.spots))]) {
			continue
		}
		for i, s := range l.spots[:min(farAhead*p.limit, len(l.spots))] {
			p.below.want(s.key, p.Seen.Dependents.Has(s.key))
			if i < ahead*p.limit {
				p.tasks.want(s.key, p.Seen.Tasks.Has(s.key))
				p.wantRun(s.key.Run)
			}
		}
	}
}

func (p *prefetch) all(spots []spot) bool {
	for _, s := range spots {
		if !p.Seen.Tasks.Has(s.key) || !p.Seen.Runs.Has(s.key.Run) || !p.Seen.Dependents.Has(s.key) {
			return false
		}
	}
	return true
}

func (p *prefetch) wantRun(id string) { p.runs.want(id, p.Seen.Runs.Has(id)) }

func (p *prefetch) fetchTasks() {
	if len(p.tasks.list) == 0 {
		return
	}
	runs, tasks := columnsOf(p.tasks.list)
	p.batch.Queue(tasksByKey, runs, tasks).Query(func(rows pgx.Rows) error {
		list, err := pgx.CollectRows(rows, scanTask)
		for _, t := range list {
			p.Seen.Tasks.Put(t.TaskKey, t)
		}
		return err
	})
}

// fetchDependents fetches the dependents of the tasks, in their order.
func (p *prefetch) fetchDependents() {
	if len(p.below.list) == 0 {
		return
	}
	runs, tasks := columnsOf(p.below.list)
	p.batch.Queue(dependents, runs, tasks).Query(func(rows pgx.Rows) error {
		needing := map[store.TaskKey][]store.TaskKey{}
		_, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (store.Task, error) {
			t, err := scanTask(row)
			p.Seen.Tasks.Put(t.TaskKey, t)
			key := store.TaskKey{Run: t.Run, Task: string(row.RawValues()[0])}
			needing[key] = append(needing[key], t.TaskKey)
			return t, err
		})
		for _, key := range p.below.list {
			p.Seen.Dependents.Put(key, needing[key])
		}
		return err
	})
}

func (p *prefetch) fetchRuns() {
	if len(p.runs.list) == 0 {
		return
	}
	p.batch.Queue(`SELECT run.data, plan.plan FROM run LEFT JOIN plan ON plan.run = run.id WHERE run.id = ANY($1)`, p.runs.list).
		Query(func(rows pgx.Rows) error {
			list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (store.Run, error) {
				raw := row.RawValues()
				run, err := record.Read[store.Run](raw[0])
				run.Plan = cloneRaw(raw[1])
				return run, err
			})
			for _, run := range list {
				p.Seen.Runs.Put(run.ID, run)
			}
			p.Seen.Runs.Missing(p.runs.list...)
			return err
		})
}

// idle queries the first tasks of the first idle lists, for runs in which an attempt
// will end while tasks wait.
func (p *prefetch) idle() {
	runs := p.waiting()
	if len(runs) == 0 {
		return
	}
	p.stored.fetched = map[string]fetchedLists{}
	p.batch.Queue(idleHeads, runs, math.MaxInt32, maxLists, p.limit).Query(func(rows pgx.Rows) error {
		heads := newHeads[memo.IdleList]()
		_, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (key store.TaskKey, err error) {
			var l memo.IdleList
			if err := row.Scan(&l.Run, &l.Wave, &l.Lane, &key.Task, nil, nil); err != nil {
				return key, err
			}
			key.Run = l.Run
			heads.add(l, key)
			if p.Seen.Tasks.Has(key) {
				return key, nil
			}
			t, err := scanTask(row)
			p.Seen.Tasks.Put(key, t)
			return key, err
		})
		for _, run := range runs {
			p.stored.fetched[run] = fetchedLists{upTo: math.MaxInt}
		}
		for _, l := range heads.lists {
			p.keepIdle(l, heads.keys[l])
		}
		return err
	})
}

// waiting returns the runs in which an attempt will end while tasks wait.
func (p *prefetch) waiting() []string {
	var ending wanted[string]
	for _, id := range p.need.Attempts {
		if a, known := p.Seen.Attempts.Known(id); known {
			ending.want(a.Run, false)
		}
	}
	for _, id := range p.need.Runs {
		ending.want(id, false)
	}
	var list []string
	for _, id := range ending.list {
		if run, known := p.Seen.Runs.Known(id); known && run.Open > run.Ready+run.Active {
			list = append(list, id)
		}
	}
	return list
}

func (p *prefetch) keepIdle(l memo.IdleList, keys []store.TaskKey) {
	p.stored.Idle.Put(l, p.seen(keys), p.limit)
	known := p.stored.fetched[l.Run]
	known.lists = append(known.lists, l)
	if len(known.lists) == maxLists {
		known.upTo = l.Wave - 1 // the last list's wave may have more lists
	}
	p.stored.fetched[l.Run] = known
}

// keep gives the session the first tasks of the ready lists.
func (p *prefetch) keep() {
	if p.need.Claims == 0 {
		return
	}
	known := p.store.known.ready
	names := known.names()
	p.stored.Ready.PutNames(names)
	for _, name := range names {
		l := known.lists[name]
		tasks := p.seen(keysOf(l.spots[:min(p.limit, len(l.spots))]))
		more := 0
		if l.whole && len(tasks) == len(l.spots) {
			more = 1 // a limit above the length marks the list as complete
		}
		p.stored.Ready.Put(name, tasks, len(tasks)+more)
	}
}

func keysOf(spots []spot) []store.TaskKey {
	keys := make([]store.TaskKey, len(spots))
	for i, s := range spots {
		keys[i] = s.key
	}
	return keys
}

// seen returns the tasks of keys up to the first that is not cached.
func (p *prefetch) seen(keys []store.TaskKey) []store.Task {
	var tasks []store.Task
	for _, key := range keys {
		t, known := p.Seen.Tasks.Known(key)
		if !known {
			break
		}
		tasks = append(tasks, t)
	}
	return tasks
}

// wanted is a list of distinct keys.
type wanted[K comparable] struct {
	list []K
	has  map[K]bool
}

// want adds a key, unless its row is known.
func (w *wanted[K]) want(key K, known bool) {
	if known || w.has[key] {
		return
	}
	if w.has == nil {
		w.has = map[K]bool{}
	}
	w.has[key] = true
	w.list = append(w.list, key)
}

func columnsOf(keys []store.TaskKey) (runs, tasks []string) {
	for _, key := range keys {
		runs, tasks = append(runs, key.Run), append(tasks, key.Task)
	}
	return runs, tasks
}

// heads collects the keys of several lists from the rows of a query.
type heads[K comparable] struct {
	lists []K
	keys  map[K][]store.TaskKey
}

func newHeads[K comparable]() *heads[K] { return &heads[K]{keys: map[K][]store.TaskKey{}} }

func (h *heads[K]) add(list K, key store.TaskKey) {
	if _, known := h.keys[list]; !known {
		h.lists = append(h.lists, list)
	}
	h.keys[list] = append(h.keys[list], key)
}
