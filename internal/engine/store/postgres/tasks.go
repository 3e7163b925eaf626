package postgres

import (
	"math"

	"gaffer/internal/engine/store"
)

// These queries use loose index scans: one index lookup finds the next distinct value, so a query
// need not read all tasks that have the same value. The index task_ready is sorted by labels and
// account, and the index task_idle by run, wave and account. A wave is a group of tasks of a run
// (see [store.WaveCount]). In SQL, an account (see [store.Account]) is called a lane.
const (
	labelSets = `WITH RECURSIVE list AS (
		SELECT (SELECT labels FROM task WHERE ready ORDER BY labels LIMIT 1) AS labels
		UNION ALL
		SELECT (SELECT labels FROM task WHERE ready AND labels > list.labels ORDER BY labels LIMIT 1)
		FROM list WHERE list.labels IS NOT NULL)
		SELECT labels FROM list WHERE labels IS NOT NULL`

	// readyTasks selects the first $4 ready tasks, by priority and seq, whose labels are in $1 and
	// whose account (lane) is not in $2. If $3 is not empty, the account must also be in $3.
	readyTasks = `WITH RECURSIVE list AS (
		SELECT l.labels, (SELECT lane FROM task WHERE ready AND labels = l.labels ORDER BY lane LIMIT 1) AS lane
		FROM (SELECT labels COLLATE "C" AS labels FROM unnest($1::text[]) AS l (labels)) l
		UNION ALL
		SELECT labels, (SELECT lane FROM task t WHERE ready AND t.labels = list.labels AND t.lane > list.lane ORDER BY lane LIMIT 1)
		FROM list WHERE list.lane IS NOT NULL)
		SELECT t.run, t.task, t.data, t.spec FROM list, LATERAL (
			SELECT run, task, data, spec, priority, seq FROM task WHERE ready AND labels = list.labels AND lane = list.lane
			ORDER BY priority DESC, seq LIMIT $4) t
		WHERE list.lane <> ALL ($2::text[]) AND (cardinality($3::text[]) = 0 OR list.lane = ANY ($3::text[]))
		ORDER BY t.priority DESC, t.seq LIMIT $4`

	// idleTasks selects the first $4 idle tasks of the run $1, by priority and seq. An idle task is
	// queued, not ready, and does not wait for another task in its Needs. The task's wave (the
	// number of its group, see [store.WaveCount]) must be at most $2, and its account (lane) must
	// not be in $3.
	idleTasks = `WITH RECURSIVE list AS (
		(SELECT wave, lane FROM task WHERE idle AND run = $1 AND wave <= $2 ORDER BY wave, lane LIMIT 1)
		UNION ALL
		SELECT n.wave, n.lane FROM list, LATERAL (
			SELECT wave, lane FROM task WHERE idle AND run = $1 AND (wave, lane) > (list.wave, list.lane) AND wave <= $2
			ORDER BY wave, lane LIMIT 1) n)
		SELECT t.run, t.task, t.data, t.spec FROM list, LATERAL (
			SELECT run, task, data, spec, priority, seq FROM task WHERE idle AND run = $1 AND wave = list.wave AND lane = list.lane
			ORDER BY priority DESC, seq LIMIT $4) t
		WHERE list.lane <> ALL ($3::text[])
		ORDER BY t.priority DESC, t.seq LIMIT $4`
)

// LabelSets implements [store.Reader].
func (r *reader) LabelSets() ([]string, error) {
	rows, err := r.rows(labelSets)
	var sets []string
	for _, row := range rows {
		sets = append(sets, string(row[0]))
	}
	return sets, err
}

// ClaimableTasks implements [store.Reader].
func (r *reader) ClaimableTasks(c store.ClaimQuery) ([]store.Task, error) {
	return r.firstTasks(c.Limit, c.Skip, c.Matches, readyTasks, notNil(c.Labels), notNil(c.PausedAccounts), notNil(c.Accounts))
}

// WaitingTasks implements [store.Reader].
func (r *reader) WaitingTasks(w store.WaitQuery) ([]store.Task, error) {
	return r.firstTasks(w.Limit, w.Skip, w.Matches, idleTasks, w.Run, w.Wave, notNil(w.PausedAccounts))
}

// notNil returns the list, or an empty list if it is nil, because the driver would send nil as
// NULL.
func notNil(list []string) []string { return append([]string{}, list...) }

// minTasks is the smallest number of tasks that a query asks for, even if a request needs fewer.
// The transaction keeps the result. So a later request in the same transaction needs no new query:
// it skips the tasks that were claimed before, and takes the next ones.
const minTasks = 32

// firstTasks runs a query and returns at most limit tasks: the first ones for which the function
// skip returns false and the function match returns true. The last parameter of the query is the
// number of rows to fetch, and args are the other parameters. If firstTasks finds fewer than limit
// tasks, it repeats the query with a larger number of rows, until the query has no more rows.
func (r *reader) firstTasks(limit int, skip func(store.TaskKey) bool, match func(store.Task) bool, query string, args ...any) ([]store.Task, error) {
	for fetch := max(limit, minTasks); ; fetch = min(2*fetch, math.MaxInt32) {
		rows, err := r.rows(query, append(args[:len(args):len(args)], fetch)...)
		if err != nil {
			return nil, err
		}
		var list []store.Task
		for _, row := range rows {
			if len(list) == limit {
				return list, nil
			}
			if skip != nil && skip(store.TaskKey{Run: string(row[0]), Task: string(row[1])}) {
				continue
			}
			t, err := readTask(row)
			if err != nil {
				return nil, err
			}
			if match(t) {
				list = append(list, t)
			}
		}
		if len(list) == limit || len(rows) < fetch {
			return list, nil
		}
	}
}
