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

// Finish records how an attempt ended: the result first, then the end in the
// run record, so that a crash between them leaves an outcome that a repeated
// Finish, or a fix, carries over. What the result leaves empty is taken from
// the run and the clock. It returns the result as recorded.
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
	r = filled(r, of, before, s.opts.Now())
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

// writeEnd replaces a run record by its completed form. A second name that an
// unfinished Begin has given it goes first: it would keep the run as running.
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
		return nil // not a copy
	}
	if err := s.host.Remove(opDropCopy, path); err != nil {
		return &statefile.StepError{Step: opDropCopy, Path: path, Err: err}
	}
	return s.syncFolder(opSyncDrop, path)
}

// find returns the record of an attempt, wherever it is, or nil.
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

// filled returns r with what its run, an earlier Finish and the clock say about
// the fields that it leaves empty.
func filled(r Result, of Run, before *document, now time.Time) Result {
	r.SchemaVersion = Version
	fill(&r.Agent, of.Agent)
	fill(&r.StartedAt, wellFormed(of.StartedAt))
	fill(&r.SessionName, of.SessionName, sessionName(r.Bead))
	fill(&r.Reason, string(r.Status))
	if r.MaxRetries == 0 {
		r.MaxRetries = max(of.MaxRetries, 0)
	}
	if r.MaxRetries == 0 {
		r.MaxRetries = DefaultMaxRetries
	}
	if before != nil {
		fill(&r.FinishedAt, before.value().Get("finished_at").Text())
	}
	if of.FinishedAt != nil {
		fill(&r.FinishedAt, *of.FinishedAt)
	}
	fill(&r.FinishedAt, timestamp.Format(now))
	if r.DurationSeconds == nil {
		r.DurationSeconds = seconds(r.StartedAt, r.FinishedAt)
	}
	// A run that does not say when it began has an outcome all the same, and a
	// result must have a time there. How long it took stays unknown.
	fill(&r.StartedAt, r.FinishedAt)
	return r
}

// wellFormed returns a time as a record may have it, or nothing if it is none.
func wellFormed(s string) string {
	if at := timeOf(s); !isDateTime(s) && !at.IsZero() {
		return timestamp.Format(at)
	}
	if !isDateTime(s) {
		return ""
	}
	return s
}

// fill sets an empty field to the first value that is not.
func fill(field *string, values ...string) {
	for _, v := range values {
		if *field == "" {
			*field = v
		}
	}
}

// seconds returns the time between two timestamps, or nil if one of them is
// none. It is 1 for what took less, since monitors take 0 for unknown, and 0 if
// the clock was set back.
func seconds(from, to string) *int {
	started, err1 := timestamp.Parse(from, time.UTC)
	finished, err2 := timestamp.Parse(to, time.UTC)
	if err1 != nil || err2 != nil {
		return nil
	}
	n := 0
	if took := finished.Sub(started); took >= 0 {
		n = max(1, int(took.Seconds()))
	}
	return &n
}

// complete sets in a run record what is known once its attempt has ended. A run
// that has ended so already stays untouched; one that ended otherwise is
// refused. A minimal record says no status: it is running.
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
