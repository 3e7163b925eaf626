package storetest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"gaffer/internal/engine/store"
)

var queues = map[string]func(*testing.T, Database){
	"claimable tasks come by priority and then by age":       claimableOrder,
	"claimable tasks have the labels and no paused account":  claimableFilters,
	"claimable tasks include the changes of the transaction": claimableChanges,
	"waiting tasks may become ready":                         waiting,
	"delayed tasks are listed when their time has passed":    delayed,
	"label sets are those of ready tasks":                    labelSets,
	"a transaction reads the stored rows":                    transactionReadsRows,
	"a transaction and a reader return the same lists":       transactionListsMatch,
}

func ready(id string, seq int64, priority int) store.Task {
	return store.Task{TaskKey: store.TaskKey{Run: "r", Task: id}, Seq: seq, Status: store.Queued, Ready: true, Priority: priority}
}

func claim(limit int) store.ClaimQuery { return store.ClaimQuery{Labels: []string{""}, Limit: limit} }

func claimableOrder(t *testing.T, db Database) {
	s := open(t, db)
	write(t, s, func(tx *store.Tx) {
		for i, account := range []string{"", "claude", "codex"} {
			for _, n := range shuffled(4) {
				task := ready(fmt.Sprintf("%d%d", n, i), int64(10*n+i), n%2)
				task.Account = account
				tx.PutTask(task)
			}
		}
	})
	want := "10 11 12 30 31 32 00 01 02 20 21 22"
	read(t, s, func(r store.Reader) {
		list, err := r.ClaimableTasks(claim(99))
		same(t, "claimable", names(list, taskName), err, want)
		list, err = r.ClaimableTasks(claim(5))
		same(t, "the first claimable", names(list, taskName), err, want[:14])
		list, err = r.ClaimableTasks(claim(0))
		same(t, "no claimable", names(list, taskName), err, "")
	})
}

func claimableFilters(t *testing.T, db Database) {
	s := open(t, db)
	write(t, s, func(tx *store.Tx) {
		seq := int64(0)
		for _, labels := range []string{"", "gpu", "gpu,linux"} {
			for _, account := range []string{"", "claude", "codex"} {
				seq++
				task := ready(labels+"/"+account, seq, 0)
				task.Labels, task.Account = labels, account
				tx.PutTask(task)
			}
		}
		blocked := ready("blocked", 0, 9)
		blocked.Ready = false
		tx.PutTask(blocked)
	})
	for _, test := range []struct {
		labels, paused, accounts []string
		want                     string
	}{
		{nil, nil, nil, ""},
		{[]string{""}, nil, nil, "/ /claude /codex"},
		{[]string{"", "gpu,linux"}, []string{"claude"}, nil, "/ /codex gpu,linux/ gpu,linux/codex"},
		{[]string{"gpu"}, []string{"claude", "", "unknown"}, nil, "gpu/codex"},
		{[]string{"linux", "unknown"}, nil, nil, ""},
		{[]string{"", "gpu", "gpu,linux"}, []string{"", "claude", "codex"}, nil, ""},
		{[]string{"", "gpu"}, nil, []string{"codex", "unknown"}, "/codex gpu/codex"},
		{[]string{"", "gpu"}, []string{"claude"}, []string{"claude", "codex"}, "/codex gpu/codex"},
	} {
		claim := store.ClaimQuery{Labels: test.labels, PausedAccounts: test.paused, Accounts: test.accounts, Limit: 9}
		read(t, s, func(r store.Reader) {
			list, err := r.ClaimableTasks(claim)
			same(t, fmt.Sprint("claimable ", claim), names(list, taskName), err, test.want)
		})
		inTx(t, s, func(tx *store.Tx) {
			list, err := tx.ClaimableTasks(claim)
			same(t, fmt.Sprint("claimable in a transaction ", claim), names(list, taskName), err, test.want)
		})
	}
}

