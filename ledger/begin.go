package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"gaffer/statefile"
	"gaffer/statefile/jsontree"
)

// Begin writes the run record of an attempt that has started. This becomes the latest run record of
// the task. Begin keeps the previous one under a file name with its attempt number. If a later
// attempt is already recorded, the new record itself gets a file name with its attempt number
// instead.
//
// If the attempt is already recorded with the same values, Begin changes nothing, even if the
// record also contains the outcome of the attempt by now. So a caller may repeat Begin after a
// crash. If the recorded values differ, Begin returns an [*ImmutableError].
//
// Begin accepts a later attempt while an earlier attempt still has the status "running". The
// outcome of the earlier attempt can be recorded later. If the status in run is not Running, Begin
// returns a [*TransitionError].
func (s *Store) Begin(ctx context.Context, run Run) error {
	if run.ResultFile == "" {
		run.ResultFile = s.resultFile(run.Bead)
	}
	if err := CheckBead(run.Bead); err != nil {
		return err
	}
	to := s.path(RunKind, run.Bead)
	if run.Status != Running {
		return &TransitionError{Path: to, To: run.Status}
	}
	data, err := encodeValid(RunKind, to, run)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := statefile.MkdirIgnored(s.host, s.Dir(RunKind)); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	unlock, err := s.lock(ctx, s.Dir(RunKind))
	if err != nil {
		return err
	}
	defer unlock()
	return s.put(RunKind, run.Bead, run.Attempt, data)
}

func (s *Store) resultFile(bead string) string {
	return path.Join(s.opts.Name, ResultKind.folder(), bead+extension)
}

// encodeValid encodes a new record. It returns a RecordError if the record violates the rules of
// its kind (run or result). The parameter path is the path of the record, for the error.
func encodeValid(kind Kind, path string, record any) ([]byte, error) {
	data, err := encode(record)
	if err != nil {
		return nil, err
	}
	doc, err := jsontree.Parse(data)
	if err != nil {
		return nil, err
	}
	c := newCheck(kind, path, false)
	if c.record(doc.Value()); hasInvalid(c.found) {
		return nil, &RecordError{Path: path, Found: onlyInvalid(c.found)}
	}
	return data, nil
}

// put writes data as the record of an attempt. If the task's latest record is that of an earlier
// attempt, put first gives that record a file name with its attempt number. If the process dies
// during put, the earlier record still exists under its old name, its new name or both, and the
// caller can repeat put. If the attempt is already recorded with other values, put returns an
// ImmutableError. The caller must hold the lock of the folder.
func (s *Store) put(kind Kind, bead string, attempt int, data []byte) error {
	latest := s.path(kind, bead)
	now, err := s.load(latest)
	if err != nil {
		return err
	}
	if now == nil {
		return statefile.WriteNew(s.host, latest, data, 0o666)
	}
	number, err := now.attempt()
	switch {
	case err != nil:
		return err
	case number == attempt:
		return s.checkSame(now, kind, attempt, data)
	case number > attempt:
		return s.putLate(kind, bead, attempt, data)
	}
	err = s.keep(latest, s.keptPath(kind, bead, number), now.data)
	// If there is already another file whose name has this attempt number, keep the earlier record
	// as a backup file.
	if errors.Is(err, fs.ErrExist) {
		_, err = s.backup(now)
	}
	if err != nil {
		return err
	}
	return s.replace(now, data)
}

// putLate writes the record of an attempt after a later attempt of the same task was recorded. The
// file name of the record contains the attempt number.
func (s *Store) putLate(kind Kind, bead string, attempt int, data []byte) error {
	kept := s.keptPath(kind, bead, attempt)
	there, err := s.load(kept)
	if err != nil {
		return err
	}
	if there == nil {
		return statefile.WriteNew(s.host, kept, data, 0o666)
	}
	return s.checkSame(there, kind, attempt, data)
}

// checkSame returns an ImmutableError if data differs from the existing record. If the outcome of
// the attempt was added to an existing run record, that does not count as a difference. If there is
// no difference, checkSame syncs the existing record to disk, because the process that wrote it may
// have died before the sync.
func (s *Store) checkSame(existing *document, kind Kind, attempt int, data []byte) error {
	if !bytes.Equal(existing.data, data) && !bytes.Equal(asFirstWritten(kind, existing.value()), data) {
		return &ImmutableError{Path: existing.path, Attempt: attempt, Problem: fmt.Sprintf("attempt %d is recorded with other values", attempt)}
	}
	return statefile.Sync(s.host, existing.path)
}

// asFirstWritten returns the text that the record v had when it was first written. For a run
// record, that is the text without the outcome of the attempt.
func asFirstWritten(kind Kind, v jsontree.Value) []byte {
	var record any
	if kind == RunKind {
		var run Run
		jsontree.Decode(v, &run)
		run.Status, run.FinishedAt, run.DurationSeconds, run.ExitCode = Running, nil, nil, nil
		run.OutputSummary, run.FailureReason, run.Verification = nil, nil, nil
		record = run
	} else {
		var result Result
		jsontree.Decode(v, &result)
		record = result
	}
	data, err := encode(record)
	if err != nil {
		return nil
	}
	return data
}
