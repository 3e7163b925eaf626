package postgres

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5/pgproto3"

	"gaffer/internal/store"
	"gaffer/internal/store/record"
)

// write is the statements that write changes, as they are sent.
type write struct {
	*session
	message []byte
	err     error // the first
}

// all adds what changes. All rows of a kind are one statement.
func (w *write) all(c store.Changes, after head) {
	class, turn := w.store.turn()
	w.add(moveHead, number(after.seq), number(after.stamp), number(w.store.known.stamp), short(class), short(turn))
	w.runs(c.Runs)
	w.tasks(c.Tasks)
	w.attempts(c.Attempts)
	w.questions(c.Questions)
	w.small(c)
	w.events(c.Events)
	if len(c.Events) > 0 && w.store.herald.now() {
		w.add(notify, []byte(w.store.channel()), strconv.AppendInt(nil, after.seq, 10))
	}
}

// add adds a statement.
func (w *write) add(s statement, params ...[]byte) {
	w.encode(&pgproto3.Bind{PreparedStatement: s.name, ParameterFormatCodes: []int16{1}, Parameters: params})
	w.encode(&pgproto3.Execute{})
}

// sync adds an end, up to which all that follow an error are passed over.
func (w *write) sync() { w.encode(&pgproto3.Sync{}) }

func (w *write) encode(m pgproto3.FrontendMessage) {
	message, err := m.Encode(w.message)
	if err != nil {
		w.fail(err)
		return
	}
	w.message = message
}

func (w *write) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// rowsOf returns rows as JSON.
func rowsOf[R any](w *write, rows []R) []byte {
	return texts(rows, func(row *R) string {
		text, err := w.store.record.Text(row)
		if err != nil {
			w.fail(err)
		}
		return text
	})
}

func (w *write) runs(runs []store.Run) {
	if len(runs) == 0 {
		return
	}
	var planned []store.Run
	runs = slices.Clone(runs)
	for i, r := range runs {
		if r.Plan != nil && !w.Seen.Runs.Has(r.ID) {
			planned = append(planned, r)
		}
		runs[i].Plan = nil
	}
	w.add(putRuns,
		texts(runs, func(r *store.Run) string { return r.ID }),
		texts(runs, func(r *store.Run) string { return string(r.Status) }),
		numbers(runs, func(r *store.Run) int64 { return record.Nanos(r.Created) }),
		rowsOf(w, runs))
	if len(planned) > 0 {
		w.add(putPlans,
			texts(planned, func(r *store.Run) string { return r.ID }),
			raws(planned, func(r *store.Run) []byte { return r.Plan }))
	}
}

// tasks leaves out what is known to be there: the needs, which never change, and
// the spec, which hardly ever does.
func (w *write) tasks(tasks []store.Task) {
	var known, other []store.Task
	var specs [][]byte
	var needs [][3]string
	for _, t := range tasks {
		before, there := w.Seen.Tasks.Known(t.TaskKey)
		spec := t.Spec
		t.Spec = nil
		if there && bytes.Equal(before.Spec, spec) {
			known = append(known, t)
			continue
		}
		other, specs = append(other, t), append(specs, spec)
		for _, n := range t.Needs {
			needs = append(needs, [3]string{t.Run, n, t.Task})
		}
	}
	if len(known) > 0 {
		w.add(changeTasks, w.taskColumns(known)...)
	}
	if len(other) > 0 {
		w.add(putTasks, append(w.taskColumns(other), raws(specs, func(spec *[]byte) []byte { return *spec }))...)
	}
	if len(needs) > 0 {
		w.add(putNeeds,
			texts(needs, func(n *[3]string) string { return n[0] }),
			texts(needs, func(n *[3]string) string { return n[1] }),
			texts(needs, func(n *[3]string) string { return n[2] }))
	}
}

