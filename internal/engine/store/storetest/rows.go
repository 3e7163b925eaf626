package storetest

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"gaffer/fleet"

	"gaffer/internal/engine/store"
)

var rows = map[string]func(*testing.T, Database){
	"a row is read as it was put":            putAndRead,
	"a row that is put again is replaced":    putAgain,
	"a row that does not exist is not found": notFound,
	"rows survive closing and opening":       reopened,
	"lists without rows are empty":           emptyLists,
}

// Rows for tests of a store. Most of their fields are set, so that a test fails if a store does not
// keep one of these fields.
var (
	aRun = store.Run{
		ID: "r1", Name: "Build it", Status: store.Running, Source: "plan", SourceFile: "plan.yaml",
		Plan: json.RawMessage(`{"tasks": [ {"id":"a", "x":1.0} ]}`), Parallel: 3, OnFail: store.StopOnFail,
		Budget: store.Amount{MicroUSD: 5_000_000, Tokens: 10}, Reserved: store.Amount{MicroUSD: 1}, Spent: store.Amount{Tokens: 2},
		Worked: time.Minute, Waited: time.Hour, Waves: []store.WaveCount{{Wave: 1, Open: 2}}, Open: 2, Ready: 1, Active: 1, Failed: 1, Stopping: "a failed", Conducted: true, Ordered: true,
		Created: at(0), Ended: at(9),
	}
	aTask = store.Task{
		TaskKey: store.TaskKey{Run: "r1", Task: "a"}, Seq: 7, Name: "First", Spec: json.RawMessage(`{"prompt": "do  it", "n": 1.50}`),
		Status: store.Queued, Wave: 1, Needs: []string{"b", "c"}, Blockers: 2, Ready: true, NotBefore: at(3), Priority: -4,
		Labels: "gpu,linux", Account: "claude", Retries: 2, CountedAttempts: 1, Tries: 2, Lost: 1, RunningAttempt: "x1",
		Reserve: store.Amount{MicroUSD: 7}, Timeout: time.Hour, Outcome: "stalled",
	}
	anAttempt = store.Attempt{
		ID: "x1", Run: "r1", Task: "a", Number: 2, Token: 99, Worker: "w1", Status: store.Running, Lease: at(60), Deadline: at(90), Started: at(1), Ended: at(2), StopReason: "cancelled",
		Progress: fleet.Progress{Process: fleet.Process{Thread: "t1"}, Spent: store.Amount{Tokens: 5}, Context: fleet.Context{Tokens: 7, Window: 9}},
		Ending:   fleet.Ending{Class: "stalled", Summary: "slow", Answer: "PASS \u20ac", Denied: []string{"Bash: make", "Write: x"}},
		Waited:   90 * time.Second, WaitingSince: at(4),
	}
	aWorker = store.Worker{
		ID: "w1", Name: "host", Labels: "linux", Slots: 4, Seen: at(5), Status: "waiting", StatusReported: at(4), Task: "r1.a",
		Meta: json.RawMessage(`{"host":"h","n":1.50}`), Version: "1.2", Now: fleet.AgentActivity{Doing: "Bash: make", CostUSD: 0.5}, Owner: "token", OwnerName: "build-1", Channels: []string{"one", "two"},
		HeldAttempts: []string{"x1"}, Created: at(1), Updated: at(3),
	}
	anItem = store.Item{
		ItemKey: store.ItemKey{Kind: "note", ID: "n1"}, Parent: "r1.a", Seq: 8, Data: json.RawMessage(`{"text":"a  b","n":1.0}`), Made: at(8),
	}
	aQuestion = store.Question{
		ID: "q1", Attempt: "x1", Run: "r1", Task: "a", Text: "May I?", Options: json.RawMessage(`["yes","no"]`), Asked: at(4),
		Expires: at(44), Default: "no", Answer: "yes", By: "ann", Answered: at(5), Closed: true,
	}
	anAccount           = store.Account{Name: "claude", Until: at(100), Reason: "limit"}
	anIdempotencyRecord = store.IdempotencyRecord{Key: "claim k1", Answer: json.RawMessage(`{"ok":true}`), Made: at(6)}
	aCursor             = store.Cursor{Name: "recorder", Seq: 12}
	anEvent             = store.Event{
		AttemptRow: json.RawMessage(`{"id":"x"}`),
		At:         at(7), Kind: "task.running", Run: "r1", Task: "a", Attempt: "x1", From: "queued", To: "running", Who: "w1", Why: "asked",
		Row: json.RawMessage(`{"id":"a"}`),
	}
)

