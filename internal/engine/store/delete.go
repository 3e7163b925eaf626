package store

// Deletions lists the keys of rows to delete. The last event of a store is never deleted, even if
// it is in Events, because the SQLite store computes the next event's sequence number from it.
type Deletions struct {
	// Runs contains the ids of runs to delete. The plans of these runs are deleted too. Their tasks
	// and events are deleted only if they are listed in Tasks and Events.
	Runs []string
	// Tasks contains the keys of tasks to delete. The attempts of these tasks are deleted too, and
	// the rows that say which other tasks depend on them.
	Tasks           []TaskKey
	Questions       []string
	Workers         []string
	IdempotencyKeys []string
	Cursors         []string
	// Lists names lists of items. All items of these lists are deleted.
	Lists  []ItemList
	Events []int64
}

// ItemList identifies a list of items (see [Item]): all items with the same kind and the same
// parent.
type ItemList struct {
	Kind   string `json:"kind"`
	Parent string `json:"parent"`
}

// Empty reports whether g lists no rows.
func (g *Deletions) Empty() bool {
	return len(g.Runs) == 0 && len(g.Tasks) == 0 && len(g.Questions) == 0 && len(g.Workers) == 0 && len(g.IdempotencyKeys) == 0 &&
		len(g.Cursors) == 0 && len(g.Lists) == 0 && len(g.Events) == 0
}

func (g *Deletions) merge(later *Deletions) {
	g.Runs = append(g.Runs, later.Runs...)
	g.Tasks = append(g.Tasks, later.Tasks...)
	g.Questions = append(g.Questions, later.Questions...)
	g.Workers = append(g.Workers, later.Workers...)
	g.IdempotencyKeys = append(g.IdempotencyKeys, later.IdempotencyKeys...)
	g.Cursors = append(g.Cursors, later.Cursors...)
	g.Lists = append(g.Lists, later.Lists...)
	g.Events = append(g.Events, later.Events...)
}

// DeleteRows deletes the rows that are listed in g. It ignores rows that do not exist. The rows are
// deleted at the commit; until then, tx still returns them. Normally, several requests share one
// database transaction. A request that deletes rows has a transaction of its own.
func (tx *Tx) DeleteRows(g Deletions) { tx.own.deletions.merge(&g) }
