package postgres

import (
	"cmp"
	"maps"
	"slices"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memo"
)

// ready caches the first tasks of each list of ready tasks. While no other process
// writes, the next task is found without a query.
type ready struct {
	known bool // a list that is not in lists is empty
	lists map[memo.ReadyList]*readyTasks
	spots map[store.TaskKey]spot // position of each task
}

// readyTasks is the first part of a list.
type readyTasks struct {
	spots []spot
	whole bool // the list is complete
}

// spot is a task's position in its list.
type spot struct {
	key      store.TaskKey
	list     memo.ReadyList
	priority int
	seq      int64
}

// maxSpots is the maximum number of cached tasks per list.
const maxSpots = 16384

func spotOf(t store.Task) spot {
	return spot{t.TaskKey, memo.ReadyList{Labels: t.Labels, Lane: t.Lane}, t.Priority, t.Seq}
}

// order is the order of [store.ByPriority].
func (s spot) order(other spot) int {
	return cmp.Or(cmp.Compare(other.priority, s.priority), cmp.Compare(s.seq, other.seq))
}

// put replaces the cache by the result of a query: the first spots of all lists, at
// most limit of each.
func (r *ready) put(spots []spot, limit int) {
	*r = ready{known: true, lists: map[memo.ReadyList]*readyTasks{}, spots: map[store.TaskKey]spot{}}
	for _, s := range spots {
		l := r.list(s.list)
		l.spots = append(l.spots, s)
		l.whole = len(l.spots) < limit
		r.spots[s.key] = s
	}
}

func (r *ready) list(name memo.ReadyList) *readyTasks {
	l := r.lists[name]
	if l == nil {
		l = &readyTasks{whole: true}
		r.lists[name] = l
	}
	return l
}

// enough reports whether at least limit tasks of each list are cached, or the whole
// list.
func (r *ready) enough(limit int) bool {
	if !r.known {
		return false
	}
	for _, l := range r.lists {
		if !l.whole && len(l.spots) < limit {
			return false
		}
	}
	return true
}

// names returns the non-empty lists, in their order.
func (r *ready) names() []memo.ReadyList {
	return slices.SortedFunc(maps.Keys(r.lists), func(a, b memo.ReadyList) int {
		return cmp.Or(cmp.Compare(a.Labels, b.Labels), cmp.Compare(a.Lane, b.Lane))
	})
}

// applied updates the lists after tasks were written.
func (r *ready) applied(tasks []store.Task) {
	if !r.known {
		return
	}
	for _, t := range tasks {
		r.remove(t.TaskKey)
		if t.Ready {
			r.insert(spotOf(t))
		}
	}
}

func (r *ready) insert(s spot) {
	l := r.list(s.list)
	at, _ := slices.BinarySearchFunc(l.spots, s, spot.order)
	if at == len(l.spots) && (!l.whole || at >= maxSpots) {
		l.whole = false
		return
	}
	l.spots = slices.Insert(l.spots, at, s)
	r.spots[s.key] = s
}

func (r *ready) remove(key store.TaskKey) {
	s, there := r.spots[key]
	if !there {
		return
	}
	delete(r.spots, key)
	l := r.lists[s.list]
	at, _ := slices.BinarySearchFunc(l.spots, s, spot.order)
	for at < len(l.spots) && l.spots[at].key != key {
		at++
	}
	if at == 0 {
		l.spots = l.spots[1:] // the usual case
	} else {
		l.spots = slices.Delete(l.spots, at, at+1)
	}
	if len(l.spots) == 0 && l.whole {
		delete(r.lists, s.list)
	}
}
