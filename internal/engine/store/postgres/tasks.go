package postgres

import (
	"github.com/jackc/pgx/v5"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memo"
)

// A list is a range of the index task_ready or task_idle. Each list is found with one
// index lookup, however long the lists before it are.
const (
	withReadyLists = `WITH RECURSIVE list AS (
		(SELECT labels, lane FROM task WHERE ready ORDER BY labels, lane LIMIT 1)
		UNION ALL
		SELECT n.labels, n.lane FROM list, LATERAL (
			SELECT labels, lane FROM task WHERE ready AND (labels, lane) > (list.labels, list.lane)
			ORDER BY labels, lane LIMIT 1) n)`
	readyLists = withReadyLists + ` SELECT labels, lane FROM list`
	readyHead  = `SELECT data, spec FROM task WHERE ready AND labels = $1 AND lane = $2 ORDER BY priority DESC, seq LIMIT $3`
	// readyKeys selects the keys of the first tasks of all lists.
	readyKeys = withReadyLists + ` SELECT list.labels, list.lane, t.priority, t.seq, t.run, t.task FROM list, LATERAL (
			SELECT priority, seq, run, task FROM task WHERE ready AND labels = list.labels AND lane = list.lane
			ORDER BY priority DESC, seq LIMIT $1) t`

	withIdleLists = `WITH RECURSIVE list AS (
		(SELECT wave, lane FROM task WHERE idle AND run = r.id AND wave <= $2 ORDER BY wave, lane LIMIT 1)
		UNION ALL
		SELECT n.wave, n.lane FROM list, LATERAL (
			SELECT wave, lane FROM task WHERE idle AND run = r.id AND (wave, lane) > (list.wave, list.lane) AND wave <= $2
			ORDER BY wave, lane LIMIT 1) n)`
	idleLists = `SELECT l.wave, l.lane FROM (SELECT $1::text COLLATE "C" AS id) r, LATERAL (` + withIdleLists + ` SELECT * FROM list) l`
	// idleHeads selects the first tasks of the first lists of several runs.
	idleHeads = `SELECT r.id, l.wave, l.lane, t.task, t.data, t.spec FROM unnest($1::text[]) AS r (id),
		LATERAL (` + withIdleLists + ` SELECT * FROM list LIMIT $3) l,
		LATERAL (SELECT task, data, spec FROM task WHERE idle AND run = r.id AND wave = l.wave AND lane = l.lane
			ORDER BY priority DESC, seq LIMIT $4) t`
	idleHead = `SELECT data, spec FROM task WHERE idle AND run = $1 AND wave = $2 AND lane = $3 ORDER BY priority DESC, seq LIMIT $4`
)

const (
	tasksByKey = `SELECT t.data, t.spec FROM unnest($1::text[], $2::text[]) AS k (run, task)
		JOIN task t ON t.run = k.run AND t.task = k.task`
	// dependents selects the tasks that need the given ones. The first column is the
	// needed task.
	dependents = `SELECT n.need, t.data, t.spec FROM unnest($1::text[], $2::text[]) AS k (run, task)
		JOIN need n ON n.run = k.run AND n.need = k.task JOIN task t ON t.run = n.run AND t.task = n.task ORDER BY t.seq`
)

func (r *reader) readyLists() ([]memo.ReadyList, error) {
	rows, err := r.db.Query(r.ctx, readyLists)
	if err != nil {
		return nil, r.store.fail(err)
	}
	lists, err := pgx.CollectRows(rows, pgx.RowToStructByPos[memo.ReadyList])
	return lists, r.store.fail(err)
}

func (r *reader) readyHead(l memo.ReadyList, limit int) ([]store.Task, error) {
	return r.tasks(readyHead, l.Labels, l.Lane, limit)
}

// fetchedLists holds the idle lists of a run that were prefetched.
type fetchedLists struct {
	lists []memo.IdleList
	upTo  int // lists is complete up to this wave
}

func (r *reader) idleLists(upTo memo.IdleList) ([]memo.IdleList, error) {
	if known, ok := r.fetched[upTo.Run]; ok && upTo.Wave <= known.upTo {
		return known.within(upTo.Wave), nil
	}
	rows, err := r.db.Query(r.ctx, idleLists, upTo.Run, upTo.Wave)
	if err != nil {
		return nil, r.store.fail(err)
	}
	lists, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (memo.IdleList, error) {
		l := memo.IdleList{Run: upTo.Run}
		err := row.Scan(&l.Wave, &l.Lane)
		return l, err
	})
	return lists, r.store.fail(err)
}

func (h fetchedLists) within(wave int) (lists []memo.IdleList) {
	for _, l := range h.lists {
		if l.Wave <= wave {
			lists = append(lists, l)
		}
	}
	return lists
}

func (r *reader) idleHead(l memo.IdleList, limit int) ([]store.Task, error) {
	return r.tasks(idleHead, l.Run, l.Wave, l.Lane, limit)
}
