package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"gaffer/internal/engine/store"
)

var gone = map[string]func(*testing.T, Database){
	"deleting a run deletes its rows and no others":               runIsDeleted,
	"other processes do not see deleted rows":                     deletedForOtherProcesses,
	"a deleted run can be created again":                          createdAgain,
	"numbers of deleted events are not reused":                    numbersAreNotReused,
	"the remaining events are read in their order":                remainingEvents,
	"no request changes a row in the transaction that deletes it": deletedWhileChanged,
	"old runs and events are listed without their plans and rows": oldRows,
	"idempotency records before a time are listed by key":         oldIdempotencyRecords,
	"a failed change deletes nothing":                             failedDeletesNothing,
	"a deleted task can be neither claimed nor found":             taskIsDeleted,
}

// deleteRows deletes the rows listed in g. The test fails if the transaction returns an error.
func deleteRows(t *testing.T, s store.Store, g store.Deletions) {
	t.Helper()
	err := s.Write(t.Context(), func(tx *store.Tx) error {
		tx.DeleteRows(g)
		return nil
	})
	if err != nil {
		t.Errorf("take away: %v", err)
	}
}

// putRunWithAll stores a run with two tasks, the second of which needs the first. It also stores
// rows of all other kinds that a [store.Deletions] can list.
func putRunWithAll(tx *store.Tx, id string) {
	tx.PutRun(store.Run{ID: id, Status: store.Complete, Created: at(1), Plan: json.RawMessage(`{"name":"x"}`)})
	for i, task := range []string{"a", "b"} {
		key := store.TaskKey{Run: id, Task: task}
		needs := []string{"a"}[:i]
		tx.PutTask(store.Task{TaskKey: key, Seq: tx.NextSeq(), Status: store.Complete, Spec: json.RawMessage(`{}`), Needs: needs})
		tx.Append(store.Event{Kind: "task.complete", Run: id, Task: task})
		tx.PutAttempt(store.Attempt{ID: id + task, Run: id, Task: task, Status: store.Complete, Started: at(i)})
		tx.PutItem(anItemOf("log", id+"/"+task, id+task+"1", 1))
		tx.PutItem(anItemOf("log", id+"/"+task, id+task+"2", 2))
	}
	tx.PutQuestion(store.Question{ID: id + "q", Attempt: id + "a", Run: id, Task: "a", Asked: at(1)})
	tx.PutIdempotencyRecord(store.IdempotencyRecord{Key: "p " + id, Answer: json.RawMessage(`1`), Made: at(1)})
	tx.PutCursor(store.Cursor{Name: "c " + id, Seq: 1})
	tx.PutWorker(store.Worker{ID: "w" + id, Seen: at(1)})
}

// keysOfRun returns the keys of the rows that putRunWithAll stores for the run with this id, except
// for the events.
func keysOfRun(id string) store.Deletions {
	return store.Deletions{
		Runs: []string{id}, Tasks: []store.TaskKey{{Run: id, Task: "a"}, {Run: id, Task: "b"}}, Questions: []string{id + "q"},
		Workers: []string{"w" + id}, IdempotencyKeys: []string{"p " + id}, Cursors: []string{"c " + id},
		Lists: []store.ItemList{{Kind: "log", Parent: id + "/a"}, {Kind: "log", Parent: id + "/b"}},
	}
}

// count returns how many rows of a run exist, out of those that putRunWithAll stores. The run's
// plan counts as a row of its own, and so does the dependency between the run's two tasks. Events
// do not count.
func count(r store.Reader, id string) (n int, err error) {
	found := func(err2 error) {
		switch {
		case err2 == nil:
			n++
		case !errors.Is(err2, store.ErrNotFound):
			err = err2
		}
	}
	run, err2 := r.Run(id)
	found(err2)
	if run.Plan != nil {
		n++
	}
	for _, task := range []string{"a", "b"} {
		_, err2 = r.Task(store.TaskKey{Run: id, Task: task})
		found(err2)
		_, err2 = r.Attempt(id + task)
		found(err2)
		list, err2 := r.Items("log", id+"/"+task, 0, 9)
		n += len(list)
		err = errors.Join(err, err2)
	}
	below, err2 := r.Dependents(store.TaskKey{Run: id, Task: "a"})
	n += len(below)
	err = errors.Join(err, err2)
	_, err2 = r.Question(id + "q")
	found(err2)
	_, err2 = r.Worker("w" + id)
	found(err2)
	_, err2 = r.IdempotencyRecord("p " + id)
	found(err2)
	_, err2 = r.Cursor("c " + id)
	found(err2)
	return n, err
}

// rowsOfRun is the result of the function count for a run that putRunWithAll has stored.
const rowsOfRun = 15

