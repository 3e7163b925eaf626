package postgres

import (
	"bytes"
	"strconv"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/record"
)

// write builds the message that writes a session's changes.
type write struct {
	*session
	message
}

// all adds all changes. It uses one statement for the rows of a kind, or two if some
// are known to exist: an update costs less than an insert that must check for
// conflicts.
func (w *write) all(c store.Changes, after head) {
	w.head(after)
	w.runs(pointers(c.Runs))
	w.tasks(pointers(c.Tasks))
	w.attempts(pointers(c.Attempts))
	w.questions(pointers(c.Questions))
	w.small(c)
	w.items(pointers(c.Items), c.Dropped)
	w.events(pointers(c.Events))
	w.takeAway(c.Gone)
	if len(c.Events) > 0 && w.store.herald.now() {
		w.statement(notify)
		w.text(w.store.channel())
		w.text(strconv.FormatInt(after.seq, 10))
		w.run()
	}
}

func pointers[R any](rows []R) []*R {
	all := make([]*R, len(rows))
	for i := range rows {
		all[i] = &rows[i]
	}
	return all
}

func (w *write) head(after head) {
	class, turn := w.store.turn()
	w.statement(moveHead)
	w.number(after.seq)
	w.number(after.stamp)
	w.number(w.store.known.stamp)
	w.short(class)
	w.short(turn)
	w.run()
}

// rowsOf adds rows as JSON.
func rowsOf[R any](w *write, rows []*R) {
	records(&w.message, rows, func(b []byte, row *R) ([]byte, error) { return w.store.record.Append(b, row) })
}

func (w *write) runs(runs []*store.Run) {
	var known, other, planned []*store.Run
	for _, r := range runs {
		switch {
		case w.Seen.Runs.Has(r.ID):
			known = append(known, r)
			continue
		case r.Plan != nil:
			planned = append(planned, r)
		}
		other = append(other, r)
	}
	if len(known) > 0 {
		w.statement(changeRuns)
		w.runColumns(known)
		w.run()
	}
	if len(other) > 0 {
		w.statement(putRuns)
		w.runColumns(other)
		w.run()
	}
	if len(planned) > 0 {
		w.statement(putPlans)
		texts(&w.message, planned, func(r *store.Run) string { return r.ID })
		raws(&w.message, planned, func(r *store.Run) []byte { return r.Plan })
		w.run()
	}
}

func (w *write) runColumns(runs []*store.Run) {
	texts(&w.message, runs, func(r *store.Run) string { return r.ID })
	texts(&w.message, runs, func(r *store.Run) string { return string(r.Status) })
	numbers(&w.message, runs, func(r *store.Run) int64 { return record.Nanos(r.Created) })
	records(&w.message, runs, func(b []byte, r *store.Run) ([]byte, error) {
		bare := *r
		bare.Plan = nil
		return w.store.record.Append(b, &bare)
	})
}

// tasks leaves out columns that are known to be unchanged: the needs, which never
// change, and the spec and the position in the queue, which hardly ever do.
func (w *write) tasks(tasks []*store.Task) {
	var moved, other []*store.Task
	var needs [][3]string
	for _, t := range tasks {
		before, there := w.Seen.Tasks.Known(t.TaskKey)
		if there && samePlace(&before, t) && bytes.Equal(before.Spec, t.Spec) {
			moved = append(moved, t)
			continue
		}
		other = append(other, t)
		for _, n := range t.Needs {
			needs = append(needs, [3]string{t.Run, n, t.Task})
		}
	}
	if len(moved) > 0 {
		w.statement(moveTasks)
		w.taskColumns(moved)
		w.run()
	}
	if len(other) > 0 {
		w.statement(putTasks)
		w.taskColumns(other)
		w.taskPlaces(other)
		w.run()
	}
	if len(needs) > 0 {
		w.statement(putNeeds)
		texts(&w.message, needs, func(n [3]string) string { return n[0] })
		texts(&w.message, needs, func(n [3]string) string { return n[1] })
		texts(&w.message, needs, func(n [3]string) string { return n[2] })
		w.run()
	}
}

// samePlace reports whether the columns of taskPlaces are the same.
func samePlace(a, b *store.Task) bool {
	return a.Seq == b.Seq && a.Wave == b.Wave && a.Priority == b.Priority && a.Labels == b.Labels && a.Lane == b.Lane
}

func (w *write) taskColumns(tasks []*store.Task) {
	m := &w.message
	texts(m, tasks, func(t *store.Task) string { return t.Run })
	texts(m, tasks, func(t *store.Task) string { return t.Task })
	texts(m, tasks, func(t *store.Task) string { return string(t.Status) })
	bools(m, tasks, func(t *store.Task) bool { return t.Ready })
	bools(m, tasks, (*store.Task).Idle)
	numbersOrNull(m, tasks, func(t *store.Task) *int64 { return record.NanosOrNull(t.NotBefore) })
	records(m, tasks, func(b []byte, t *store.Task) ([]byte, error) {
		bare := *t
		bare.Spec = nil
		return bare.AppendJSON(b)
	})
}

