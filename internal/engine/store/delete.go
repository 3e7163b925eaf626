package store

// Deletions lists the keys of rows to delete. The last event of a store is never deleted,
// even if it is listed, because the number of the next event is derived from it.
type Deletions struct {
	Runs            []string  // deletes the runs and their plans, but not their tasks and events
	Tasks           []TaskKey // deletes the tasks, their attempts, and their rows in the table need
	Questions       []string
	Workers         []string
	IdempotencyKeys []string
	Cursors         []string
	Lists           []ItemList // deletes all items in these lists
	Events          []int64
}

// ItemList identifies all items of a kind and a parent.
type ItemList struct {
	Kind   string `json:"kind"`
	Parent string `json:"parent"`
}

// Empty reports whether there is nothing to delete.
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

// DeleteRows deletes rows. Rows that do not exist are ignored. The rows are deleted at the
// commit, so the request itself can still read them. A request that deletes rows does not
// share its database transaction with other requests.
func (tx *Tx) DeleteRows(g Deletions) { tx.own.deletions.merge(&g) }
