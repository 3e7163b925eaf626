package storetest

import (
	"math/rand/v2"
	"testing"
	"time"

	"gaffer/internal/engine/store"
)

var lists = map[string]func(*testing.T, Database){
	"lists are in their order":                   listsInOrder,
	"names are ordered by their bytes":           byteOrder,
	"dependents are the tasks that need it":      dependents,
	"tasks that have ended come latest first":    ended,
	"due attempts come earliest first":           due,
	"expired questions come earliest first":      expired,
	"the caller may change a list":               listBelongs,
	"lists in a transaction include its changes": listsShowChanges,
}

// shuffled returns the numbers from 0 to n-1 in random order. The order is the same in every test.
func shuffled(n int) []int { return rand.New(rand.NewPCG(1, 2)).Perm(n) }

func listsInOrder(t *testing.T, db Database) {
	s := open(t, db)
	ids := []string{"e", "d", "c", "b", "a"} // ids in the order of their times; c and d have the same time
	times := []int{0, 1, 1, 3, 4}
	for _, i := range shuffled(5) {
		write(t, s, func(tx *store.Tx) {
			status := store.Complete
			if i%2 == 0 {
				status = store.Running
			}
			tx.PutRun(store.Run{ID: ids[i], Status: status, Created: at(times[i])})
			tx.PutTask(store.Task{TaskKey: store.TaskKey{Run: "r", Task: ids[i]}, Seq: int64(i), Status: store.Queued})
			tx.PutTask(store.Task{TaskKey: store.TaskKey{Run: "other", Task: ids[i]}, Seq: int64(10 + i), Status: store.Queued})
			tx.PutAttempt(store.Attempt{ID: ids[i], Run: "r", Task: "t", Started: at(times[i])})
			tx.PutAttempt(store.Attempt{ID: "x" + ids[i], Run: "r", Task: "other", Started: at(times[i])})
			tx.PutWorker(store.Worker{ID: ids[i]})
			tx.PutQuestion(store.Question{ID: ids[i], Asked: at(times[i]), Closed: i%2 == 0})
			tx.PutAccount(store.Account{Name: ids[i]})
		})
	}
	read(t, s, func(r store.Reader) {
		runs, err := r.Runs()
		same(t, "runs", names(runs, runName), err, "e c d b a")
		runs, err = r.RunningRuns()
		same(t, "running runs", names(runs, runName), err, "e c a")
		tasks, err := r.Tasks("r")
		same(t, "tasks", names(tasks, taskName), err, "e d c b a")
		attempts, err := r.Attempts(store.TaskKey{Run: "r", Task: "t"})
		same(t, "attempts", names(attempts, attemptName), err, "e c d b a")
		workers, err := r.Workers()
		same(t, "workers", names(workers, func(w store.Worker) string { return w.ID }), err, "a b c d e")
		questions, err := r.Questions(false)
		same(t, "questions", names(questions, questionName), err, "e c d b a")
		questions, err = r.Questions(true)
		same(t, "open questions", names(questions, questionName), err, "d b")
		accounts, err := r.Accounts()
		same(t, "accounts", names(accounts, func(l store.Account) string { return l.Name }), err, "a b c d e")
	})
}

func byteOrder(t *testing.T, db Database) {
	s := open(t, db)
	want := "- 10 9 A Z _ a a-b a_b ab z é 漢"
	write(t, s, func(tx *store.Tx) {
		for _, id := range []string{"a_b", "z", "Z", "é", "ab", "10", "_", "漢", "a-b", "9", "a", "-", "A"} {
			tx.PutRun(store.Run{ID: id})
			tx.PutWorker(store.Worker{ID: id})
			tx.PutTask(store.Task{TaskKey: store.TaskKey{Run: "r", Task: id}, Labels: id, Ready: true})
		}
	})
	read(t, s, func(r store.Reader) {
		runs, err := r.Runs()
		same(t, "runs", names(runs, runName), err, want)
		workers, err := r.Workers()
		same(t, "workers", names(workers, func(w store.Worker) string { return w.ID }), err, want)
		sets, err := r.LabelSets()
		same(t, "label sets", names(sets, func(s string) string { return s }), err, want)
	})
}

