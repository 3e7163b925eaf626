package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/internal/engine/store"
)

// Rows holds the rows that can be restored from events, by their keys.
type Rows struct {
	Runs     map[string]store.Run
	Tasks    map[store.TaskKey]store.Task
	Attempts map[string]store.Attempt
}

func newRows() Rows {
	return Rows{map[string]store.Run{}, map[store.TaskKey]store.Task{}, map[string]store.Attempt{}}
}

// Replay restores the runs, tasks and attempts of a store from its events, and compares them with
// the stored rows. It returns an error if they differ. It does not compare data that changes
// without an event. The caller must not have deleted anything from the store. If the function visit
// is not nil, Replay calls it after each event with the rows that were restored so far. If visit
// returns an error, Replay stops and returns this error.
func Replay(r store.Reader, visit func(store.Event, Rows) error) error {
	events, err := r.Events(0, 1<<30)
	if err != nil {
		return err
	}
	replayed := newRows()
	for i, e := range events {
		if e.Seq != int64(i+1) {
			return fmt.Errorf("event %d has the number %d", i+1, e.Seq)
		}
		if err := replayed.apply(e); err != nil {
			return err
		}
		if visit != nil {
			if err := visit(e, replayed); err != nil {
				return err
			}
		}
	}
	stored, err := ReadRows(r)
	if err != nil {
		return err
	}
	want, got := stored.text(), replayed.text()
	if want != got {
		return fmt.Errorf("the events replay to other rows (-stored +replayed):\n%s", cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
	}
	return nil
}

// ReadRows reads all runs, tasks and attempts of a store.
func ReadRows(r store.Reader) (Rows, error) {
	rows := newRows()
	runs, err := r.Runs()
	if err != nil {
		return rows, err
	}
	for _, run := range runs {
		rows.Runs[run.ID] = run
		tasks, err := r.Tasks(run.ID)
		if err != nil {
			return rows, err
		}
		for _, t := range tasks {
			rows.Tasks[t.TaskKey] = t
			attempts, err := r.Attempts(t.TaskKey)
			if err != nil {
				return rows, err
			}
			for _, a := range attempts {
				rows.Attempts[a.ID] = a
			}
		}
	}
	return rows, nil
}

// text returns the rows as text, to compare them. It leaves out data that changes without an event:
// leases, the activity and cost of running attempts, fields about messages and reviews, and the
// counters and sums of runs.
func (rows Rows) text() string {
	var lines []string
	for _, run := range rows.Runs {
		run.Open, run.Ready, run.Active, run.Failed, run.Waves = 0, 0, 0, 0, nil
		run.Reserved, run.Spent = store.Amount{}, store.Amount{}
		run.Worked, run.Waited = 0, 0
		lines = append(lines, line(run))
	}
	for _, t := range rows.Tasks {
		t.HasMessages, t.SentBack = false, false
		lines = append(lines, line(t))
	}
	for _, a := range rows.Attempts {
		a.HasMessages = false
		// The cost and the limit of a running attempt change without an event.
		if !a.Status.Final() {
			a.Spent, a.Counted, a.Limit = store.Amount{}, store.Amount{}, store.Amount{}
		}
		a.Lease, a.State, a.Doing, a.Source, a.Said = time.Time{}, "", "", "", time.Time{}
		lines = append(lines, line(a))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func line(row any) string {
	text, err := json.Marshal(row)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// apply puts the rows that the event e contains into the receiver, rows. Only the first event of a
// run contains the run's plan, and only the first event of a task contains the task's spec. So for
// a later event, apply keeps the plan or the spec that is already in the receiver.
func (rows Rows) apply(e store.Event) error {
	switch kind, _, _ := strings.Cut(e.Kind, "."); kind {
	case "run":
		plan := rows.Runs[e.Run].Plan
		err := put(rows.Runs, e, func(r store.Run) string { return r.ID })
		if run := rows.Runs[e.Run]; run.Plan == nil {
			run.Plan = plan
			rows.Runs[e.Run] = run
		}
		return err
	case "task":
		key := store.TaskKey{Run: e.Run, Task: e.Task}
		spec := rows.Tasks[key].Spec
		err := put(rows.Tasks, e, func(t store.Task) store.TaskKey { return t.TaskKey })
		if t := rows.Tasks[key]; t.Spec == nil {
			t.Spec = spec
			rows.Tasks[key] = t
		}
		if err == nil && e.AttemptRow != nil {
			e.Row = e.AttemptRow
			err = put(rows.Attempts, e, func(a store.Attempt) string { return a.ID })
		}
		return err
	case "attempt":
		return put(rows.Attempts, e, func(a store.Attempt) string { return a.ID })
	}
	return nil
}

func put[K comparable, V any](rows map[K]V, e store.Event, key func(V) K) error {
	var row V
	if err := json.Unmarshal(e.Row, &row); err != nil {
		return fmt.Errorf("event %d: %w", e.Seq, err)
	}
	rows[key(row)] = row
	return nil
}
