package store

import "errors"

// Gone is rows that a transaction takes away. The last event of a store stays,
// whatever is said here, so that no number is given twice.
type Gone struct {
	Runs      []string  // with their plans, and nothing else
	Tasks     []TaskKey // with their attempts, and that others need them
	Questions []string
	Workers   []string
	Promises  []string
	Cursors   []string
	Lists     []ItemList // with all items in them
	Events    []int64
}

// ItemList names the items of a kind and a parent.
type ItemList struct {
	Kind   string `json:"kind"`
	Parent string `json:"parent"`
}

// Empty reports whether nothing is taken away.
func (g *Gone) Empty() bool {
	return len(g.Runs) == 0 && len(g.Tasks) == 0 && len(g.Questions) == 0 && len(g.Workers) == 0 && len(g.Promises) == 0 &&
		len(g.Cursors) == 0 && len(g.Lists) == 0 && len(g.Events) == 0
}

func (g *Gone) takeIn(later *Gone) {
	g.Runs = append(g.Runs, later.Runs...)
	g.Tasks = append(g.Tasks, later.Tasks...)
	g.Questions = append(g.Questions, later.Questions...)
	g.Workers = append(g.Workers, later.Workers...)
	g.Promises = append(g.Promises, later.Promises...)
	g.Cursors = append(g.Cursors, later.Cursors...)
	g.Lists = append(g.Lists, later.Lists...)
	g.Events = append(g.Events, later.Events...)
}

// errShared is a request that takes rows away and that others share a session
// with: they would still see them.
var errShared = errors.New("rows are taken away by a request that has not asked to be alone")

// TakeAway takes rows away, those that are there. Only a request whose
// [Need.Alone] is set may, and its own reads still see them.
func (tx *Tx) TakeAway(g Gone) { tx.mine.gone.takeIn(&g) }