func dependents(t *testing.T, db Database) {
	s := open(t, db)
	task := func(run, id string, seq int64, needs ...string) store.Task {
		return store.Task{TaskKey: store.TaskKey{Run: run, Task: id}, Seq: seq, Needs: needs}
	}
	write(t, s, func(tx *store.Tx) {
		for _, t := range []store.Task{
			task("r", "a", 1), task("r", "d", 9, "a"), task("r", "c", 4, "b", "a"), task("r", "b", 2), task("s", "e", 5, "a"),
		} {
			tx.PutTask(t)
		}
	})
	key := store.TaskKey{Run: "r", Task: "a"}
	read(t, s, func(r store.Reader) {
		list, err := r.Dependents(key)
		same(t, "dependents", names(list, taskName), err, "c d")
		list, err = r.Dependents(store.TaskKey{Run: "r", Task: "c"})
		same(t, "dependents of a leaf", names(list, taskName), err, "")
	})
	write(t, s, func(tx *store.Tx) {
		tx.PutTask(task("r", "f", 5, "a"))
		list, err := tx.Dependents(key)
		same(t, "dependents with a new one", names(list, taskName), err, "c f d")
		for _, d := range list {
			d.Blockers++
			tx.PutTask(d)
		}
	})
	read(t, s, func(r store.Reader) {
		list, err := r.Dependents(key)
		same(t, "dependents after a change", names(list, taskName), err, "c f d")
		if list[0].Blockers != 1 {
			t.Errorf("a dependent has %d blockers, want 1", list[0].Blockers)
		}
	})
}

func ended(t *testing.T, db Database) {
	s := open(t, db)
	statuses := []store.Status{store.Complete, store.Queued, store.Complete, store.Failed, store.Running, store.Complete, store.Cancelled}
	put := func(run, task string, i int, in store.Status) {
		write(t, s, func(tx *store.Tx) {
			tx.PutTask(store.Task{TaskKey: store.TaskKey{Run: run, Task: task}, Seq: int64(i), Status: in, Ready: in == store.Queued, Spec: []byte(`{"id":"x"}`)})
		})
	}
	for _, i := range shuffled(len(statuses)) {
		put("r", string(rune('a'+i)), i, statuses[i])
		put("other", string(rune('a'+i)), 10+i, statuses[i])
	}
	check := func(when string, in store.Status, limit int, want string) {
		t.Helper()
		read(t, s, func(r store.Reader) {
			tasks, err := r.EndedTasks("r", in, limit)
			same(t, when+", "+string(in), names(tasks, taskName), err, want)
		})
	}
	check("all", store.Complete, 9, "f c a")
	check("two", store.Complete, 2, "f c")
	check("all", store.Failed, 9, "d")
	check("all", store.Cancelled, 9, "g")
	check("nothing is final in it", store.Running, 9, "")
	put("r", "b", 1, store.Complete)
	put("r", "d", 3, store.Queued)
	check("one ended, one is tried again", store.Complete, 9, "f c b a")
	check("one ended, one is tried again", store.Failed, 9, "")
	read(t, s, func(r store.Reader) {
		counts, err := r.EndedTaskCounts()
		same(t, "counts", counts, err, map[store.Status]int{store.Complete: 7, store.Failed: 1, store.Cancelled: 2})
	})
}

func due(t *testing.T, db Database) {
	s := open(t, db)
	attempt := func(id string, status store.Status, lease, deadline time.Time) store.Attempt {
		return store.Attempt{ID: id, Run: "r", Task: id, Status: status, Lease: lease, Deadline: deadline}
	}
	write(t, s, func(tx *store.Tx) {
		for _, a := range []store.Attempt{
			attempt("later", store.Running, at(20), time.Time{}),
			attempt("lease", store.Running, at(5), at(50)),
			attempt("deadline", store.Running, at(50), at(3)),
			attempt("ended", store.Complete, at(1), time.Time{}),
			attempt("now", store.Running, at(10), time.Time{}),
			attempt("b", store.Running, at(7), time.Time{}),
			attempt("a", store.Running, at(7), time.Time{}),
			attempt("never leased", store.Running, time.Time{}, time.Time{}),
			{ID: "waits", Run: "r", Task: "waits", Status: store.Running, Lease: at(50), Deadline: at(3), WaitingSince: at(2)},
		} {
			tx.PutAttempt(a)
		}
	})
	read(t, s, func(r store.Reader) {
		list, err := r.DueAttempts(at(10), 99)
		same(t, "due", names(list, attemptName), err, "never leased deadline lease a b")
		list, err = r.DueAttempts(at(10), 2)
		same(t, "the first due", names(list, attemptName), err, "never leased deadline")
	})
	write(t, s, func(tx *store.Tx) {
		tx.PutAttempt(attempt("deadline", store.Failed, at(50), at(3)))
		tx.PutAttempt(attempt("new", store.Running, at(1), time.Time{}))
		list, err := tx.DueAttempts(at(10), 3)
		same(t, "due after changes", names(list, attemptName), err, "never leased new lease")
	})
}

