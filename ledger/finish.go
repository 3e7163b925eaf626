package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"gaffer/statefile"
	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"
)

// Finish records the end of an attempt. It first writes the result record, and then adds the
// outcome to the run record. If the process dies in between, the caller should repeat Finish or
// call [Store.Fix]: both copy the outcome to the run record. Finish fills empty fields of r from
// the run record and the clock, and returns the result as it was recorded. If the attempt has no
// run record, Finish returns a [*NoRunError]. If the end of the attempt is already recorded with
// other values, Finish also returns an error.
func (s *Store) Finish(ctx context.Context, r Result) (Result, error) {
	if err := CheckBead(r.Bead); err != nil {
		return Result{}, err
	}
	unlock, err := s.lockAll(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("finish: %w", err)
	}
	defer unlock()
	return s.finish(r)
}

func (s *Store) finish(r Result) (Result, error) {
	run, err := s.find(RunKind, r.Bead, r.Attempt)
	if err != nil {
		return Result{}, err
	}
	if run == nil {
		return Result{}, &NoRunError{Bead: r.Bead, Attempt: r.Attempt}
	}
	before, err := s.find(ResultKind, r.Bead, r.Attempt)
	if err != nil {
		return Result{}, err
	}
	var of Run
	jsontree.Decode(run.value(), &of)
	r = fillResult(r, of, before, s.opts.Now())
	data, err := encodeValid(ResultKind, s.path(ResultKind, r.Bead), r)
	if err != nil {
		return Result{}, fmt.Errorf("finish: %w", err)
	}
	if err := complete(run.doc.Root(), run.path, r); err != nil {
		return Result{}, err
	}
	if err := run.doc.Err(); err != nil {
		return Result{}, fmt.Errorf("%s: %w", run.path, err)
	}
	if err := s.put(ResultKind, r.Bead, r.Attempt, data); err != nil {
		return Result{}, err
	}
	return r, s.writeEnd(run, r.Bead)
}

// writeEnd writes a new version of the run record run to disk. The caller has added the end of the
// attempt to run.doc. An interrupted Begin of a later attempt may have created a second hard link
// to the old version. writeEnd removes that link first, because the old version says "running".
func (s *Store) writeEnd(run *document, bead string) error {
	data := run.doc.Bytes()
	if bytes.Equal(data, run.data) {
		return statefile.Sync(s.host, run.path)
	}
	attempt, err := run.attempt()
	if err != nil {
		return err
	}
	if run.path == s.path(RunKind, bead) {
		if err := s.dropCopy(s.keptPath(RunKind, bead, attempt), run.data); err != nil {
			return err
		}
	}
	return s.replace(run, data)
}

func (s *Store) dropCopy(path string, data []byte) error {
	there, err := statefile.ReadBytes(s.host, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return &statefile.StepError{Step: opDropCopy, Path: path, Err: err}
	case !bytes.Equal(there, data):
		return nil // the content differs, so it is not a copy of this record
	}
	if err := s.host.Remove(opDropCopy, path); err != nil {
		return &statefile.StepError{Step: opDropCopy, Path: path, Err: err}
	}
	return s.syncFolder(opSyncDrop, path)
}

// find returns the record of an attempt. It looks in two files: the latest record of the task, and
// the record whose file name contains the attempt number. find returns nil and no error if the
// attempt has no record, or if the task has no latest record.
func (s *Store) find(kind Kind, bead string, attempt int) (*document, error) {
	latest, err := s.load(s.path(kind, bead))
	if err != nil || latest == nil {
		return nil, err
	}
	number, err := latest.attempt()
	if err != nil || number == attempt {
		return latest, err
	}
	return s.load(s.keptPath(kind, bead, attempt))
}

// fillResult returns r with its empty fields set from the run record, from the parameter previous,
// and from the clock. previous is the result record that an earlier Finish of the same attempt
// wrote, or nil.
func fillResult(r Result, run Run, previous *document, now time.Time) Result {
	r.SchemaVersion = Version
	setIfEmpty(&r.Agent, run.Agent)
	setIfEmpty(&r.StartedAt, wellFormed(run.StartedAt))
	setIfEmpty(&r.SessionName, run.SessionName, sessionName(r.Bead))
	setIfEmpty(&r.Reason, string(r.Status))
	if r.MaxRetries == 0 {
		r.MaxRetries = max(run.MaxRetries, 0)
	}
	if r.MaxRetries == 0 {
		r.MaxRetries = DefaultMaxRetries
	}
	if previous != nil {
		setIfEmpty(&r.FinishedAt, previous.value().Get("finished_at").Text())
	}
	if run.FinishedAt != nil {
		setIfEmpty(&r.FinishedAt, *run.FinishedAt)
	}
	setIfEmpty(&r.FinishedAt, timestamp.Format(now))
	if r.DurationSeconds == nil {
		r.DurationSeconds = seconds(r.StartedAt, r.FinishedAt)
	}
	// A result must have a start time. If it is unknown, use the end time. The duration, which was
	// computed above, then stays unknown.
	setIfEmpty(&r.StartedAt, r.FinishedAt)
	return r
}

// wellFormed returns the time s in the format that JSON Schema calls date-time, or "" if s is not a
// time.
func wellFormed(s string) string {
	if at := timeOf(s); !isDateTime(s) && !at.IsZero() {
		return timestamp.Format(at)
	}
	if !isDateTime(s) {
		return ""
	}
	return s
}

// setIfEmpty sets the field, if it is empty, to the first of the values that is not empty.
func setIfEmpty(field *string, values ...string) {
	for _, v := range values {
		if *field == "" {
			*field = v
		}
	}
}

// seconds returns the number of seconds between two timestamps, or nil if one of them is invalid.
// For less than a second it returns 1, because programs that read the records take 0 for unknown.
// It returns 0 if end is before start, which happens if the clock was set back in between.
func seconds(start, end string) *int {
	started, err1 := timestamp.Parse(start, time.UTC)
	finished, err2 := timestamp.Parse(end, time.UTC)
	if err1 != nil || err2 != nil {
		return nil
	}
	n := 0
	if took := finished.Sub(started); took >= 0 {
		n = max(1, int(took.Seconds()))
	}
	return &n
}

// complete adds the end of the attempt to its run record, in memory. If the record already contains
// an end, complete changes nothing, and returns an error if the status or the end time differs from
// that in r. A record without a status, which the minimal form allows, counts as running.
func complete(run *jsontree.Node, path string, r Result) error {
	from := Status(run.Get("status").Text())
	if run.Get("status").Absent() {
		from = Running
	}
	if from != Running && from == r.Status {
		return sameEnd(run, path, r)
	}
	if err := checkTransition(path, from, r.Status); err != nil {
		return err
	}
	run.Set("finished_at", r.FinishedAt)
	run.Set("duration_seconds", r.DurationSeconds)
	run.Set("status", r.Status)
	run.Set("exit_code", r.ExitCode)
	if r.OutputSummary != nil {
		run.Set("output_summary", *r.OutputSummary)
	}
	if r.Status != Done {
		run.Set("failure_reason", r.Reason)
	}
	if r.Verification != nil {
		run.Set("verification", r.Verification)
	}
	return nil
}

func sameEnd(run *jsontree.Node, path string, r Result) error {
	if was := run.Get("finished_at").Text(); was != r.FinishedAt {
		return &ImmutableError{Path: path, Attempt: r.Attempt, Problem: fmt.Sprintf("the attempt ended as %q at %s", r.Status, was)}
	}
	return nil
}
