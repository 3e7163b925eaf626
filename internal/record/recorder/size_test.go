package recorder_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memory"
	"gaffer/internal/plan"
	"gaffer/internal/record/recorder"
	"gaffer/internal/testkit/testenv"
	"gaffer/ledger"
	"gaffer/session"
	"gaffer/statefile/host"
)

// The files are not synced to disk, because this test does not measure the disk. script/bench
// compares the durations for ten thousand and for one thousand tasks.
func TestThousandsOfTasksAreRecordedWhileTheyRun(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	const n = 3_000
	m, p := &many{t: t, store: memory.New(), now: time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)}, newProject(t)
	p.ledger = ledger.Open(filepath.Join(p.dir, "state"), ledger.Options{Host: unsynced{host.OS()}})
	m.submit(n)
	r := recorder.New(recorder.Options{
		Store: m.store, Run: runID, Session: p.session, Ledger: p.ledger, Project: "/home/sam/shop",
		Notice: func(text string) { t.Error(text) },
	})
	ended := make(chan error, 1)
	go func() { ended <- r.Run(t.Context()) }()
	for i := range n {
		m.finish(i, n)
	}
	must(t, <-ended)
	must(t, r.Flush(t.Context()))
	files := len(p.files())
	if got := p.status(); got.Status != session.Complete || got.Summary.Complete != n || files != 2*n+1 {
		t.Errorf("%s %+v, %d files", got.Status, got.Summary, files)
	}
}

// many writes the rows and events of a large run directly to a store in memory. With the real
// engine, that store would scan all tasks for each change.
type many struct {
	t     *testing.T
	store *memory.Store
	now   time.Time
}

func (m *many) write(change func(tx *store.Tx)) {
	must(m.t, m.store.Write(context.Background(), func(tx *store.Tx) error {
		change(tx)
		return nil
	}))
}

func (m *many) event(tx *store.Tx, e store.Event, row, tried any) {
	var err error
	e.At, e.Run = m.now, runID
	e.Row, err = json.Marshal(row)
	must(m.t, err)
	if tried != nil {
		e.AttemptRow, err = json.Marshal(tried)
		must(m.t, err)
	}
	tx.Append(e)
}

func (m *many) submit(n int) {
	run := store.Run{ID: runID, Status: store.Running, Source: "orchestrate", Created: m.now}
	m.write(func(tx *store.Tx) {
		tx.PutRun(run)
		m.event(tx, store.Event{Kind: "run.running", To: "running"}, run, nil)
		for i := range n {
			spec, err := json.Marshal(plan.Task{ID: id(i), Agent: "command", Argv: []string{"true"}})
			must(m.t, err)
			task := store.Task{TaskKey: store.TaskKey{Run: runID, Task: id(i)}, Seq: tx.NextSeq(), Spec: spec, Status: store.Queued}
			tx.PutTask(task)
			m.event(tx, store.Event{Kind: "task.queued", Task: task.Task, To: "queued"}, task, nil)
		}
	})
}

func id(i int) string { return fmt.Sprintf("task-%05d", i) }

// finish starts and ends task i of n. After the last task it ends the run.
func (m *many) finish(i, n int) {
	m.now = m.now.Add(time.Second)
	task := store.Task{TaskKey: store.TaskKey{Run: runID, Task: id(i)}, Status: store.Running}
	attempt := store.Attempt{ID: id(i), Run: runID, Task: id(i), Number: 1, Status: store.Running, Started: m.now}
	m.write(func(tx *store.Tx) {
		m.event(tx, store.Event{Kind: "task.running", Task: id(i), From: "queued", To: "running"}, task, attempt)
	})
	task.Status, attempt.Status, attempt.Ended = store.Complete, store.Complete, m.now
	m.write(func(tx *store.Tx) {
		m.event(tx, store.Event{Kind: "task.complete", Task: id(i), From: "running", To: "complete"}, task, attempt)
		if i == n-1 {
			m.event(tx, store.Event{Kind: "run.complete", From: "running", To: "complete"}, store.Run{ID: runID, Status: store.Complete, Ended: m.now}, nil)
		}
	})
}

// unsynced is a host that does not sync files to the disk.
type unsynced struct{ host.Host }

func (unsynced) SyncDir(host.Op, string) error { return nil }

func (u unsynced) Open(op host.Op, name string) (host.File, error) {
	f, err := u.Host.Open(op, name)
	return unsyncedFile{f}, err
}

func (u unsynced) Create(op host.Op, name string, perm fs.FileMode) (host.File, error) {
	f, err := u.Host.Create(op, name, perm)
	return unsyncedFile{f}, err
}

type unsyncedFile struct{ host.File }

func (unsyncedFile) Sync(host.Op) error { return nil }