func expired(t *testing.T, db Database) {
	s := open(t, db)
	question := func(id string, expires time.Time, closed bool) store.Question {
		return store.Question{ID: id, Attempt: "x", Asked: at(0), Expires: expires, Closed: closed}
	}
	write(t, s, func(tx *store.Tx) {
		for _, q := range []store.Question{
			question("later", at(20), false), question("second", at(5), false), question("first", at(3), false),
			question("closed", at(1), true), question("never", time.Time{}, false), question("now", at(10), false),
		} {
			tx.PutQuestion(q)
		}
	})
	read(t, s, func(r store.Reader) {
		list, err := r.ExpiredQuestions(at(10), 99)
		same(t, "expired", names(list, questionName), err, "first second")
		list, err = r.ExpiredQuestions(at(10), 1)
		same(t, "the first expired", names(list, questionName), err, "first")
	})
	write(t, s, func(tx *store.Tx) {
		tx.PutQuestion(question("first", at(3), true))
		tx.PutQuestion(question("new", at(4), false))
		list, err := tx.ExpiredQuestions(at(10), 9)
		same(t, "expired after changes", names(list, questionName), err, "new second")
		list, err = tx.Questions("x")
		same(t, "open questions of an attempt", names(list, questionName), err, "later never new now second")
	})
}

func listBelongs(t *testing.T, db Database) {
	s := open(t, db)
	write(t, s, func(tx *store.Tx) {
		for i, id := range []string{"a", "b"} {
			tx.PutTask(store.Task{TaskKey: store.TaskKey{Run: "r", Task: id}, Seq: int64(i), Status: store.Queued, Ready: true, Needs: []string{"x"}})
			tx.PutTask(store.Task{TaskKey: store.TaskKey{Run: "idle", Task: id}, Seq: int64(i), Status: store.Queued})
			tx.PutAccount(store.Account{Name: id})
			tx.PutQuestion(store.Question{ID: id, Attempt: "x", Asked: at(i)})
			tx.PutAttempt(store.Attempt{ID: "x", Run: "r", Task: "x", Status: store.Running})
		}
	})
	check := func(tx *store.Tx) {
		tasks, err := tx.ClaimableTasks(store.ClaimQuery{Labels: []string{""}, Limit: 9})
		same(t, "claimable", names(tasks, taskName), err, "a b")
		clear(tasks)
		tasks, err = tx.Dependents(store.TaskKey{Run: "r", Task: "x"})
		same(t, "dependents", names(tasks, taskName), err, "a b")
		clear(tasks)
		tasks, err = tx.WaitingTasks(store.WaitQuery{Run: "idle", Limit: 9})
		same(t, "waiting", names(tasks, taskName), err, "a b")
		clear(tasks)
		accounts, err := tx.Accounts()
		same(t, "accounts", len(accounts), err, 2)
		clear(accounts)
		questions, err := tx.Questions("x")
		same(t, "questions", names(questions, questionName), err, "a b")
		clear(questions)
		sets, err := tx.LabelSets()
		same(t, "label sets", sets, err, []string{""})
		sets[0] = "gone"
	}
	inTx(t, s, func(tx *store.Tx) {
		check(tx)
		check(tx)
	})
}

func listsShowChanges(t *testing.T, db Database) {
	s := open(t, db)
	write(t, s, func(tx *store.Tx) {
		tx.PutRun(store.Run{ID: "old", Status: store.Running, Created: at(0)})
		tx.PutRun(store.Run{ID: "ends", Status: store.Running, Created: at(1)})
		tx.PutTask(store.Task{TaskKey: store.TaskKey{Run: "r", Task: "b"}, Seq: 2})
		tx.PutAccount(store.Account{Name: "b"})
	})
	inTx(t, s, func(tx *store.Tx) {
		tx.PutRun(store.Run{ID: "ends", Status: store.Failed, Created: at(1)})
		tx.PutRun(store.Run{ID: "new", Status: store.Running, Created: at(2)})
		tx.PutTask(store.Task{TaskKey: store.TaskKey{Run: "r", Task: "a"}, Seq: 1})
		tx.PutAccount(store.Account{Name: "a"})
		tx.PutAccount(store.Account{Name: "b", Reason: "changed"})
		runs, err := tx.RunningRuns()
		same(t, "running runs", names(runs, runName), err, "old new")
		tasks, err := tx.Tasks("r")
		same(t, "tasks", names(tasks, taskName), err, "a b")
		accounts, err := tx.Accounts()
		same(t, "accounts", accounts, err, []store.Account{{Name: "a"}, {Name: "b", Reason: "changed"}})
	})
	read(t, s, func(r store.Reader) {
		runs, err := r.RunningRuns()
		same(t, "running runs", names(runs, runName), err, "old ends")
	})
}
