package recorder

import (
	"context"

	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/ledger"
)

// writeTogether writes the records of the next ended attempts in one batch. The batch leaves out
// attempts that are not the first at their tasks. The caller later writes all records that are
// missing one by one, and reports their errors. So writeTogether ignores errors.
func (r *Recorder) writeTogether(ctx context.Context) {
	list := r.pending[:min(len(r.pending), lookahead)]
	ends := map[attemptKey]*ledger.Result{}
	for _, e := range list {
		if e.result != nil {
			ends[attemptKey{e.task, e.number}] = e.result
		}
	}
	var at []int
	var begun []entry
	for i, e := range list {
		if e.result == nil && !e.written && ends[attemptKey{e.task, e.number}] != nil {
			at, begun = append(at, i), append(begun, e)
		}
	}
	if len(at) < 2 {
		return
	}
	runs, err := r.runRecords(ctx, begun)
	if err != nil {
		return
	}
	attempts := make([]ledger.FinishedAttempt, len(at))
	for n, i := range at {
		e := list[i]
		attempts[n] = ledger.FinishedAttempt{Run: runs[n], Result: r.withBeadName(e, *ends[attemptKey{e.task, e.number}])}
	}
	recorded, err := r.opts.Ledger.RecordNew(ctx, attempts)
	for n, i := range at {
		if err == nil && recorded[n] {
			list[i].written = true
			r.writtenWithStart[attemptKey{list[i].task, list[i].number}] = true
		}
	}
}

// runRecords returns the run records of started attempts. It reads the tasks' specifications from
// the store each time, because they may be too large to keep in memory.
func (r *Recorder) runRecords(ctx context.Context, begun []entry) ([]ledger.Run, error) {
	runs := make([]ledger.Run, len(begun))
	err := r.opts.Store.Read(ctx, func(from store.Reader) error {
		for i, e := range begun {
			key := store.TaskKey{Run: r.opts.Run, Task: e.task}
			t, err := from.Task(key)
			if err != nil {
				return err
			}
			spec, err := plan.DecodeTask(t.Spec)
			if err != nil {
				return err
			}
			var before *store.Attempt
			var said []string
			if e.number > 1 || t.HasMessages { // read more rows only for a later attempt, or if there are messages
				tries, err := from.Attempts(key)
				if err != nil {
					return err
				}
				for i := range tries {
					switch tries[i].Number {
					case e.number - 1:
						before = &tries[i]
					case e.number:
						if said, err = messagesOf(from, tries[i]); err != nil {
							return err
						}
					}
				}
			}
			runs[i] = e.runOf(r.state.bead(r.opts.Run, e.task), r.opts.Project, spec, before, said)
		}
		return nil
	})
	return runs, err
}
