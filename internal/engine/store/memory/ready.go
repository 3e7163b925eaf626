package memory

import (
	"cmp"
	"slices"

	"gaffer/internal/engine/store"
)

// readyList holds the ready tasks: the queued tasks that workers may claim. They are in the order
// in which workers get them: highest priority first, and tasks of the same priority by Seq, lowest
// first.
type readyList []readyTask

type readyTask struct {
	priority int
	seq      int64
	key      store.TaskKey
}

func entry(t store.Task) readyTask { return readyTask{t.Priority, t.Seq, t.TaskKey} }

func (a readyTask) compare(b readyTask) int {
	return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.seq, b.seq),
		cmp.Compare(a.key.Run, b.key.Run), cmp.Compare(a.key.Task, b.key.Task))
}

// move updates the list after a task has changed from the parameter old to the parameter updated.
// For a new task, old is the zero value. For a deleted task, updated is the zero value.
func (r *readyList) move(old, updated store.Task) {
	if old.Ready {
		if i, found := slices.BinarySearchFunc(*r, entry(old), readyTask.compare); found {
			*r = slices.Delete(*r, i, i+1)
		}
	}
	if updated.Ready {
		i, _ := slices.BinarySearchFunc(*r, entry(updated), readyTask.compare)
		*r = slices.Insert(*r, i, entry(updated))
	}
}
