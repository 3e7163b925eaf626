package memo

import "gaffer/internal/engine/store"

// Heads caches the first tasks of lists, each in the order of [store.ByPriority]. A
// list holds the tasks of one lane and one set of labels, or of one lane and one wave.
// So tasks that may not start cost nothing, however many there are.
type Heads[K comparable] struct {
	// Fetch returns the first tasks of a list.
	Fetch func(list K, limit int) ([]store.Task, error)
	// AtLeast is the minimum number of tasks to fetch at once.
	AtLeast int

	byList map[K]*head
}

type head struct {
	tasks []store.Task
	whole bool // tasks is the complete list
}

// Put caches the first tasks of a list. limit is the number of tasks that were
// requested.
func (h *Heads[K]) Put(list K, tasks []store.Task, limit int) {
	if h.byList == nil {
		h.byList = map[K]*head{}
	}
	h.byList[list] = &head{tasks, len(tasks) < limit}
}

// First returns the first tasks over several lists that takes accepts.
func (h *Heads[K]) First(lists []K, limit int, takes func(*store.Task) bool) ([]store.Task, error) {
	var first []store.Task
	at := make([]int, len(lists))
	for len(first) < limit {
		best := -1
		var next *store.Task
		for i, list := range lists {
			t, err := h.nth(list, &at[i], limit, takes)
			if err != nil {
				return nil, err
			}
			if t != nil && (next == nil || store.ByPriority(*t, *next) < 0) {
				best, next = i, t
			}
		}
		if next == nil {
			break
		}
		first = append(first, *next)
		at[best]++
	}
	return first, nil
}

// nth returns the first acceptable task of a list from index n on, or nil. It advances
// n to the index of that task.
func (h *Heads[K]) nth(list K, n *int, limit int, takes func(*store.Task) bool) (*store.Task, error) {
	for ; ; *n++ {
		known := h.byList[list]
		if known == nil || *n >= len(known.tasks) && !known.whole {
			if err := h.fetch(list, known, limit); err != nil {
				return nil, err
			}
			known = h.byList[list]
		}
		if *n >= len(known.tasks) {
			return nil, nil
		}
		if t := &known.tasks[*n]; takes(t) {
			return t, nil
		}
	}
}

func (h *Heads[K]) fetch(list K, known *head, limit int) error {
	limit = max(limit, h.AtLeast)
	if known != nil {
		limit = max(limit, 2*len(known.tasks))
	}
	tasks, err := h.Fetch(list, limit)
	if err != nil {
		return err
	}
	h.Put(list, tasks, limit)
	return nil
}
