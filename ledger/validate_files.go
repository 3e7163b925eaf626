package ledger

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"slices"

	"gaffer/statefile"
	"gaffer/statefile/jsontree"
)

// ValidatedFile is the result of validating one file.
type ValidatedFile struct {
	Path    string
	Found   []statefile.Finding
	Skipped bool // the file is not a record; one of the findings says so
}

// ValidateOptions configures the validation.
type ValidateOptions struct {
	// Strict makes all agent names invalid except the protocol's two agents and the names of
	// gaffer's own steps. It does not turn irregular content into invalid content: the caller
	// decides what to do with irregular records.
	Strict bool
}

// Validate checks every record of the ledger, and whether each run matches its result. It calls
// visit for every file, task by task. It returns the first error of visit.
func (s *Store) Validate(ctx context.Context, opts ValidateOptions, visit func(ValidatedFile) error) error {
	all, err := s.tasksByBead(ctx)
	if err != nil {
		return err
	}
	return s.validate(ctx, all, opts, true, visit)
}

// ValidatePath checks the records of one kind at path, which is a folder or a single record. It
// calls visit for every file. It does not compare runs with results.
func (s *Store) ValidatePath(ctx context.Context, kind Kind, path string, opts ValidateOptions, visit func(ValidatedFile) error) error {
	files, err := s.at(kind, path)
	if err != nil {
		return err
	}
	return s.validate(ctx, tasks(files), opts, false, visit)
}

// at returns the records at path, which is a folder or a single file.
func (s *Store) at(kind Kind, path string) (folder, error) {
	info, err := s.host.Stat(opLook, path)
	if err != nil {
		return folder{}, err
	}
	if info.IsDir() {
		return folder{host: s.host, kind: kind, dir: path}, nil
	}
	dir, name := filepath.Split(path)
	return folder{s.host, kind, filepath.Clean(dir), name}, nil
}

func (s *Store) validate(ctx context.Context, all iter.Seq2[task, error], opts ValidateOptions, pairs bool, each func(ValidatedFile) error) error {
	now := s.opts.Now()
	work := func(t task) []ValidatedFile {
		checks := make([]*check, len(t))
		answers := make([]ValidatedFile, len(t))
		for i, f := range t {
			r := read(s.host, f)
			checks[i] = newCheck(f.kind, f.path(), opts.Strict)
			checks[i].reading(r)
			checks[i].plausibility()
			checks[i].irregularities(nameOf(f.file), now)
			answers[i] = ValidatedFile{Path: f.path(), Skipped: r.name == notRecord}
		}
		if pairs {
			pair(checks)
		}
		for i, c := range checks {
			answers[i].Found = c.found
		}
		return answers
	}
	return inOrder(ctx, all, work, func(answers []ValidatedFile) error {
		for _, a := range answers {
			if err := each(a); err != nil {
				return err
			}
		}
		return nil
	})
}

// reading adds the findings about the content of a file, which was read as r.
func (c *check) reading(r reading) {
	switch r.name {
	case "":
		c.found = r.found
		c.record(r.value)
	case notRecord:
		c.irregular("", r.name, "%s", r.problem)
	default:
		c.invalid("", r.name, "%s", r.problem)
	}
}

// pair compares the runs of a task with its results. It adds findings for runs that do not say
// "running" but have no result, for results without a run, and for runs that contradict their
// results.
func pair(checks []*check) {
	for _, c := range checks {
		attempt, ok := intOf(c.get("attempt"))
		if !ok {
			continue
		}
		other, found := partner(checks, c.kind.other(), attempt)
		running := Status(c.text("status")) == Running
		switch {
		case found && c.kind == RunKind && running:
			c.checkStillRunning(other)
		case found && c.kind == RunKind:
			c.sameOutcome(other)
		case found || c.kind == RunKind && running:
		case c.kind == ResultKind:
			c.irregular("", resultWithoutRun, "there is no run record of attempt %d", attempt)
		default:
			c.irregular("", runWithoutResult, "%s", withoutResult(c.get("status"), attempt))
		}
	}
}

// checkStillRunning adds the finding stuckRunning to c, a run with the status "running", if the
// result of the same attempt says that the run has ended. If c already has this finding,
// checkStillRunning does nothing.
func (c *check) checkStillRunning(result *check) {
	status := Status(result.text("status"))
	known := slices.ContainsFunc(c.found, func(f statefile.Finding) bool { return f.Name == stuckRunning })
	if !known && slices.Contains(nextStatuses[Running], status) {
		c.irregular("status", stuckRunning, "is \"running\" although the result says %q", status)
	}
}

// sameOutcome adds a finding if the run c and its result have different outcomes.
func (c *check) sameOutcome(result *check) {
	mine, theirs := Status(c.text("status")), Status(result.text("status"))
	if slices.Contains(nextStatuses[Running], mine) && slices.Contains(nextStatuses[Running], theirs) && mine != theirs {
		c.invalid("status", outcomeDiffers, "is %q although the result says %q", mine, theirs)
	}
}

func withoutResult(status jsontree.Value, attempt int64) string {
	if status.Absent() {
		return fmt.Sprintf("attempt %d has no result record and no status: it never ended", attempt)
	}
	return fmt.Sprintf("attempt %d is %s but there is no result record of it", attempt, shorten(status.String()))
}

// partner returns the record of the given kind for an attempt, or false if there is none. It may
// also return an unreadable record of that kind, because that may be the record of the attempt.
// Otherwise the record would be reported as missing.
func partner(checks []*check, kind Kind, attempt int64) (*check, bool) {
	for _, c := range checks {
		n, ok := intOf(c.get("attempt"))
		if c.kind == kind && (c.values == nil || ok && n == attempt) {
			return c, true
		}
	}
	return nil, false
}

func hasInvalid(found []statefile.Finding) bool {
	return slices.ContainsFunc(found, func(f statefile.Finding) bool { return f.Severity == statefile.Invalid })
}

func onlyInvalid(found []statefile.Finding) []statefile.Finding {
	return slices.DeleteFunc(slices.Clone(found), func(f statefile.Finding) bool { return f.Severity != statefile.Invalid })
}
