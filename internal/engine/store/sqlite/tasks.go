package sqlite

import (
	"errors"
	"slices"

	"gaffer/internal/engine/store"
)

// Some of these queries use loose index scans: one or two index lookups find the next distinct
// value, so a query need not read all tasks that have the same value. The index task_ready is
// sorted by labels and account, and the index task_idle by run, wave and account. A wave is a group
// of tasks of a run (see [store.WaveCount]). The queries compare each column separately, because in
// a comparison such as (wave, lane) > (?, ?) SQLite uses an index only for the first column. In
// SQL, an account (see [store.Account]) is called a lane.
const (
	labelSets = `WITH RECURSIVE list (labels) AS (
		SELECT (SELECT labels FROM task WHERE ready = 1 ORDER BY labels LIMIT 1)
		UNION ALL
		SELECT (SELECT labels FROM task WHERE ready = 1 AND labels > list.labels ORDER BY labels LIMIT 1)
		FROM list WHERE list.labels IS NOT NULL)
		SELECT labels FROM list WHERE labels IS NOT NULL`
	// readyAccounts selects the distinct accounts (lanes) of the ready tasks whose labels are ?1.
	readyAccounts = `WITH RECURSIVE list (lane) AS (
		SELECT (SELECT lane FROM task WHERE ready = 1 AND labels = ?1 ORDER BY lane LIMIT 1)
		UNION ALL
		SELECT (SELECT lane FROM task WHERE ready = 1 AND labels = ?1 AND lane > list.lane ORDER BY lane LIMIT 1)
		FROM list WHERE list.lane IS NOT NULL)
		SELECT lane FROM list WHERE lane IS NOT NULL`
	readyTasks = `SELECT run, task, data, spec FROM task WHERE ready = 1 AND labels = ? AND lane = ? ORDER BY priority DESC, seq`

	// idleLists selects the distinct pairs of wave and account (lane) of the idle tasks (see
	// [store.Task.Idle]) of the run ?1 whose wave is at most ?2.
	idleLists = `WITH RECURSIVE list (wave, lane) AS (
		SELECT * FROM (SELECT wave, lane FROM task WHERE idle = 1 AND run = ?1 AND wave <= ?2 ORDER BY wave, lane LIMIT 1)
		UNION ALL
		SELECT t.wave, t.lane FROM list JOIN task t ON t.rowid = coalesce(
			(SELECT rowid FROM task WHERE idle = 1 AND run = ?1 AND wave = list.wave AND lane > list.lane ORDER BY lane LIMIT 1),
			(SELECT rowid FROM task WHERE idle = 1 AND run = ?1 AND wave > list.wave AND wave <= ?2 ORDER BY wave, lane LIMIT 1)))
		SELECT wave, lane FROM list`
	idleTasks = `SELECT run, task, data, spec FROM task WHERE idle = 1 AND run = ? AND wave = ? AND lane = ? ORDER BY priority DESC, seq`
)

// LabelSets implements [store.Reader].
func (r *reader) LabelSets() (sets []string, err error) {
	err = r.c.each(labelSets, func(scan func(...any) error) error {
		var labels string
		err := scan(&labels)
		sets = append(sets, labels)
		return err
	})
	return sets, err
}

// ClaimableTasks implements [store.Reader].
func (r *reader) ClaimableTasks(c store.ClaimQuery) (list []store.Task, err error) {
	for _, labels := range c.Labels {
		var accounts []string
		err := r.c.each(readyAccounts, func(scan func(...any) error) error {
			var account string
			err := scan(&account)
			if !slices.Contains(c.PausedAccounts, account) && (len(c.Accounts) == 0 || slices.Contains(c.Accounts, account)) {
				accounts = append(accounts, account)
			}
			return err
		}, labels)
		if err != nil {
			return nil, err
		}
		for _, account := range accounts {
			tasks, err := r.firstTasks(c.Limit, c.Skip, c.Matches, readyTasks, labels, account)
			if err != nil {
				return nil, err
			}
			list = append(list, tasks...)
		}
	}
	slices.SortFunc(list, store.ByPriority)
	return list[:min(c.Limit, len(list))], nil
}

// WaitingTasks implements [store.Reader].
func (r *reader) WaitingTasks(w store.WaitQuery) (list []store.Task, err error) {
	type idleList struct {
		wave    int
		account string
	}
	var lists []idleList
	err = r.c.each(idleLists, func(scan func(...any) error) error {
		var l idleList
		err := scan(&l.wave, &l.account)
		if !slices.Contains(w.PausedAccounts, l.account) {
			lists = append(lists, l)
		}
		return err
	}, w.Run, w.Wave)
	if err != nil {
		return nil, err
	}
	for _, l := range lists {
		tasks, err := r.firstTasks(w.Limit, w.Skip, w.Matches, idleTasks, w.Run, l.wave, l.account)
		if err != nil {
			return nil, err
		}
		list = append(list, tasks...)
	}
	slices.SortFunc(list, store.ByPriority)
	return list[:min(w.Limit, len(list))], nil
}

var errEnough = errors.New("enough rows")

// firstTasks runs a query and returns at most limit tasks: the first ones for which the function
// skip returns false and the function match returns true. It does not decode rows that are skipped,
// and stops reading when it has found limit tasks.
func (r *reader) firstTasks(limit int, skip func(store.TaskKey) bool, match func(store.Task) bool, query string, args ...any) (list []store.Task, err error) {
	err = r.c.each(query, func(scan func(...any) error) error {
		if len(list) == limit {
			return errEnough
		}
		var key store.TaskKey
		var data string
		var spec *string
		if err := scan(&key.Run, &key.Task, &data, &spec); err != nil {
			return err
		}
		if skip != nil && skip(key) {
			return nil
		}
		t, err := readTask(data, spec)
		if err == nil && match(t) {
			list = append(list, t)
		}
		return err
	}, args...)
	if errors.Is(err, errEnough) {
		err = nil
	}
	return list, err
}
