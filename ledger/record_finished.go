package ledger

import (
	"context"
	"errors"
	"fmt"

	"gaffer/statefile/jsontree"
)

// Record records a finished attempt, like [Store.Begin] followed by [Store.Finish]. The status of
// the parameter run must be Running, as for Begin, although the attempt has ended. If the task has
// no run record yet, Record writes each file only once, which is faster. A caller that sets
// r.FinishedAt may repeat Record after a crash.
func (s *Store) Record(ctx context.Context, run Run, r Result) error {
	fresh, err := s.record(ctx, run, r)
	if err != nil || fresh {
		return err
	}
	if err := s.Begin(ctx, run); err != nil {
		return err
	}
	_, err = s.Finish(ctx, r)
	return err
}

// record writes the run record and the result record of an attempt. But if the task already has a
// run record, it writes nothing and returns false.
func (s *Store) record(ctx context.Context, run Run, r Result) (bool, error) {
	if err := errors.Join(CheckBead(run.Bead), CheckBead(r.Bead)); err != nil {
		return false, err
	}
	unlock, err := s.lockAll(ctx)
	if err != nil {
		return false, fmt.Errorf("record: %w", err)
	}
	defer unlock()
	if there, err := s.load(s.path(RunKind, run.Bead)); there != nil || err != nil {
		return false, err
	}
	return s.recordFresh(run, r)
}

func (s *Store) recordFresh(run Run, r Result) (bool, error) {
	if run.ResultFile == "" {
		run.ResultFile = s.resultFile(run.Bead)
	}
	to := s.path(RunKind, run.Bead)
	if run.Status != Running {
		return false, &TransitionError{Path: to, To: run.Status}
	}
	begun, err := encodeValid(RunKind, to, run)
	if err != nil {
		return false, fmt.Errorf("record: %w", err)
	}
	doc, err := jsontree.Parse(begun)
	if err != nil {
		return false, err
	}
	r = fillResult(r, run, nil, s.opts.Now())
	if err := complete(doc.Root(), to, r); err != nil {
		return false, err
	}
	result, err := encodeValid(ResultKind, s.path(ResultKind, r.Bead), r)
	if err = errors.Join(err, doc.Err()); err != nil {
		return false, fmt.Errorf("record: %w", err)
	}
	if err := s.put(ResultKind, r.Bead, r.Attempt, result); err != nil {
		return false, err
	}
	return true, s.put(RunKind, run.Bead, run.Attempt, doc.Bytes())
}