func runIsDeleted(t *testing.T, db Database) {
	s := open(t, db)
	write(t, s, func(tx *store.Tx) { putRunWithAll(tx, "r"); putRunWithAll(tx, "other") })
	read(t, s, func(r store.Reader) {
		n, err := count(r, "r")
		same(t, "rows before", n, err, rowsOfRun)
	})
	deleteRows(t, s, keysOfRun("r"))
	// Delete the rows again: deleting rows that do not exist must not fail.
	deleteRows(t, s, keysOfRun("r"))
	read(t, s, func(r store.Reader) {
		n, err := count(r, "r")
		same(t, "rows that were taken away", n, err, 0)
		n, err = count(r, "other")
		same(t, "rows of another run", n, err, rowsOfRun)
		runs, err := r.Runs()
		same(t, "runs", names(runs, runName), err, "other")
	})
}

func deletedForOtherProcesses(t *testing.T, db Database) {
	s, other := open(t, db), open(t, db)
	write(t, s, func(tx *store.Tx) { putRunWithAll(tx, "r") })
	// Read the rows through both stores, so that both can have cached them when they are deleted.
	for _, from := range []store.Store{s, other} {
		inTx(t, from, func(tx *store.Tx) {
			_, err := tx.Run("r")
			same(t, "before", err, nil, nil)
			_, err = tx.Attempt("ra")
			same(t, "attempt before", err, nil, nil)
			_, err = tx.Worker("wr")
			same(t, "worker before", err, nil, nil)
		})
	}
	deleteRows(t, other, keysOfRun("r"))
	for _, from := range []store.Store{s, other} {
		inTx(t, from, func(tx *store.Tx) {
			_, run := tx.Run("r")
			_, task := tx.Task(store.TaskKey{Run: "r", Task: "a"})
			_, attempt := tx.Attempt("ra")
			_, worker := tx.Worker("wr")
			_, record := tx.IdempotencyRecord("p r")
			for _, err := range []error{run, task, attempt, worker, record} {
				if !errors.Is(err, store.ErrNotFound) {
					t.Errorf("error is %v, want ErrNotFound", err)
				}
			}
			tasks, err := tx.Tasks("r")
			same(t, "tasks", len(tasks), err, 0)
		})
	}
}

func createdAgain(t *testing.T, db Database) {
	s := open(t, db)
	for range 3 {
		write(t, s, func(tx *store.Tx) { putRunWithAll(tx, "r") })
		read(t, s, func(r store.Reader) {
			n, err := count(r, "r")
			same(t, "rows", n, err, rowsOfRun)
		})
		deleteRows(t, s, keysOfRun("r"))
	}
	write(t, s, func(tx *store.Tx) { tx.PutRun(store.Run{ID: "r", Plan: json.RawMessage(`{"name":"another"}`)}) })
	read(t, s, func(r store.Reader) {
		run, err := r.Run("r")
		same(t, "plan", string(run.Plan), err, `{"name":"another"}`)
	})
}

func seqs(list []store.Event) string {
	return names(list, func(e store.Event) string { return fmt.Sprint(e.Seq) })
}

