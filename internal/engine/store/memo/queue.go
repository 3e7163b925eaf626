package memo

import (
	"slices"

	"gaffer/internal/engine/store"
)

// Queue finds the tasks that may start or become ready, from the lists in a database.
// It is part of a [store.Reader].
type Queue struct {
	// ReadyLists returns all non-empty lists, in their order.
	ReadyLists func() ([]ReadyList, error)
	// IdleLists returns the non-empty lists of upTo.Run whose wave is at most
	// upTo.Wave.
	IdleLists func(upTo IdleList) ([]IdleList, error)

	Ready *Ready
	Idle  *Idle
}

// Claimable implements [store.Reader].
func (q *Queue) Claimable(c store.Claim) ([]store.Task, error) {
	lists, err := q.Ready.names.Get(q.ReadyLists)
	if err != nil {
		return nil, err
	}
	lists = slices.DeleteFunc(lists, func(l ReadyList) bool {
		return !slices.Contains(c.Labels, l.Labels) || slices.Contains(c.Paused, l.Lane) || len(c.Lanes) > 0 && !slices.Contains(c.Lanes, l.Lane)
	})
	return q.Ready.First(lists, c.Limit, func(t *store.Task) bool { return c.Skip == nil || !c.Skip(t.TaskKey) })
}

// LabelSets implements [store.Reader].
func (q *Queue) LabelSets() ([]string, error) {
	lists, err := q.Ready.names.Get(q.ReadyLists)
	var sets []string
	for _, l := range lists {
		sets = append(sets, l.Labels)
	}
	return slices.Compact(sets), err
}

// Waiting implements [store.Reader].
func (q *Queue) Waiting(w store.Wait) ([]store.Task, error) {
	known, err := q.Idle.names.Get(IdleList{Run: w.Run, Wave: w.Wave}, q.IdleLists)
	if err != nil {
		return nil, err
	}
	lists := slices.DeleteFunc(slices.Clone(known), func(l IdleList) bool { return slices.Contains(w.Paused, l.Lane) })
	return q.Idle.First(lists, w.Limit, func(t *store.Task) bool {
		return !t.NotBefore.After(w.Now) && (w.Skip == nil || !w.Skip(t.TaskKey))
	})
}