func claimableChanges(t *testing.T, db Database) {
	s := open(t, db)
	write(t, s, func(tx *store.Tx) {
		for i := range 10 {
			tx.PutTask(ready(fmt.Sprint(i), int64(i), 0))
		}
	})
	write(t, s, func(tx *store.Tx) {
		for i := range 4 { // claim the first four tasks, one after the other
			list, err := tx.ClaimableTasks(claim(1))
			same(t, "claimable", names(list, taskName), err, fmt.Sprint(i))
			task := list[0]
			task.Status, task.Ready = store.Running, false
			tx.PutTask(task)
		}
		urgent := ready("urgent", 99, 5)
		tx.PutTask(urgent)
		last := ready("9", 9, 7)
		tx.PutTask(last)
		list, err := tx.ClaimableTasks(claim(4))
		same(t, "claimable after changes", names(list, taskName), err, "9 urgent 4 5")
	})
	read(t, s, func(r store.Reader) {
		list, err := r.ClaimableTasks(claim(99))
		same(t, "claimable at the end", names(list, taskName), err, "9 urgent 4 5 6 7 8")
	})
}

func waiting(t *testing.T, db Database) {
	s := open(t, db)
	put := func(id string, seq int64, change func(*store.Task)) {
		task := store.Task{TaskKey: store.TaskKey{Run: "r", Task: id}, Seq: seq, Status: store.Queued, Wave: 1}
		change(&task)
		write(t, s, func(tx *store.Tx) { tx.PutTask(task) })
	}
	put("plain", 5, func(*store.Task) {})
	put("older", 3, func(*store.Task) {})
	put("urgent", 9, func(t *store.Task) { t.Priority = 2 })
	put("no wave", 8, func(t *store.Task) { t.Wave = 0 })
	put("next wave", 1, func(t *store.Task) { t.Wave, t.Priority = 2, 9 })
	put("codex", 4, func(t *store.Task) { t.Account = "codex" })
	put("its time has come", 6, func(t *store.Task) { t.NotBefore = at(10) })
	put("later", 2, func(t *store.Task) { t.NotBefore = at(11) })
	put("ready", 2, func(t *store.Task) { t.Ready = true })
	put("blocked", 2, func(t *store.Task) { t.Blockers = 1 })
	put("running", 2, func(t *store.Task) { t.Status = store.Running })
	put("of another run", 2, func(t *store.Task) { t.Run = "s" })
	base := store.WaitQuery{Run: "r", Wave: 1, Now: at(10), Limit: 99}
	for _, test := range []struct {
		change func(*store.WaitQuery)
		want   []string
	}{
		{func(*store.WaitQuery) {}, []string{"urgent", "older", "codex", "plain", "its time has come", "no wave"}},
		{func(w *store.WaitQuery) { w.Limit = 2 }, []string{"urgent", "older"}},
		{func(w *store.WaitQuery) { w.Wave = 0 }, []string{"no wave"}},
		{func(w *store.WaitQuery) { w.Wave = math.MaxInt32; w.Limit = 3 }, []string{"next wave", "urgent", "older"}},
		{func(w *store.WaitQuery) { w.PausedAccounts = []string{"", "claude"} }, []string{"codex"}},
		{func(w *store.WaitQuery) { w.Now = at(9) }, []string{"urgent", "older", "codex", "plain", "no wave"}},
		{func(w *store.WaitQuery) { w.Now = time.Time{}; w.Limit = math.MaxInt32 }, []string{"urgent", "older", "codex", "plain", "no wave"}},
		{func(w *store.WaitQuery) { w.Run = "nobody's" }, nil},
	} {
		w := base
		test.change(&w)
		want := names(test.want, func(s string) string { return s })
		read(t, s, func(r store.Reader) {
			list, err := r.WaitingTasks(w)
			same(t, fmt.Sprintf("waiting %+v", w), names(list, taskName), err, want)
		})
		inTx(t, s, func(tx *store.Tx) {
			list, err := tx.WaitingTasks(w)
			same(t, fmt.Sprintf("waiting in a transaction %+v", w), names(list, taskName), err, want)
		})
	}
	inTx(t, s, func(tx *store.Tx) {
		for _, want := range []string{"urgent", "older", "codex"} {
			w := base
			w.Limit = 1
			list, err := tx.WaitingTasks(w)
			same(t, "waiting", names(list, taskName), err, want)
			list[0].Ready = true
			tx.PutTask(list[0])
		}
		sets, err := tx.LabelSets()
		same(t, "label sets", sets, err, []string{""})
	})
}