func (w *write) taskPlaces(tasks []*store.Task) {
	m := &w.message
	numbers(m, tasks, func(t *store.Task) int64 { return t.Seq })
	numbers(m, tasks, func(t *store.Task) int64 { return int64(t.Wave) })
	numbers(m, tasks, func(t *store.Task) int64 { return int64(t.Priority) })
	texts(m, tasks, func(t *store.Task) string { return t.Labels })
	texts(m, tasks, func(t *store.Task) string { return t.Lane })
	raws(m, tasks, func(t *store.Task) []byte { return t.Spec })
}

func (w *write) attempts(attempts []*store.Attempt) {
	var known, other []*store.Attempt
	for _, a := range attempts {
		if before, there := w.Seen.Attempts.Known(a.ID); there && before.Started.Equal(a.Started) && before.Key() == a.Key() {
			known = append(known, a)
		} else {
			other = append(other, a)
		}
	}
	if len(known) > 0 {
		w.statement(changeAttempts)
		w.attemptColumns(known)
		w.run()
	}
	if len(other) > 0 {
		w.statement(putAttempts)
		w.attemptColumns(other)
		texts(&w.message, other, func(a *store.Attempt) string { return a.Run })
		texts(&w.message, other, func(a *store.Attempt) string { return a.Task })
		numbers(&w.message, other, func(a *store.Attempt) int64 { return record.Nanos(a.Started) })
		w.run()
	}
}

func (w *write) attemptColumns(attempts []*store.Attempt) {
	m := &w.message
	texts(m, attempts, func(a *store.Attempt) string { return a.ID })
	texts(m, attempts, func(a *store.Attempt) string { return string(a.Status) })
	numbers(m, attempts, func(a *store.Attempt) int64 { return record.Nanos(a.Due()) })
	records(m, attempts, func(b []byte, a *store.Attempt) ([]byte, error) { return a.AppendJSON(b) })
}

func (w *write) questions(questions []*store.Question) {
	if len(questions) == 0 {
		return
	}
	m := &w.message
	w.statement(putQuestions)
	texts(m, questions, func(q *store.Question) string { return q.ID })
	texts(m, questions, func(q *store.Question) string { return q.Attempt })
	bools(m, questions, func(q *store.Question) bool { return q.Closed })
	numbers(m, questions, func(q *store.Question) int64 { return record.Nanos(q.Asked) })
	numbersOrNull(m, questions, func(q *store.Question) *int64 { return record.NanosOrNull(q.Expires) })
	rowsOf(w, questions)
	w.run()
}

// small writes the kinds of rows that are hardly ever searched except by key.
func (w *write) small(c store.Changes) {
	m := &w.message
	if len(c.Workers) > 0 {
		w.statement(putWorkers)
		texts(m, pointers(c.Workers), func(w *store.Worker) string { return w.ID })
		records(m, pointers(c.Workers), func(b []byte, w *store.Worker) ([]byte, error) { return w.AppendJSON(b) })
		w.run()
	}
	if len(c.Lanes) > 0 {
		w.statement(putLanes)
		texts(m, pointers(c.Lanes), func(l *store.Lane) string { return l.Name })
		rowsOf(w, pointers(c.Lanes))
		w.run()
	}
	if len(c.Promises) > 0 {
		w.statement(putPromises)
		texts(m, pointers(c.Promises), func(p *store.Promise) string { return p.Key })
		numbers(m, pointers(c.Promises), func(p *store.Promise) int64 { return record.Nanos(p.Made) })
		rowsOf(w, pointers(c.Promises))
		w.run()
	}
	if len(c.Cursors) > 0 {
		w.statement(putCursors)
		texts(m, pointers(c.Cursors), func(c *store.Cursor) string { return c.Name })
		numbers(m, pointers(c.Cursors), func(c *store.Cursor) int64 { return c.Seq })
		rowsOf(w, pointers(c.Cursors))
		w.run()
	}
}

func (w *write) items(put []*store.Item, dropped []store.ItemKey) {
	m := &w.message
	if len(put) > 0 {
		w.statement(putItems)
		texts(m, put, func(i *store.Item) string { return i.Kind })
		texts(m, put, func(i *store.Item) string { return i.ID })
		texts(m, put, func(i *store.Item) string { return i.Parent })
		numbers(m, put, func(i *store.Item) int64 { return i.Seq })
		records(m, put, func(b []byte, i *store.Item) ([]byte, error) { return i.AppendJSON(b) })
		w.run()
	}
	if len(dropped) > 0 {
		w.statement(dropItems)
		texts(m, dropped, func(k store.ItemKey) string { return k.Kind })
		texts(m, dropped, func(k store.ItemKey) string { return k.ID })
		w.run()
	}
}

func (w *write) events(events []*store.Event) {
	if len(events) == 0 {
		return
	}
	m := &w.message
	w.statement(addEvents)
	numbers(m, events, func(e *store.Event) int64 { return e.Seq })
	records(m, events, func(b []byte, e *store.Event) ([]byte, error) {
		bare := *e
		bare.Row, bare.Tried = nil, nil
		return bare.AppendJSON(b)
	})
	raws(m, events, func(e *store.Event) []byte { return e.Row })
	raws(m, events, func(e *store.Event) []byte { return e.Tried })
	w.run()
}
