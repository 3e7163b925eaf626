package ledger

import (
	"fmt"
	"io/fs"

	"gaffer/statefile/jsontree"
)

// Run returns the run record of an attempt at the task bead. If attempt is 0, it returns the task's
// latest run record. If a JSON field has the wrong type, the field of Run stays zero;
// [Store.Validate] reports such fields. If there is no such record, the error wraps fs.ErrNotExist.
func (s *Store) Run(bead string, attempt int) (Run, error) {
	var r Run
	err := s.read(RunKind, bead, attempt, &r)
	return r, err
}

// Result returns the result record of an attempt at the task bead. If attempt is 0, it returns the
// task's latest result record. It treats errors as [Store.Run] does.
func (s *Store) Result(bead string, attempt int) (Result, error) {
	var r Result
	err := s.read(ResultKind, bead, attempt, &r)
	return r, err
}

func (s *Store) read(kind Kind, bead string, attempt int, into any) error {
	if err := CheckBead(bead); err != nil {
		return err
	}
	find := func() (*document, error) { return s.find(kind, bead, attempt) }
	if attempt == 0 {
		find = func() (*document, error) { return s.load(s.path(kind, bead)) }
	}
	d, err := find()
	if err != nil {
		return err
	}
	if d == nil {
		return fmt.Errorf("%s of bead %s: %w", kind, bead, fs.ErrNotExist)
	}
	jsontree.Decode(d.value(), into)
	return nil
}
