package postgres

import (
	"math"

	"github.com/jackc/pgx/v5"

	"gaffer/internal/store"
	"gaffer/internal/store/memo"
	"gaffer/internal/store/record"
)

// maxLists is how many idle lists of a run are fetched beforehand.
const maxLists = 8

// prefetch is one exchange with the server that fetches what many requests need.
type prefetch struct {
	*session
	need  store.Need
	batch pgx.Batch
	runs  []store.Run
}

// Prefetch implements [store.Session].
func (s *session) Prefetch(need store.Need) error {
	p := &prefetch{session: s, need: need}
	atLeast := need.Claims + len(need.Attempts)
	s.stored.Ready.AtLeast, s.stored.Idle.AtLeast = atLeast, atLeast
	if len(need.Promises) > 0 {
		p.promises()
	}
	if len(need.Attempts) > 0 {
		p.attempts()
		p.questions()
	}
	if len(need.Attempts)+len(need.Runs) > 0 {
		p.runsOf()
		p.idle(atLeast + 1)
	}
	if need.Claims > 0 {
		p.ready(atLeast + 1)
	}
	if need.Claims+len(need.Attempts) > 0 {
		p.lanes()
	}
	if p.batch.Len() == 0 {
		return nil
	}
	if err := s.conn.SendBatch(s.ctx, &p.batch).Close(); err != nil {
		return s.store.fail(err)
	}
	return p.plans()
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

// attempts fetches attempts with their tasks and what needs those.
func (p *prefetch) attempts() {
	p.batch.Queue("SELECT data FROM attempt WHERE id = ANY($1)", p.need.Attempts).Query(func(rows pgx.Rows) error {
		list, err := pgx.CollectRows(rows, scanRow[store.Attempt])
		for _, a := range list {
			p.Seen.Attempts.Put(a.ID, a)
			p.Seen.Dependents.Put(a.Key(), nil)
		}
		p.Seen.Attempts.Missing(p.need.Attempts...)
		return err
	})
	p.batch.Queue(`SELECT t.data, t.spec FROM task t JOIN attempt a ON t.run = a.run AND t.task = a.task
		WHERE a.id = ANY($1)`, p.need.Attempts).Query(func(rows pgx.Rows) error {
		list, err := pgx.CollectRows(rows, scanTask)
		for _, t := range list {
			p.Seen.Tasks.Put(t.TaskKey, t)
		}
		return err
	})
	p.batch.Queue(`SELECT DISTINCT ON (t.seq, t.run, t.task, n.need) n.need, t.data, t.spec FROM attempt a
		JOIN need n ON n.run = a.run AND n.need = a.task JOIN task t ON t.run = n.run AND t.task = n.task
		WHERE a.id = ANY($1) ORDER BY t.seq, t.run, t.task, n.need`, p.need.Attempts).Query(func(rows pgx.Rows) error {
		_, err := pgx.CollectRows(rows, p.dependent)
		return err
	})
}

func (p *prefetch) dependent(row pgx.CollectableRow) (store.Task, error) {
	t, err := scanTask(row)
	key := store.TaskKey{Run: t.Run, Task: string(row.RawValues()[0])}
	known, _ := p.Seen.Dependents.Known(key)
	p.Seen.Dependents.Put(key, append(known, t))
	return t, err
}

func (p *prefetch) questions() {
	p.batch.Queue(openQuestions).Query(func(rows pgx.Rows) error {
		list, err := pgx.CollectRows(rows, scanRow[store.Question])
		p.Seen.Questions.Put(list)
		return err
	})
}

func (p *prefetch) lanes() {
	p.batch.Queue(allLanes).Query(func(rows pgx.Rows) error {
		list, err := pgx.CollectRows(rows, scanRow[store.Lane])
		p.Seen.Lanes.Put(list)
		return err
	})
}

// runsOf fetches the runs that are asked for and those of the attempts.
func (p *prefetch) runsOf() {
	p.batch.Queue(`SELECT data FROM run WHERE id IN
		(SELECT unnest($1::text[]) UNION SELECT run FROM attempt WHERE id = ANY($2))`, p.need.Runs, p.need.Attempts).
		Query(func(rows pgx.Rows) (err error) {
			p.runs, err = pgx.CollectRows(rows, scanRow[store.Run])
			return err
		})
}

// ready fetches the heads of all lists of ready tasks, with their runs.
func (p *prefetch) ready(limit int) {
	p.batch.Queue(readyHeads, limit).Query(func(rows pgx.Rows) error {
		heads := newHeads[memo.ReadyList]()
		_, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (store.Task, error) {
			raw := row.RawValues()
			t, err := scanTask(row)
			heads.add(memo.ReadyList{Labels: string(raw[0]), Lane: string(raw[1])}, t)
			if _, known := p.Seen.Runs.Known(t.Run); known || raw[2] == nil || err != nil {
				return t, err
			}
			run, err := record.Read[store.Run](raw[2])
			p.runs = append(p.runs, run)
			p.Seen.Runs.Put(run.ID, run)
			return t, err
		})
		p.stored.ReadyKnown.Put(heads.lists)
		for _, l := range heads.lists {
			p.stored.Ready.Put(l, heads.tasks[l], limit)
		}
		return err
	})
}

// idle fetches the heads of the first idle lists of the runs.
func (p *prefetch) idle(limit int) {
	p.stored.fetched = map[string]fetchedLists{}
	p.batch.Queue(idleHeads, p.need.Runs, math.MaxInt32, p.need.Attempts, maxLists, limit).Query(func(rows pgx.Rows) error {
		heads := newHeads[memo.IdleList]()
		_, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (store.Task, error) {
			var l memo.IdleList
			if err := row.Scan(&l.Run, &l.Wave, &l.Lane, nil, nil); err != nil {
				return store.Task{}, err
			}
			t, err := scanTask(row)
			heads.add(l, t)
			return t, err
		})
		for _, run := range p.runs {
			p.stored.fetched[run.ID] = fetchedLists{upTo: math.MaxInt}
		}
		for _, l := range heads.lists {
			p.stored.Idle.Put(l, heads.tasks[l], limit)
			known := p.stored.fetched[l.Run]
			known.lists = append(known.lists, l)
			if len(known.lists) == maxLists {
				known.upTo = l.Wave - 1 // of its wave there may be more
			}
			p.stored.fetched[l.Run] = known
		}
		return err
	})
}

// plans adds their plans to the runs, which are hardly ever asked for.
func (p *prefetch) plans() error {
	for _, run := range p.runs {
		run, err := p.stored.withPlan(run)
		if err != nil {
			return err
		}
		p.Seen.Runs.Put(run.ID, run)
	}
	p.Seen.Runs.Missing(p.need.Runs...)
	return nil
}

// heads are lists as they come, row by row.
type heads[K comparable] struct {
	lists []K
	tasks map[K][]store.Task
}

func newHeads[K comparable]() *heads[K] { return &heads[K]{tasks: map[K][]store.Task{}} }

func (h *heads[K]) add(list K, t store.Task) {
	if _, known := h.tasks[list]; !known {
		h.lists = append(h.lists, list)
	}
	h.tasks[list] = append(h.tasks[list], t)
}
