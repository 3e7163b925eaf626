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

// Begin records that an attempt starts. It becomes the latest record of its
// task, after the present one was kept under its own number. An attempt that
// is recorded already with the same values, whether or not it has ended since,
// is left as it is, so that a caller may repeat itself after a crash; with
// other values the error is an [*ImmutableError].
//
// Beginning a later attempt while an earlier one says "running" is allowed: its
// end may still be recorded.
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

// encodeValid returns a new record as a document, held to its rules.
func encodeValid(kind Kind, to string, record any) ([]byte, error) {
	data, err := encode(record)
	if err != nil {
		return nil, err
	}
	doc, err := jsontree.Parse(data)
	if err != nil {
		return nil, err
	}
	c := newCheck(kind, to, false)
	if c.record(doc.Value()); hasInvalid(c.found) {
		return nil, &RecordError{Path: to, Found: onlyInvalid(c.found)}
	}
	return data, nil
}

// put makes data the record of an attempt. A crash after any step leaves the
// present record under its old name, its new name or both, and putting again
// goes on from there. The folder's lock is held.
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
		return s.mustSay(now, kind, attempt, data)
	case number > attempt:
		return s.putLate(kind, bead, attempt, data)
	}
	err = s.keep(latest, s.keptPath(kind, bead, number), now.data)
	if errors.Is(err, fs.ErrExist) { // another program began or ended this attempt once more
		_, err = s.backup(now)
	}
	if err != nil {
		return err
	}
	return s.replace(now, data)
}

// putLate records an attempt that others have followed already.
func (s *Store) putLate(kind Kind, bead string, attempt int, data []byte) error {
	kept := s.keptPath(kind, bead, attempt)
	there, err := s.load(kept)
	if err != nil {
		return err
	}
	if there == nil {
		return statefile.WriteNew(s.host, kept, data, 0o666)
	}
	return s.mustSay(there, kind, attempt, data)
}

// mustSay refuses what would change a record that is there, and makes sure that
// what is there is durable: whoever wrote it may have died before that.
func (s *Store) mustSay(there *document, kind Kind, attempt int, data []byte) error {
	if !bytes.Equal(there.data, data) && !bytes.Equal(said(kind, there.value()), data) {
		return &ImmutableError{Path: there.path, Attempt: attempt, Problem: fmt.Sprintf("attempt %d is recorded with other values", attempt)}
	}
	return statefile.Sync(s.host, there.path)
}

// said returns a record as it was written at first: of a run, before its end
// was known.
func said(kind Kind, v jsontree.Value) []byte {
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
