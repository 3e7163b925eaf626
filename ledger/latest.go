package ledger

import "context"

// Latest returns the highest recorded attempt number of a task, or 0 if none is recorded. It may be
// higher than the number in the latest record, because other programs overwrite that record and
// count from 1 again. Latest finds such higher numbers only up to the first number that is not
// recorded.
func (s *Store) Latest(bead string) (int, error) {
	if err := CheckBead(bead); err != nil {
		return 0, err
	}
	n, err := s.latest(RunKind, bead)
	if err != nil {
		return 0, err
	}
	if of, err := s.latest(ResultKind, bead); err == nil { // ignore an invalid result record: Finish will return an error for it
		n = max(n, of)
	}
	for s.isKept(RunKind, bead, n+1) || s.isKept(ResultKind, bead, n+1) {
		n++
	}
	return n, nil
}

// latest returns the attempt number in the task's latest record of one kind, or 0 if there is no
// such record.
func (s *Store) latest(kind Kind, bead string) (int, error) {
	record, err := s.load(s.path(kind, bead))
	if err != nil || record == nil {
		return 0, err
	}
	return record.attempt()
}

func (s *Store) isKept(kind Kind, bead string, attempt int) bool {
	_, err := s.host.Lstat(opLook, s.keptPath(kind, bead, attempt))
	return err == nil
}

// Unfinished calls the function visit for every attempt that has a run record and the status
// "running", ordered by task. An attempt without a status counts as running. Unfinished stops at
// the first error of visit and returns it. It never holds all records in memory.
func (s *Store) Unfinished(ctx context.Context, visit func(Attempt) error) error {
	work := func(t task) merged { return mergeTask(s.host, t) }
	return inOrder(ctx, tasks(s.folders()...), work, func(m merged) error {
		for _, a := range m.attempts {
			if a.Status != Running || !a.HasRun {
				continue
			}
			if err := visit(a); err != nil {
				return err
			}
		}
		return nil
	})
}