func numbersAreNotReused(t *testing.T, db Database) {
	s, other := open(t, db), open(t, db)
	add := func(s store.Store) { write(t, s, func(tx *store.Tx) { tx.Append(store.Event{Kind: "x"}) }) }
	for range 4 {
		add(s)
	}
	deleteRows(t, s, store.Deletions{Events: []int64{1, 2, 3, 4, 5}})
	read(t, s, func(r store.Reader) {
		list, err := r.Events(0, 9)
		same(t, "the last one stays", seqs(list), err, "4")
		last, err := r.LastSeq()
		same(t, "last", last, err, 4)
	})
	add(other)
	add(s)
	err := s.Write(t.Context(), func(tx *store.Tx) error {
		tx.Append(store.Event{Kind: "taken"})
		tx.DeleteRows(store.Deletions{Events: []int64{4, 5, 6}})
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	add(other)
	read(t, other, func(r store.Reader) {
		list, err := r.Events(0, 9)
		same(t, "numbers", seqs(list), err, "7 8")
	})
}

func remainingEvents(t *testing.T, db Database) {
	s := open(t, db)
	write(t, s, func(tx *store.Tx) {
		for i := range 9 {
			tx.Append(store.Event{Kind: "k", Run: fmt.Sprint(i % 3), Row: json.RawMessage(`{"a":1}`), AttemptRow: json.RawMessage(`{}`)})
		}
	})
	deleteRows(t, s, store.Deletions{Events: []int64{1, 4, 7, 8}})
	read(t, s, func(r store.Reader) {
		list, err := r.Events(0, 3)
		same(t, "the first three", seqs(list), err, "2 3 5")
		list, err = r.Events(3, 99)
		same(t, "after one", seqs(list), err, "5 6 9")
		list, err = r.Events(7, 99)
		same(t, "after one that is gone", seqs(list), err, "9")
		list, err = r.EventsWithoutRows(3, 2)
		same(t, "headings", list, err, []store.Event{{Seq: 5, Kind: "k", Run: "1"}, {Seq: 6, Kind: "k", Run: "2"}})
	})
	if err := s.Wait(soon(t), 8); err != nil {
		t.Error(err)
	}
}

// deletedWhileChanged deletes the rows of a run while other goroutines change the run through two
// stores. In the end, no row of the run may exist. If a change comes before the deletion, the
// changed row is deleted. If it comes after the deletion, it does not find the row.
func deletedWhileChanged(t *testing.T, db Database) {
	s, other := open(t, db), open(t, db)
	for range 10 {
		write(t, s, func(tx *store.Tx) { putRunWithAll(tx, "r") })
		var wg sync.WaitGroup
		for i := range 8 {
			by := []store.Store{s, other}[i%2]
			wg.Go(func() {
				err := by.Write(t.Context(), func(tx *store.Tx) error {
					run, err := tx.Run("r")
					if err == nil {
						run.Active++
						tx.PutRun(run)
					}
					return err
				})
				if err != nil && !errors.Is(err, store.ErrNotFound) {
					t.Error(err)
				}
			})
		}
		wg.Go(func() { deleteRows(t, s, keysOfRun("r")) })
		wg.Wait()
		read(t, other, func(r store.Reader) {
			n, err := count(r, "r")
			same(t, "rows", n, err, 0)
		})
	}
}

func oldRows(t *testing.T, db Database) {
	s := open(t, db)
	write(t, s, func(tx *store.Tx) {
		for _, i := range shuffled(5) {
			tx.PutRun(store.Run{ID: fmt.Sprint(i), Status: store.Complete, Created: at(i), Plan: json.RawMessage(`{}`)})
		}
	})
	read(t, s, func(r store.Reader) {
		list, err := r.RunsBefore(at(3))
		same(t, "runs", names(list, runName), err, "0 1 2")
		same(t, "plan", list[0].Plan, nil, nil)
	})
}

func oldIdempotencyRecords(t *testing.T, db Database) {
	s := open(t, db)
	write(t, s, func(tx *store.Tx) {
		for _, i := range shuffled(6) {
			tx.PutIdempotencyRecord(store.IdempotencyRecord{Key: fmt.Sprint("k", i), Answer: json.RawMessage(fmt.Sprint(i)), Made: at(i % 3)})
		}
	})
	key := func(p store.IdempotencyRecord) string { return p.Key + "=" + string(p.Answer) }
	read(t, s, func(r store.Reader) {
		list, err := r.IdempotencyRecords(at(2), "", 3)
		same(t, "the first three", names(list, key), err, "k0=0 k1=1 k3=3")
		list, err = r.IdempotencyRecords(at(2), "k3", 3)
		same(t, "the rest", names(list, key), err, "k4=4")
		list, err = r.IdempotencyRecords(at(0), "", 3)
		same(t, "none", names(list, key), err, "")
	})
}

func failedDeletesNothing(t *testing.T, db Database) {
	s := open(t, db)
	write(t, s, func(tx *store.Tx) { putRunWithAll(tx, "r") })
	stop := errors.New("no")
	err := s.Write(t.Context(), func(tx *store.Tx) error {
		tx.DeleteRows(keysOfRun("r"))
		return stop
	})
	if !errors.Is(err, stop) {
		t.Errorf("error is %v", err)
	}
	read(t, s, func(r store.Reader) {
		n, err := count(r, "r")
		same(t, "rows", n, err, rowsOfRun)
	})
}

func taskIsDeleted(t *testing.T, db Database) {
	s := open(t, db)
	write(t, s, func(tx *store.Tx) {
		tx.PutRun(store.Run{ID: "r", Status: store.Running})
		for i, id := range []string{"a", "b"} {
			tx.PutTask(store.Task{TaskKey: store.TaskKey{Run: "r", Task: id}, Seq: int64(i + 1), Status: store.Queued, Ready: true})
		}
	})
	claim := store.ClaimQuery{Labels: []string{""}, Limit: 9}
	inTx(t, s, func(tx *store.Tx) {
		list, err := tx.ClaimableTasks(claim)
		same(t, "before", names(list, taskName), err, "a b")
	})
	deleteRows(t, s, store.Deletions{Tasks: []store.TaskKey{{Run: "r", Task: "a"}}})
	inTx(t, s, func(tx *store.Tx) {
		list, err := tx.ClaimableTasks(claim)
		same(t, "claimable", names(list, taskName), err, "b")
		list, err = tx.Tasks("r")
		same(t, "tasks", names(list, taskName), err, "b")
	})
}
