package memo

import (
	"slices"

	"gaffer/internal/engine/store"
)

// ReadyList names the list of ready tasks with one set of labels in one lane.
type ReadyList struct{ Labels, Lane string }

// IdleList names the list of idle tasks ([store.Task.Idle]) in one wave of a run and
// one lane.
type IdleList struct {
	Run  string
	Wave int
	Lane string
}

func readyListOf(t *store.Task) (ReadyList, bool) { return ReadyList{t.Labels, t.Lane}, t.Ready }

func idleListOf(t *store.Task) (IdleList, bool) { return IdleList{t.Run, t.Wave, t.Lane}, t.Idle() }

// Ready caches the lists of ready tasks and their first tasks. The cache stays valid
// between sessions if it receives all writes. The zero value is ready to use.
type Ready struct {
	Heads[ReadyList]
	names List[ReadyList]
}

// Idle caches the lists of idle tasks, as [Ready] does for ready ones.
type Idle struct {
	Heads[IdleList]
	names Rows[IdleList, []IdleList]
}

// PutNames caches the names of all non-empty lists, in their order.
func (r *Ready) PutNames(names []ReadyList) { r.names.Put(names) }

// applied updates the cache after t was written. before is the previous version, or nil
// if that is unknown.
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

// move removes a task from its previous list and adds it to its current one. It reports
// whether the set of non-empty lists is known to be unchanged.
func (h *Heads[K]) move(before, t *store.Task, of func(*store.Task) (K, bool)) (same bool) {
	same = true
	if before == nil { // the task may be new
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

// remove removes a task. Usually it is the first one.
func (h *head) remove(key store.TaskKey) {
	switch at := slices.IndexFunc(h.tasks, func(t store.Task) bool { return t.TaskKey == key }); {
	case at == 0:
		h.tasks = h.tasks[1:]
	case at > 0:
		h.tasks = slices.Delete(h.tasks, at, at+1)
	}
}

// insert adds a task at its position, unless that is beyond the cached part of the
// list.
func (h *head) insert(t *store.Task) {
	at, _ := slices.BinarySearchFunc(h.tasks, *t, store.ByPriority)
	if at < len(h.tasks) || h.whole {
		h.tasks = slices.Insert(h.tasks, at, *t)
	}
}

// maxHeads is the maximum number of tasks that stay cached between sessions, over all
// lists. A single session may cache more, for a run whose tasks may all become ready.
const maxHeads = 4096

// endSession removes empty lists, and clears the cache if it has become too large.
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
