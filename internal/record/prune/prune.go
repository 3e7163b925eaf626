// Package prune deletes old rows of the store: runs with all their rows, rows that clients of the
// coordinator protocol have created, such as ended tasks, idempotency records (answers stored for
// repeated requests), questions that belong to no task, workers that have disappeared, and the
// events about all of these.
//
// [Find] finds the old rows, and [Delete] deletes them. Delete uses many small transactions, so
// that other writers need not wait long. It deletes the row of a run first, and then the run's
// other rows. In the meantime the store lists the run as partly deleted. So if the process dies
// half way, the next prune finishes the work. The events of a run or task that stays in the store
// are kept.
package prune

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"gaffer/internal/engine/store"
)

// Retention says which rows are old enough to delete.
type Retention struct {
	Before time.Time // a run is old if it ended before this time
	Now    time.Time
	// KeepLatest is how many runs of each project are kept even if they are old. These are the runs
	// that ended last. 0 keeps none.
	KeepLatest int
	// ReasonToKeep returns why an old run must not be deleted, or "" if it may be deleted. run
	// includes the plan of the run. If ReasonToKeep is nil, every old run may be deleted.
	ReasonToKeep func(r store.Reader, run store.Run) (why string, err error)
	// Protocol finds the old rows that clients of the coordinator protocol have created.
	Protocol ProtocolRows
}

// ProtocolRows finds the rows that clients of the coordinator protocol have created. The protocol
// groups tasks in channels and chains. Each channel or chain is stored as a run. The run does not
// end when all of its tasks have ended.
type ProtocolRows interface {
	// OwnsRun reports whether a run holds the tasks of a channel or a chain of the protocol.
	OwnsRun(run string) bool
	// FindOld returns three kinds of rows that are older than the time before: tasks that have
	// ended, inputs that an agent has claimed, and notes. An input is text or key presses for an
	// agent, and a note is an event of the protocol.
	FindOld(r store.Reader, before time.Time) (OldProtocolRows, error)
}

// OldProtocolRows lists the old rows that clients of the coordinator protocol have created, and
// their tasks that are kept.
type OldProtocolRows struct {
	Tasks []OldTask
	// KeptTasks has the tasks of protocol clients that have not ended or are too recent to delete.
	// The events of these tasks are kept, too.
	KeptTasks map[store.TaskKey]bool
	Inputs    []store.ItemKey // inputs that an agent has claimed
	Notes     []store.ItemKey
}

// OldTask is a protocol client's task that is old enough to delete.
type OldTask struct {
	store.TaskKey
	LastAttempt string // id of the task's last attempt; changes if the task is started again
	Attempts    int
	Inputs      store.ItemList // inputs of the task that no agent has claimed
}

// repeatWithin is how long idempotency records are kept at least. Such a record is the stored
// answer to a request that a client may repeat.
const repeatWithin = 24 * time.Hour

// Found is the result of [Find]: the old rows that [Delete] may delete, and counts of these rows.
type Found struct {
	Before time.Time
	Ended  []store.Run // old runs, without their plans, oldest first
	Spared []Spared
	Kept   int // number of old runs that are kept because of Retention.KeepLatest
	Counts

	// questions has the ids of the questions to delete, by run id. The key "" has the questions
	// that belong to no task.
	questions      map[string][]string
	promisesBefore time.Time // idempotency records that were stored before this time are old
	partlyDeleted  []string  // ids of runs whose deletion an earlier prune did not finish
	protocol       OldProtocolRows
	ownsRun        func(run string) bool // reports whether a run holds the tasks of a channel or a chain of the coordinator protocol
	workers        []string
}

// Spared is an old run that is not deleted. Why is the reason.
type Spared struct{ Run, Why string }

// Counts holds the number of rows of each kind. Inputs and Notes come from clients of the
// coordinator protocol. Promises are idempotency records.
type Counts struct {
	Runs, Tasks, Attempts, Questions, Inputs, Notes, Promises, Workers, Events int
}

