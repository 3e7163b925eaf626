package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/postgres/pgtest"
)

// Whatever is written, even by another process, a session sees what is stored.
func TestWhatIsRememberedIsWhatIsStored(t *testing.T) {
	address := pgtest.Database(t)
	s, other := open(t, address), open(t, address)
	defer func() { _, _ = s.Close(), other.Close() }()
	rng := rand.New(rand.NewPCG(1, 2))
	for step := range 400 {
		writer := s
		if rng.IntN(15) == 0 {
			writer = other
		}
		run := fmt.Sprint("run ", rng.IntN(1+step/20))
		if err := addTasks(writer, rng, run, step); err != nil {
			t.Fatal(err)
		}
		inSession, stored := tasksInSession(t, s, run), tasksStored(t, s, run)
		if !reflect.DeepEqual(inSession, stored) {
			t.Fatalf("step %d: a session sees\n%v\nand stored is\n%v", step, inSession, stored)
		}
	}
}

// addTasks adds a few tasks to a run, and creates the run if it does not exist.
func addTasks(s store.Store, rng *rand.Rand, run string, step int) error {
	n := rng.IntN(4)
	return s.Write(context.Background(), store.Need{}, func(tx *store.Tx) error {
		if _, err := tx.Run(run); errors.Is(err, store.ErrNotFound) {
			tx.PutRun(store.Run{ID: run, Status: store.Running})
		} else if err != nil {
			return err
		}
		for i := range n {
			task := store.Task{TaskKey: store.TaskKey{Run: run, Task: fmt.Sprint(step, i)}, Seq: int64(10*step + i), Status: store.Queued}
			if i > 0 {
				task.Needs = []string{fmt.Sprint(step, i-1), "first"}
			} else if step%2 == 0 {
				task.Task = "first"
			}
			tx.PutTask(task)
		}
		return nil
	})
}

// seen holds the tasks of a run and their dependents.
type seen struct {
	tasks []store.Task
	below map[string][]store.Task
}

func tasksInSession(t *testing.T, s store.Store, run string) (list seen) {
	t.Helper()
	err := s.Write(t.Context(), store.Need{}, func(tx *store.Tx) (err error) {
		list, err = look(run, tx.Tasks, tx.Dependents)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func tasksStored(t *testing.T, s store.Store, run string) (list seen) {
	t.Helper()
	err := s.Read(t.Context(), func(r store.Reader) (err error) {
		list, err = look(run, r.Tasks, r.Dependents)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func look(run string, tasks func(string) ([]store.Task, error), dependents func(store.TaskKey) ([]store.Task, error)) (list seen, err error) {
	list.below = map[string][]store.Task{}
	all, err := tasks(run)
	list.tasks = append(list.tasks, all...)
	for _, task := range all {
		below, err2 := dependents(task.TaskKey)
		list.below[task.Task] = append([]store.Task{}, below...)
		err = errors.Join(err, err2)
	}
	return list, err
}
