package memo

import (
	"slices"

	"gaffer/internal/store"
)

// Idle remembers the lists of idle tasks and their beginnings. Unlike those of the
// ready ones, which each claim changes, they are worth remembering from session to
// session: of what becomes idle there is little, and of what no longer is, the rest
// stays as it was. The zero value is ready.
type Idle struct {
	heads Heads[IdleList]
	lists Rows[IdleList, []IdleList]
}

// Fetches says how the first tasks of a list are looked up, and how many are at
// least worth it.
func (i *Idle) Fetches(fetch func(list IdleList, limit int) ([]store.Task, error), atLeast int) {
	i.heads.Fetch, i.heads.AtLeast = fetch, atLeast
}

// Put remembers the first tasks of a list, of which limit were asked for.
func (i *Idle) Put(list IdleList, tasks []store.Task, limit int) { i.heads.Put(list, tasks, limit) }

// maxIdle is how many tasks of a list are remembered beyond a session. More are
// asked for where as many as there are may become ready.
const maxIdle = 4096

// applied brings the memory up to date with a task that was written, and what it was
// before, nil if that is not known.
func (i *Idle) applied(before, t *store.Task) {
	switch {
	case t.Idle(): // it may be new in its list, and the list be new
		i.lists = Rows[IdleList, []IdleList]{}
		i.heads.forget(func(l IdleList) bool { return l.Run == t.Run })
	case before == nil:
		for _, head := range i.heads.byList {
			head.remove(t.TaskKey)
		}
	case before.Idle():
		if head := i.heads.byList[IdleList{before.Run, before.Wave, before.Lane}]; head != nil {
			head.remove(t.TaskKey)
		}
	}
}

// endSession forgets the lists of which too much is known.
func (i *Idle) endSession() {
	i.heads.forget(func(l IdleList) bool { return len(i.heads.byList[l].tasks) > maxIdle })
}

// forget forgets lists.
func (h *Heads[K]) forget(is func(K) bool) {
	for list := range h.byList {
		if is(list) {
			delete(h.byList, list)
		}
	}
}

// remove takes a task out. Most are the first.
func (h *head) remove(key store.TaskKey) {
	switch at := slices.IndexFunc(h.tasks, func(t store.Task) bool { return t.TaskKey == key }); {
	case at == 0:
		h.tasks = h.tasks[1:]
	case at > 0:
		h.tasks = slices.Delete(slices.Clone(h.tasks), at, at+1)
	}
}