func (w *write) taskColumns(tasks []store.Task) [][]byte {
	return [][]byte{
		texts(tasks, func(t *store.Task) string { return t.Run }),
		texts(tasks, func(t *store.Task) string { return t.Task }),
		numbers(tasks, func(t *store.Task) int64 { return t.Seq }),
		texts(tasks, func(t *store.Task) string { return string(t.Status) }),
		bools(tasks, func(t *store.Task) bool { return t.Ready }),
		bools(tasks, func(t *store.Task) bool { return record.Idle(*t) }),
		numbers(tasks, func(t *store.Task) int64 { return int64(t.Wave) }),
		numbersOrNull(tasks, func(t *store.Task) *int64 { return record.NanosOrNull(t.NotBefore) }),
		numbers(tasks, func(t *store.Task) int64 { return int64(t.Priority) }),
		texts(tasks, func(t *store.Task) string { return t.Labels }),
		texts(tasks, func(t *store.Task) string { return t.Lane }),
		rowsOf(w, tasks),
	}
}

func (w *write) attempts(attempts []store.Attempt) {
	if len(attempts) == 0 {
		return
	}
	w.add(putAttempts,
		texts(attempts, func(a *store.Attempt) string { return a.ID }),
		texts(attempts, func(a *store.Attempt) string { return a.Run }),
		texts(attempts, func(a *store.Attempt) string { return a.Task }),
		texts(attempts, func(a *store.Attempt) string { return string(a.Status) }),
		numbers(attempts, func(a *store.Attempt) int64 { return record.Nanos(a.Started) }),
		numbers(attempts, func(a *store.Attempt) int64 { return record.Nanos(a.Due()) }),
		rowsOf(w, attempts))
}

func (w *write) questions(questions []store.Question) {
	if len(questions) == 0 {
		return
	}
	w.add(putQuestions,
		texts(questions, func(q *store.Question) string { return q.ID }),
		texts(questions, func(q *store.Question) string { return q.Attempt }),
		bools(questions, func(q *store.Question) bool { return q.Closed }),
		numbers(questions, func(q *store.Question) int64 { return record.Nanos(q.Asked) }),
		numbersOrNull(questions, func(q *store.Question) *int64 { return record.NanosOrNull(q.Expires) }),
		rowsOf(w, questions))
}

// small writes the rows of which hardly anything but the key is looked for.
func (w *write) small(c store.Changes) {
	if len(c.Workers) > 0 {
		w.add(putWorkers,
			texts(c.Workers, func(w *store.Worker) string { return w.ID }),
			rowsOf(w, c.Workers))
	}
	if len(c.Lanes) > 0 {
		w.add(putLanes,
			texts(c.Lanes, func(l *store.Lane) string { return l.Name }),
			rowsOf(w, c.Lanes))
	}
	if len(c.Promises) > 0 {
		w.add(putPromises,
			texts(c.Promises, func(p *store.Promise) string { return p.Key }),
			numbers(c.Promises, func(p *store.Promise) int64 { return record.Nanos(p.Made) }),
			rowsOf(w, c.Promises))
	}
	if len(c.Cursors) > 0 {
		w.add(putCursors,
			texts(c.Cursors, func(c *store.Cursor) string { return c.Name }),
			numbers(c.Cursors, func(c *store.Cursor) int64 { return c.Seq }),
			rowsOf(w, c.Cursors))
	}
}

func (w *write) events(events []store.Event) {
	if len(events) == 0 {
		return
	}
	bare := slices.Clone(events)
	for i := range bare {
		bare[i].Row, bare[i].Tried = nil, nil
	}
	w.add(addEvents,
		numbers(events, func(e *store.Event) int64 { return e.Seq }),
		numbers(events, func(e *store.Event) int64 { return record.Nanos(e.At) }),
		texts(events, func(e *store.Event) string { return e.Kind }),
		texts(events, func(e *store.Event) string { return e.Run }),
		texts(events, func(e *store.Event) string { return e.Task }),
		rowsOf(w, bare),
		raws(events, func(e *store.Event) []byte { return e.Row }),
		raws(events, func(e *store.Event) []byte { return e.Tried }))
}
