package recorder

import (
	"fmt"

	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/ledger"
)

// RecordsOf returns the ledger records of a task's attempts, computed from database rows. It is
// faster than [Records], which reads all events. Two values may differ from the result of Records:
// whether a retry was planned when an attempt ended, and how many retries were allowed when an
// attempt started.
func RecordsOf(reader store.Reader, t store.Task, attempts []store.Attempt, project string, l *ledger.Store) ([]ledger.AttemptRecords, error) {
	spec, err := plan.DecodeTask(t.Spec)
	if err != nil {
		return nil, fmt.Errorf("task %s: %w", t.Task, err)
	}
	as := beadOf(t.Run, t.Task, spec.Dispatch)
	var before *store.Attempt
	pairs := make([]ledger.AttemptRecords, len(attempts))
	for i := range attempts {
		a := &attempts[i]
		e := entry{task: t.Task, number: a.Number, retries: t.Retries, started: a.Started, fallback: a.Fallback}
		said, err := messagesOf(reader, *a)
		if err != nil {
			return nil, err
		}
		pairs[i].Run = e.runOf(as, project, spec, before, said)
		if a.Status.Final() {
			r := resultOf(*a)
			r.Bead, r.Attempt = as.name, as.earlier+a.Number
			r.WillRetry = a.Status != store.Complete && (a.Number < t.Tries || t.Status == store.Queued)
			pairs[i].Result = r
		}
		pairs[i] = l.Completed(pairs[i])
		before = a
	}
	return pairs, nil
}