func putAll(tx *store.Tx) {
	tx.PutRun(aRun)
	tx.PutTask(aTask)
	tx.PutAttempt(anAttempt)
	tx.PutWorker(aWorker)
	tx.PutQuestion(aQuestion)
	tx.PutAccount(anAccount)
	tx.PutIdempotencyRecord(anIdempotencyRecord)
	tx.PutCursor(aCursor)
	tx.PutItem(anItem)
	tx.Append(anEvent)
}

func checkAll(t *testing.T, r store.Reader) {
	t.Helper()
	run, err := r.Run("r1")
	same(t, "run", run, err, aRun)
	task, err := r.Task(aTask.TaskKey)
	same(t, "task", task, err, aTask)
	attempt, err := r.Attempt("x1")
	same(t, "attempt", attempt, err, anAttempt)
	worker, err := r.Worker("w1")
	same(t, "worker", worker, err, aWorker)
	question, err := r.Question("q1")
	same(t, "question", question, err, aQuestion)
	account, err := r.Account("claude")
	same(t, "account", account, err, anAccount)
	record, err := r.IdempotencyRecord("claim k1")
	same(t, "idempotency record", record, err, anIdempotencyRecord)
	cursor, err := r.Cursor("recorder")
	same(t, "cursor", cursor, err, aCursor)
	item, err := r.Item(anItem.ItemKey)
	same(t, "item", item, err, anItem)
	items, err := r.Items("note", "r1.a", 7, 9)
	same(t, "items", items, err, []store.Item{anItem})
	attempts, err := r.AttemptsOf("r1")
	same(t, "attempts of a run", attempts, err, []store.Attempt{anAttempt})
	numbered := anEvent
	numbered.Seq = 1
	events, err := r.Events(0, 10)
	same(t, "events", events, err, []store.Event{numbered})
}

func putAndRead(t *testing.T, db Database) {
	s := open(t, db)
	write(t, s, putAll)
	read(t, s, func(r store.Reader) { checkAll(t, r) })
	inTx(t, s, func(tx *store.Tx) {
		run, err := tx.Run("r1")
		same(t, "run in a transaction", run, err, aRun)
		task, err := tx.Task(aTask.TaskKey)
		same(t, "task in a transaction", task, err, aTask)
		account, err := tx.Account("claude")
		same(t, "account in a transaction", account, err, anAccount)
		question, err := tx.Question("q1")
		same(t, "question in a transaction", question, err, aQuestion)
	})
}

func putAgain(t *testing.T, db Database) {
	s := open(t, db)
	write(t, s, putAll)
	run, task, attempt, worker := aRun, aTask, anAttempt, aWorker
	question, account, record, cursor := aQuestion, anAccount, anIdempotencyRecord, aCursor
	run.Status, run.Open, run.Waves = store.Complete, 0, nil
	task.Status, task.Ready, task.NotBefore, task.Labels, task.Spec = store.Running, false, time.Time{}, "", json.RawMessage(`{"prompt":"other"}`)
	attempt.Status, attempt.Lease = store.Complete, at(500)
	worker.Seen, question.Answer, account.Until = at(900), "maybe", time.Time{}
	record.Answer, cursor.Seq = json.RawMessage(`[]`), 13
	item := anItem
	item.Parent, item.Seq, item.Data = "", 99, nil
	worker.Meta, worker.Channels, worker.Status = nil, nil, "idle"
	change := func(tx *store.Tx) {
		tx.PutRun(run)
		tx.PutTask(task)
		tx.PutAttempt(attempt)
		tx.PutWorker(worker)
		tx.PutQuestion(question)
		tx.PutAccount(account)
		tx.PutIdempotencyRecord(record)
		tx.PutCursor(cursor)
		tx.PutItem(item)
	}
	write(t, s, change)
	read(t, s, func(r store.Reader) {
		got, err := r.Run("r1")
		same(t, "run", got, err, run)
		gotTask, err := r.Task(task.TaskKey)
		same(t, "task", gotTask, err, task)
		gotAttempt, err := r.Attempt("x1")
		same(t, "attempt", gotAttempt, err, attempt)
		gotWorker, err := r.Worker("w1")
		same(t, "worker", gotWorker, err, worker)
		gotQuestion, err := r.Question("q1")
		same(t, "question", gotQuestion, err, question)
		gotAccount, err := r.Account("claude")
		same(t, "account", gotAccount, err, account)
		gotRecord, err := r.IdempotencyRecord(record.Key)
		same(t, "idempotency record", gotRecord, err, record)
		gotCursor, err := r.Cursor("recorder")
		same(t, "cursor", gotCursor, err, cursor)
		gotItem, err := r.Item(item.ItemKey)
		same(t, "item", gotItem, err, item)
	})
}