func delayed(t *testing.T, db Database) {
	s := open(t, db)
	task := func(id string, seq int64, until time.Time) store.Task {
		return store.Task{TaskKey: store.TaskKey{Run: "r", Task: id}, Seq: seq, Status: store.Queued, NotBefore: until}
	}
	write(t, s, func(tx *store.Tx) {
		tx.PutTask(task("never", 1, time.Time{}))
		tx.PutTask(task("now", 2, at(10)))
		tx.PutTask(task("later", 3, at(11)))
		tx.PutTask(task("first", 5, at(1)))
		tx.PutTask(task("also now", 1, at(10)))
		blocked, running := task("blocked", 6, at(1)), task("running", 7, at(1))
		blocked.Blockers, running.Status = 1, store.Running
		tx.PutTask(blocked)
		tx.PutTask(running)
	})
	read(t, s, func(r store.Reader) {
		list, err := r.DelayedTasks(at(10), 9)
		same(t, "delayed", names(list, taskName), err, "first also now now")
		list, err = r.DelayedTasks(at(10), 1)
		same(t, "the first delayed", names(list, taskName), err, "first")
	})
	inTx(t, s, func(tx *store.Tx) {
		tx.PutTask(task("first", 5, time.Time{}))
		tx.PutTask(task("new", 6, at(2)))
		list, err := tx.DelayedTasks(at(10), 2)
		same(t, "delayed after changes", names(list, taskName), err, "new also now")
	})
}

func labelSets(t *testing.T, db Database) {
	s := open(t, db)
	write(t, s, func(tx *store.Tx) {
		for i, labels := range []string{"linux", "gpu", "", "linux", "arm"} {
			task := ready(fmt.Sprint(i), int64(i), 0)
			task.Labels, task.Account, task.Ready = labels, fmt.Sprint(i), labels != "arm"
			tx.PutTask(task)
		}
	})
	read(t, s, func(r store.Reader) {
		sets, err := r.LabelSets()
		same(t, "label sets", sets, err, []string{"", "gpu", "linux"})
	})
}

// transactionReadsRows checks that a transaction can look up and list rows that were committed
// before.
func transactionReadsRows(t *testing.T, db Database) {
	s := open(t, db)
	write(t, s, func(tx *store.Tx) {
		putAll(tx)
		open := aQuestion
		open.ID, open.Closed = "q2", false
		tx.PutQuestion(open)
		child := store.Task{TaskKey: store.TaskKey{Run: "r1", Task: "z"}, Seq: 20, Status: store.Queued, Needs: []string{"a"}, Blockers: 1}
		tx.PutTask(child)
		for i := range 5 {
			task := ready(fmt.Sprint("ready", i), int64(30+i), 0)
			task.Run = "r1"
			tx.PutTask(task)
			task.Task, task.Ready = fmt.Sprint("idle", i), false
			tx.PutTask(task)
		}
	})
	for range 2 {
		inTx(t, s, func(tx *store.Tx) {
			record, err := tx.IdempotencyRecord(anIdempotencyRecord.Key)
			same(t, "idempotency record", record, err, anIdempotencyRecord)
			attempt, err := tx.Attempt("x1")
			same(t, "attempt", attempt, err, anAttempt)
			task, err := tx.Task(aTask.TaskKey)
			same(t, "task", task, err, aTask)
			run, err := tx.Run("r1")
			same(t, "run", run, err, aRun)
			list, err := tx.Dependents(aTask.TaskKey)
			same(t, "dependents", names(list, taskName), err, "z")
			list, err = tx.Dependents(store.TaskKey{Run: "r1", Task: "z"})
			same(t, "no dependents", names(list, taskName), err, "")
			questions, err := tx.Questions("x1")
			same(t, "questions", names(questions, questionName), err, "q2")
			list, err = tx.ClaimableTasks(claim(9))
			same(t, "claimable", names(list, taskName), err, "ready0 ready1 ready2 ready3 ready4")
			list, err = tx.WaitingTasks(store.WaitQuery{Run: "r1", Now: at(10), Limit: 9})
			same(t, "waiting", names(list, taskName), err, "idle0 idle1 idle2 idle3 idle4")
			accounts, err := tx.Accounts()
			same(t, "accounts", accounts, err, []store.Account{anAccount})
			sets, err := tx.LabelSets()
			same(t, "label sets", sets, err, []string{"", "gpu,linux"})
		})
	}
}

