package ledger

import "context"

// Latest returns the number of the latest attempt at a task that is recorded, 0
// if there is none.
func (s *Store) Latest(bead string) (int, error) {
	if err := CheckBead(bead); err != nil {
		return 0, err
	}
	run, err := s.load(s.path(RunKind, bead))
	if err != nil || run == nil {
		return 0, err
	}
	return run.attempt()
}

// Unfinished calls each for every attempt that says it is running, in the order
// of tasks. Memory does not grow with the ledger.
func (s *Store) Unfinished(ctx context.Context, each func(Attempt) error) error {
	work := func(t task) merged { return mergeTask(s.host, t) }
	return inOrder(ctx, tasks(s.folders()...), work, func(m merged) error {
		for _, a := range m.attempts {
			if a.Status != Running || !a.HasRun {
				continue
			}
			if err := each(a); err != nil {
				return err
			}
		}
		return nil
	})
}
