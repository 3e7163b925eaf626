package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gaffer/fleet"

	"gaffer/internal/engine/store"
)

var texts = map[string]func(*testing.T, Database){
	"texts may contain any bytes":                   oddTexts,
	"keys may contain any valid text":               oddKeys,
	"a key that a database cannot store is refused": badKeys,
	"rows may be large":                             bigRows,
	"times are read as they were written":           oddTimes,
}

var odd = []string{
	"", " ", "'", `"`, `\`, "%_", "$1", "?", "a\nb\tc\r", "<b>&amp;</b>", "é漢字🤖", "\u2028", "\u007f\x01", "NULL", "a,b", "--", "{}", "'; DROP TABLE task; --",
}

func oddTexts(t *testing.T, db Database) {
	s := open(t, db)
	all := append([]string{"zero \x00 byte", "\x00"}, odd...)
	write(t, s, func(tx *store.Tx) {
		for i, text := range all {
			id := fmt.Sprint(i)
			tx.PutAttempt(store.Attempt{ID: id, Ending: fleet.Ending{Summary: text, Class: fleet.Class(text)}})
			tx.PutTask(store.Task{TaskKey: store.TaskKey{Run: "r", Task: id}, Name: text, Outcome: text, Spec: quoted(t, text)})
			tx.PutRun(store.Run{ID: id, Name: text, Plan: quoted(t, text)})
			tx.PutAccount(store.Account{Name: id, Reason: text})
			tx.Append(store.Event{Kind: "k", Why: text, Who: text, Row: quoted(t, text)})
		}
	})
	read(t, s, func(r store.Reader) {
		for i, text := range all {
			id := fmt.Sprint(i)
			attempt, err := r.Attempt(id)
			same(t, "summary", attempt.Summary, err, text)
			task, err := r.Task(store.TaskKey{Run: "r", Task: id})
			same(t, "outcome", task.Outcome, err, text)
			same(t, "spec", string(task.Spec), err, string(quoted(t, text)))
			run, err := r.Run(id)
			same(t, "name", run.Name, err, text)
			same(t, "plan", string(run.Plan), err, string(quoted(t, text)))
			events, err := r.Events(int64(i), 1)
			same(t, "why", events[0].Why, err, text)
			var row string
			same(t, "row", json.Unmarshal(events[0].Row, &row) == nil && row == text, nil, true)
		}
	})
}

func quoted(t *testing.T, text string) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func oddKeys(t *testing.T, db Database) {
	s := open(t, db)
	write(t, s, func(tx *store.Tx) {
		for _, key := range odd {
			tx.PutRun(store.Run{ID: key, Name: key})
			tx.PutTask(store.Task{TaskKey: store.TaskKey{Run: key, Task: key}, Name: key, Labels: key, Account: key, Ready: true, Status: store.Queued, Needs: []string{key}})
			tx.PutAttempt(store.Attempt{ID: key, Run: key, Task: key, Ending: fleet.Ending{Summary: key}})
			tx.PutIdempotencyRecord(store.IdempotencyRecord{Key: key, Answer: quoted(t, key)})
			tx.PutWorker(store.Worker{ID: key, Status: key})
			tx.PutItem(store.Item{ItemKey: store.ItemKey{Kind: key, ID: key}, Parent: key, Seq: 1, Data: quoted(t, key)})
		}
	})
	inTx(t, s, func(tx *store.Tx) {
		for _, key := range odd {
			worker, err := tx.Worker(key)
			same(t, "worker", worker.Status, err, key)
			item, err := tx.Item(store.ItemKey{Kind: key, ID: key})
			same(t, "item", string(item.Data), err, string(quoted(t, key)))
			listed, err := tx.Items(key, key, 0, 9)
			same(t, "items", len(listed), err, 1)
			run, err := tx.Run(key)
			same(t, "run", run.Name, err, key)
			task, err := tx.Task(store.TaskKey{Run: key, Task: key})
			same(t, "task", task.Name, err, key)
			attempt, err := tx.Attempt(key)
			same(t, "attempt", attempt.Summary, err, key)
			promise, err := tx.IdempotencyRecord(key)
			same(t, "promise", string(promise.Answer), err, string(quoted(t, key)))
			list, err := tx.Dependents(task.TaskKey)
			same(t, "dependents", names(list, taskName), err, key)
			list, err = tx.ClaimableTasks(store.ClaimQuery{Labels: []string{key}, Limit: 9})
			same(t, "claimable", names(list, taskName), err, key)
			list, err = tx.ClaimableTasks(store.ClaimQuery{Labels: []string{key}, PausedAccounts: []string{key}, Limit: 9})
			same(t, "paused", names(list, taskName), err, "")
		}
	})
}

func badKeys(t *testing.T, db Database) {
	s := open(t, db)
	for _, bad := range []string{"a\x00b", "a\xffb"} {
		for what, put := range map[string]func(tx *store.Tx){
			"run":      func(tx *store.Tx) { tx.PutRun(store.Run{ID: bad}) },
			"task":     func(tx *store.Tx) { tx.PutTask(store.Task{TaskKey: store.TaskKey{Run: "r", Task: bad}}) },
			"labels":   func(tx *store.Tx) { tx.PutTask(store.Task{Labels: bad}) },
			"needs":    func(tx *store.Tx) { tx.PutTask(store.Task{Needs: []string{bad}}) },
			"attempt":  func(tx *store.Tx) { tx.PutAttempt(store.Attempt{ID: bad}) },
			"question": func(tx *store.Tx) { tx.PutQuestion(store.Question{ID: bad}) },
			"worker":   func(tx *store.Tx) { tx.PutWorker(store.Worker{ID: bad}) },
			"lane":     func(tx *store.Tx) { tx.PutAccount(store.Account{Name: bad}) },
			"promise":  func(tx *store.Tx) { tx.PutIdempotencyRecord(store.IdempotencyRecord{Key: bad}) },
			"cursor":   func(tx *store.Tx) { tx.PutCursor(store.Cursor{Name: bad}) },
			"item":     func(tx *store.Tx) { tx.PutItem(store.Item{ItemKey: store.ItemKey{Kind: "k", ID: bad}}) },
			"parent":   func(tx *store.Tx) { tx.PutItem(store.Item{Parent: bad}) },
			"event":    func(tx *store.Tx) { tx.Append(store.Event{Task: bad}) },
		} {
			err := s.Write(t.Context(), func(tx *store.Tx) error {
				tx.PutWorker(store.Worker{ID: "beside"})
				put(tx)
				return nil
			})
			var refused *store.KeyError
			if !errors.As(err, &refused) {
				t.Errorf("%s %q: error is %v, want a KeyError", what, bad, err)
			}
		}
	}
	inTx(t, s, func(tx *store.Tx) {
		if _, err := tx.Worker("beside"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("what was put beside a bad key: %v, want ErrNotFound", err)
		}
	})
}

func bigRows(t *testing.T, db Database) {
	s := open(t, db)
	big := strings.Repeat("a long prompt\n", 1<<20/14)
	for range 2 { // the first round inserts the rows, and the second updates them
		write(t, s, func(tx *store.Tx) {
			tx.PutRun(store.Run{ID: "r", Plan: quoted(t, big)})
			tx.PutTask(store.Task{TaskKey: store.TaskKey{Run: "r", Task: "a"}, Spec: quoted(t, big), Outcome: big})
			tx.PutAttempt(store.Attempt{ID: "x", Run: "r", Task: "a", Ending: fleet.Ending{Summary: big}})
			tx.Append(store.Event{Kind: "k", Run: "r", Row: quoted(t, big)})
		})
	}
	read(t, s, func(r store.Reader) {
		run, err := r.Run("r")
		same(t, "plan", string(run.Plan) == string(quoted(t, big)), err, true)
		task, err := r.Task(store.TaskKey{Run: "r", Task: "a"})
		same(t, "spec", string(task.Spec) == string(quoted(t, big)), err, true)
		attempt, err := r.Attempt("x")
		same(t, "summary", attempt.Summary == big, err, true)
		events, err := r.Events(1, 1)
		same(t, "event", string(events[0].Row) == string(quoted(t, big)), err, true)
	})
}

func oddTimes(t *testing.T, db Database) {
	s := open(t, db)
	zone := time.FixedZone("", -(3*60+30)*60)
	times := []time.Time{
		{},
		at(0), at(0).In(zone), time.Unix(0, 0).UTC(), time.Unix(0, -1).UTC(), time.Date(1200, 1, 1, 0, 0, 0, 1, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC),
	}
	write(t, s, func(tx *store.Tx) {
		for i, when := range times {
			id := fmt.Sprint(i)
			tx.PutRun(store.Run{ID: id, Status: store.Running, Created: when, Ended: when})
			tx.PutAttempt(store.Attempt{ID: id, Run: "r", Task: "t", Status: store.Running, Started: when, Lease: when, Deadline: when})
			tx.PutTask(store.Task{TaskKey: store.TaskKey{Run: "r", Task: id}, Seq: int64(i), Status: store.Queued, NotBefore: when})
			tx.PutQuestion(store.Question{ID: id, Asked: when, Expires: when})
			tx.Append(store.Event{Kind: id, At: when})
		}
	})
	read(t, s, func(r store.Reader) {
		for i, when := range times {
			run, err := r.Run(fmt.Sprint(i))
			same(t, "created", run.Created, err, when)
			attempt, err := r.Attempt(fmt.Sprint(i))
			same(t, "lease", attempt.Lease, err, when)
			events, err := r.Events(int64(i), 1)
			same(t, "at", events[0].At, err, when)
		}
		runs, err := r.Runs()
		same(t, "runs", names(runs, runName), err, "0 5 4 3 1 2 6")
		list, err := r.DueAttempts(at(1), 9)
		same(t, "due", names(list, attemptName), err, "0 5 4 3 1 2")
		tasks, err := r.DelayedTasks(at(0), 9)
		same(t, "delayed", names(tasks, taskName), err, "5 4 3 1 2")
		questions, err := r.ExpiredQuestions(at(1), 9)
		same(t, "expired", names(questions, questionName), err, "5 4 3 1 2")
	})
}