// transactionListsMatch makes random changes in many rounds. In each round it checks that a
// transaction returns the same lists as a reader.
func transactionListsMatch(t *testing.T, db Database) {
	s := open(t, db)
	random := rand.New(rand.NewPCG(1, 2))
	tasks := make([]store.Task, 300)
	change := func(tx *store.Tx, i int) {
		randomizeState(&tasks[i], random)
		tx.PutTask(tasks[i])
	}
	for i := range tasks {
		tasks[i] = store.Task{TaskKey: store.TaskKey{Run: "r", Task: fmt.Sprint(i)}, Seq: int64(i), Status: store.Running}
	}
	write(t, s, func(tx *store.Tx) {
		for i := range 250 { // insert 250 tasks first; later rounds insert more
			change(tx, i)
		}
	})
	const rounds = 200
	for round := range rounds {
		claim := store.ClaimQuery{Labels: []string{"", "gpu"}[:1+random.IntN(2)], Limit: 1 + random.IntN(90)}
		wait := store.WaitQuery{Run: "r", Wave: random.IntN(2), Limit: 1 + random.IntN(90)}
		var ready, idle []store.Task
		var sets []string
		var err [3]error
		read(t, s, func(r store.Reader) {
			ready, err[0] = r.ClaimableTasks(claim)
			idle, err[1] = r.WaitingTasks(wait)
			sets, err[2] = r.LabelSets()
		})
		write(t, s, func(tx *store.Tx) {
			got, failed := tx.ClaimableTasks(claim)
			same(t, fmt.Sprintf("round %d: claimable %+v", round, claim), got, errors.Join(failed, err[0]), ready)
			got, failed = tx.WaitingTasks(wait)
			same(t, fmt.Sprintf("round %d: waiting %+v", round, wait), got, errors.Join(failed, err[1]), idle)
			names, failed := tx.LabelSets()
			same(t, fmt.Sprintf("round %d: label sets", round), names, errors.Join(failed, err[2]), sets)
			// In the second half of the rounds, also claim up to three tasks in each round.
			if round > rounds/2 {
				for _, task := range ready[:min(3, len(ready))] {
					task.Ready, task.Status = false, store.Running
					tx.PutTask(task)
					tasks[task.Seq] = task
				}
			}
			for range random.IntN(4) {
				if i := random.IntN(len(tasks)); round < rounds/2 || !tasks[i].Ready {
					change(tx, i)
				}
			}
		})
		if t.Failed() {
			return
		}
	}
}

// randomizeState makes a task ready, waiting, running or blocked at random. Sometimes it also
// changes the task's priority, wave, account and labels.
func randomizeState(task *store.Task, random *rand.Rand) {
	task.Ready, task.Status, task.Blockers = false, store.Queued, 0
	switch random.IntN(5) {
	case 0, 1:
		task.Ready = true
	case 2:
		task.Status = store.Running
	case 3:
		task.Blockers = 1
	}
	if random.IntN(4) == 0 {
		task.Priority, task.Wave = random.IntN(3), random.IntN(2)
		task.Account, task.Labels = []string{"", "codex"}[random.IntN(2)], []string{"", "gpu"}[random.IntN(2)]
	}
}
