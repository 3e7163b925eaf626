package store

// Deletions lists rows that a transaction deletes. The last event of a store is never
// deleted, even if it is listed, so that no number is used twice.
type Deletions struct {
	Runs            []string  // and their plans, but nothing else of the run
	Tasks           []TaskKey // and their attempts and dependency edges
	Questions       []string
	Workers         []string
	IdempotencyKeys []string
	Cursors         []string
	Lists           []ItemList // and all items in them
	Events          []int64
}

// ItemList names the items of a kind and a parent.
type ItemList struct {
	Kind   string `json:"kind"`
	Parent string `json:"parent"`
}

// Empty reports whether nothing is deleted.
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

// DeleteRows deletes rows; missing ones are ignored. A request that deletes rows gets a
// transaction of its own. Its own reads still see the deleted rows.
func (tx *Tx) DeleteRows(g Deletions) { tx.own.deletions.merge(&g) }