// None reports whether all counts are zero.
func (c Counts) None() bool { return c == Counts{} }

// Find returns the old rows in the store. It changes nothing.
func Find(ctx context.Context, s store.Store, r Retention) (f Found, err error) {
	err = s.Read(ctx, func(from store.Reader) error {
		f = Found{Before: r.Before, ownsRun: r.Protocol.OwnsRun, promisesBefore: r.Now.Add(-repeatWithin), questions: map[string][]string{}}
		l := &search{Reader: from, Retention: r, found: &f, keptRuns: map[string]bool{}, deletableRuns: map[string]bool{}}
		for _, look := range []func() error{l.findRuns, l.findPartlyDeleted, l.countRunRows, l.findProtocolRows, l.findWorkers, l.countPromises, l.countEvents} {
			if err := look(); err != nil {
				return err
			}
		}
		return nil
	})
	return f, err
}

// search holds the state of one call of [Find].
type search struct {
	store.Reader
	Retention
	found         *Found
	keptRuns      map[string]bool // ids of the runs that are kept
	deletableRuns map[string]bool // ids of the runs that will be deleted
}

// skew is larger than any difference between the clocks of two machines that use the same store. A
// run's times of creation and end may come from different clocks.
const skew = 24 * time.Hour

func (l *search) findRuns() error {
	all, err := l.RunsBefore(l.Before.Add(skew))
	if err != nil {
		return err
	}
	kept, err := l.latestRuns()
	if err != nil {
		return err
	}
	for _, run := range all {
		why, isOld := "", endedBefore(run, l.Before)
		switch {
		case isOld && kept[run.ID]:
			l.found.Kept++
		case isOld:
			if why, err = l.reasonToKeep(run.ID); err != nil {
				return err
			}
			if why == "" {
				l.found.Ended, l.deletableRuns[run.ID] = append(l.found.Ended, run), true
				continue
			}
			l.found.Spared = append(l.found.Spared, Spared{run.ID, why})
		}
		l.keptRuns[run.ID] = true
	}
	l.found.Runs = len(l.found.Ended)
	return nil
}

// endedBefore reports whether a run has ended before the time cutoff.
func endedBefore(run store.Run, cutoff time.Time) bool {
	return run.Status.Final() && run.Ended.Before(cutoff)
}

func (l *search) reasonToKeep(id string) (string, error) {
	if l.ReasonToKeep == nil {
		return "", nil
	}
	run, err := l.Run(id)
	if err != nil {
		return "", err
	}
	return l.ReasonToKeep(l.Reader, run)
}

// latestRuns returns the ids of the KeepLatest runs of each project that ended last.
func (l *search) latestRuns() (map[string]bool, error) {
	kept := map[string]bool{}
	if l.KeepLatest <= 0 {
		return kept, nil
	}
	all, err := l.RunsBefore(l.Now.Add(skew))
	all = slices.DeleteFunc(all, func(r store.Run) bool { return !r.Status.Final() })
	slices.SortFunc(all, func(a, b store.Run) int { return cmp.Or(b.Ended.Compare(a.Ended), cmp.Compare(b.ID, a.ID)) })
	seen := map[string]int{}
	for _, run := range all {
		if seen[run.Project]++; seen[run.Project] <= l.KeepLatest {
			kept[run.ID] = true
		}
	}
	return kept, err
}

// findPartlyDeleted finds the runs whose deletion an earlier prune did not finish.
func (l *search) findPartlyDeleted() error {
	marks, err := l.Items(markKind, "", math.MinInt64, math.MaxInt32)
	for _, mark := range marks {
		l.found.partlyDeleted = append(l.found.partlyDeleted, mark.ID)
	}
	return err
}

