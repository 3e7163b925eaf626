package memo

import (
	"slices"

	"gaffer/internal/engine/store"
)

// ReadyList is the ready tasks of one set of labels in one lane.
type ReadyList struct{ Labels, Lane string }

// IdleList is the tasks of one wave of a run in one lane that only time, the
// wave or the lane keep from being ready.
type IdleList struct {
	Run  string
	Wave int
	Lane string
}

func readyListOf(t *store.Task) (ReadyList, bool) { return ReadyList{t.Labels, t.Lane}, t.Ready }

func idleListOf(t *store.Task) (IdleList, bool) { return IdleList{t.Run, t.Wave, t.Lane}, t.Idle() }

// Ready remembers the lists of ready tasks and their beginnings, from session to
// session if it is told what was written. The zero value is ready.
type Ready struct {
	Heads[ReadyList]
	names List[ReadyList]
}

// Idle remembers the lists of idle tasks, as [Ready] does.
type Idle struct {
	Heads[IdleList]
	names Rows[IdleList, []IdleList]
}

// PutNames remembers all lists that are not empty, in their order.
func (r *Ready) PutNames(names []ReadyList) { r.names.Put(names) }

// applied takes in a task that was written, and what it was before, nil if that is
// not known.
func (r *Ready) applied(before, t *store.Task) {
	if !r.move(before, t, readyListOf) {
		r.names.Forget()
	}
}

func (i *Idle) applied(before, t *store.Task) {
	if !i.move(before, t, idleListOf) {
		i.names = Rows[IdleList, []IdleList]{}
	}
}

// move takes a task out of the list that it was in and puts it into the one that it
// is in now. It returns whether those are the lists that there were.
func (h *Heads[K]) move(before, t *store.Task, of func(*store.Task) (K, bool)) (same bool) {
	same = true
	if before == nil { // it may be new
		for _, known := range h.byList {
			known.remove(t.TaskKey)
		}
	} else if list, in := of(before); in {
		known := h.byList[list]
		if known != nil {
			known.remove(t.TaskKey)
		}
		same = known != nil && len(known.tasks) > 0
	}
	if list, in := of(t); in {
		known := h.byList[list]
		same = same && known != nil && len(known.tasks) > 0
		if known != nil {
			known.insert(t)
		}
	}
	return same && before != nil
}

// remove takes a task out. Most are the first.
func (h *head) remove(key store.TaskKey) {
	switch at := slices.IndexFunc(h.tasks, func(t store.Task) bool { return t.TaskKey == key }); {
	case at == 0:
		h.tasks = h.tasks[1:]
	case at > 0:
		h.tasks = slices.Delete(h.tasks, at, at+1)
	}
}

// insert puts a task in its place, unless that is after what is known.
func (h *head) insert(t *store.Task) {
	at, _ := slices.BinarySearchFunc(h.tasks, *t, store.ByPriority)
	if at < len(h.tasks) || h.whole {
		h.tasks = slices.Insert(h.tasks, at, *t)
	}
}

// maxHeads is how many tasks of all lists are remembered beyond a session. Of a run
// whose tasks may all become ready a session may ask for more.
const maxHeads = 4096

// endSession forgets the lists that have ended, and all if too much is known of them.
func (h *Heads[K]) endSession() {
	sum := 0
	for list, known := range h.byList {
		if sum += len(known.tasks); len(known.tasks) == 0 {
			delete(h.byList, list)
		}
	}
	if sum > maxHeads {
		clear(h.byList)
	}
}
