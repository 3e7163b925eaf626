package recorder

import (
	"context"

	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/ledger"
)

// writeTogether writes the start and the end of several ended attempts to the ledger in one batch,
// which is faster than one by one. It leaves out tasks for which the ledger already has a record.
// It ignores errors, because the caller later writes each missing record separately and reports its
// error.
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

// runRecords returns the run records of started attempts, which say what was started. It reads the
// tasks' specifications from the store each time, because they may be too large to keep in memory.
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
			// Read the task's attempts only if the prompt of this attempt may depend on them. The
			// prompt of a later attempt may say how the previous attempt failed. If users have sent
			// messages, the attempt's row lists those that its prompt contains.
			if e.number > 1 || t.HasMessages {
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