// countRunRows counts the rows of the runs that can be deleted, and finds the questions that can be
// deleted.
func (l *search) countRunRows() error {
	ids := slices.Clone(l.found.partlyDeleted)
	for _, run := range l.found.Ended {
		ids = append(ids, run.ID)
	}
	questions, err := l.Questions(false)
	if err != nil {
		return err
	}
	for _, q := range questions {
		if l.deletableRuns[q.Run] || slices.Contains(l.found.partlyDeleted, q.Run) || q.Standalone() && q.Expires.Before(l.Before) {
			l.found.questions[q.Run] = append(l.found.questions[q.Run], q.ID)
		}
	}
	c := &l.found.Counts
	c.Questions += len(l.found.questions[""])
	for _, id := range ids {
		tasks, err := l.Tasks(id)
		if err != nil {
			return err
		}
		attempts, err := l.AttemptsOf(id)
		if err != nil {
			return err
		}
		c.Tasks, c.Attempts, c.Questions = c.Tasks+len(tasks), c.Attempts+len(attempts), c.Questions+len(l.found.questions[id])
	}
	return nil
}

func (l *search) findProtocolRows() (err error) {
	f := l.found
	f.protocol, err = l.Protocol.FindOld(l, l.Before)
	f.Tasks, f.Inputs, f.Notes = f.Tasks+len(f.protocol.Tasks), len(f.protocol.Inputs), len(f.protocol.Notes)
	for _, t := range f.protocol.Tasks {
		f.Attempts += t.Attempts
	}
	return err
}

// findWorkers finds workers that have neither sent a heartbeat nor changed since l.Before, and are
// running no attempt.
func (l *search) findWorkers() error {
	running, err := store.RunningAttempts(l)
	if err != nil {
		return err
	}
	busy := map[string]bool{}
	for _, a := range running {
		busy[a.Worker] = true
	}
	all, err := l.Workers()
	for _, w := range all {
		if silentSince(w, l.Before) && !busy[w.ID] {
			l.found.workers = append(l.found.workers, w.ID)
		}
	}
	l.found.Workers = len(l.found.workers)
	return err
}

func silentSince(w store.Worker, since time.Time) bool {
	return w.Seen.Before(since) && w.Updated.Before(since)
}

func (l *search) countPromises() error {
	return eachPromise(l, l.found.promisesBefore, func(p store.IdempotencyRecord) error {
		gone, err := isExpired(l, p, func(run string) bool { return l.deletableRuns[run] })
		if gone {
			l.found.Promises++
		}
		return err
	})
}

func (l *search) countEvents() error {
	last, err := l.LastSeq()
	if err != nil {
		return err
	}
	for after := int64(0); ; {
		page, err := l.EventsWithoutRows(after, eventsPerWrite)
		if err != nil {
			return err
		}
		for _, e := range page {
			after = e.Seq
			if !e.At.Before(l.Before) {
				return nil
			}
			if e.Seq < last && l.found.orphan(e, l.keptRuns) {
				l.found.Events++
			}
		}
		if len(page) < eventsPerWrite {
			return nil
		}
	}
}

// orphan reports whether an old event may be deleted. That is so if the event belongs to no run, if
// its run no longer exists, or if its task was created by a client of the coordinator protocol and
// is not in KeptTasks. existingRuns has the ids of existing runs.
func (f *Found) orphan(e store.Event, existingRuns map[string]bool) bool {
	switch {
	case e.Run == "" || !existingRuns[e.Run]:
		return true
	case f.ownsRun(e.Run) && e.Task != "":
		return !f.protocol.KeptTasks[store.TaskKey{Run: e.Run, Task: e.Task}]
	}
	return false
}

// DeletedUpTo returns the highest sequence number of all deleted events, or 0 if no event was
// deleted yet. A reader that continues after a lower sequence number may miss events.
func DeletedUpTo(r store.Reader) (int64, error) {
	c, err := r.Cursor(deletedUpToCursor)
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	return c.Seq, err
}

// deletedUpToCursor is the name of the store's cursor that [DeletedUpTo] reads.
const deletedUpToCursor = "pruned"
