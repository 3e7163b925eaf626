package memo_test

import (
	"testing"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memo"
)

// needing is a database in which tasks may need others.
type needing struct {
	store.Reader
	dependents []store.Task
	asked      int
}

func (n *needing) Dependents(store.TaskKey) ([]store.Task, error) {
	n.asked++
	return n.dependents, nil
}

func TestARunIsAskedWhoNeedsATaskOnceOneNeedsAnother(t *testing.T) {
	db := &needing{}
	r := memo.Reader{Reader: db, Seen: memo.NewSeen(0), Independent: func(string) (bool, error) { return len(db.dependents) == 0, nil }}
	first := store.TaskKey{Run: "r", Task: "a"}
	for range 3 {
		if list, err := r.Dependents(first); len(list) > 0 || err != nil {
			t.Fatalf("a run without needs: %v, %v", list, err)
		}
	}
	if db.asked > 0 {
		t.Errorf("asked %d times", db.asked)
	}
	second := store.Task{TaskKey: store.TaskKey{Run: "r", Task: "b"}, Needs: []string{"a"}}
	db.dependents = []store.Task{second}
	r.Seen.Applied(store.Changes{Tasks: []store.Task{second}})
	if list, err := r.Dependents(first); len(list) != 1 || err != nil {
		t.Errorf("after a task that needs it was added: %v, %v", list, err)
	}
}
