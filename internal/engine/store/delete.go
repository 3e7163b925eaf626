package store

// Deletions lists the keys of rows to delete. The last event of a store is never deleted, even if
// it is listed here, because the store computes the number of the next event from it.
type Deletions struct {
	Runs            []string  // ids of runs to delete with their plans; their tasks and events are deleted only if they are listed too
	Tasks           []TaskKey // keys of tasks to delete, with their attempts and the record of which tasks depend on them
	Questions       []string
	Workers         []string
	IdempotencyKeys []string
	Cursors         []string
	Lists           []ItemList // lists of items to delete with all their items
	Events          []int64
}

// ItemList identifies the list of all items with the same kind and the same parent.
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

// DeleteRows deletes the rows that g lists at the commit; until then the request can still read
// them. It ignores rows that do not exist. A request that deletes rows gets a separate database
// transaction.
func (tx *Tx) DeleteRows(g Deletions) { tx.own.deletions.merge(&g) }