func notFound(t *testing.T, db Database) {
	s := open(t, db)
	write(t, s, putAll)
	missing := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: error is %v, want ErrNotFound", what, err)
		}
	}
	read(t, s, func(r store.Reader) {
		_, err := r.Run("no")
		missing("run", err)
		_, err = r.Task(store.TaskKey{Run: "r1", Task: "no"})
		missing("task", err)
		_, err = r.Attempt("no")
		missing("attempt", err)
		_, err = r.Worker("no")
		missing("worker", err)
		_, err = r.Question("no")
		missing("question", err)
		_, err = r.Account("no")
		missing("account", err)
		_, err = r.IdempotencyRecord("no")
		missing("idempotency record", err)
		_, err = r.Cursor("no")
		missing("cursor", err)
		_, err = r.Item(store.ItemKey{Kind: "note", ID: "no"})
		missing("item", err)
	})
	none := store.ItemKey{Kind: "no", ID: "n1"}
	inTx(t, s, func(tx *store.Tx) {
		_, err := tx.Worker("no")
		missing("worker in a transaction", err)
		_, err = tx.Item(none)
		missing("item in a transaction", err)
		_, err = tx.Run("no")
		missing("run in a transaction", err)
		_, err = tx.Attempt("no")
		missing("attempt in a transaction", err)
		_, err = tx.IdempotencyRecord("no")
		missing("idempotency record in a transaction", err)
		_, err = tx.Task(store.TaskKey{Run: "no", Task: "a"})
		missing("task in a transaction", err)
	})
}

func reopened(t *testing.T, db Database) {
	s := db.Open(t)
	write(t, s, putAll)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
	}
	s = open(t, db)
	read(t, s, func(r store.Reader) { checkAll(t, r) })
	write(t, s, func(tx *store.Tx) {
		if next := tx.NextSeq(); next != 2 {
			t.Errorf("the next event is number %d, want 2", next)
		}
	})
}

func emptyLists(t *testing.T, db Database) {
	s := open(t, db)
	key := store.TaskKey{Run: "r", Task: "t"}
	read(t, s, func(r store.Reader) {
		for what, list := range map[string]func() (int, error){
			"runs":         func() (int, error) { l, err := r.Runs(); return len(l), err },
			"running runs": func() (int, error) { l, err := r.RunningRuns(); return len(l), err },
			"tasks":        func() (int, error) { l, err := r.Tasks("r"); return len(l), err },
			"dependents":   func() (int, error) { l, err := r.Dependents(key); return len(l), err },
			"attempts":     func() (int, error) { l, err := r.Attempts(key); return len(l), err },
			"attempts of":  func() (int, error) { l, err := r.AttemptsOf("r"); return len(l), err },
			"items":        func() (int, error) { l, err := r.Items("k", "", 0, 9); return len(l), err },
			"workers":      func() (int, error) { l, err := r.Workers(); return len(l), err },
			"questions":    func() (int, error) { l, err := r.Questions(false); return len(l), err },
			"accounts":     func() (int, error) { l, err := r.Accounts(); return len(l), err },
			"events":       func() (int, error) { l, err := r.Events(0, 9); return len(l), err },
			"last event":   func() (int, error) { n, err := r.LastSeq(); return int(n), err },
			"claimable": func() (int, error) {
				l, err := r.ClaimableTasks(store.ClaimQuery{Labels: []string{""}, Limit: 9})
				return len(l), err
			},
			"label sets": func() (int, error) { l, err := r.LabelSets(); return len(l), err },
			"waiting":    func() (int, error) { l, err := r.WaitingTasks(store.WaitQuery{Run: "r", Limit: 9}); return len(l), err },
			"delayed":    func() (int, error) { l, err := r.DelayedTasks(at(0), 9); return len(l), err },
			"due":        func() (int, error) { l, err := r.DueAttempts(at(0), 9); return len(l), err },
			"expired":    func() (int, error) { l, err := r.ExpiredQuestions(at(0), 9); return len(l), err },
		} {
			if n, err := list(); n != 0 || err != nil {
				t.Errorf("%s: %d, %v; want none", what, n, err)
			}
		}
	})
}
