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

// ValidatedFile is the result of validating one file of a ledger.
type ValidatedFile struct {
	Path    string
	Found   []statefile.Finding
	Skipped bool // the file is not a record, so it was not validated; one of the findings in Found says so
}

// ValidateOptions configures the validation of a ledger's records.
type ValidateOptions struct {
	// Strict limits the valid agent names to the two that the protocol defines, claude and codex,
	// and to names with the prefix "gaffer-", which steps of gaffer itself have. Strict does not
	// make irregular content invalid.
	Strict bool
}

// Validate checks every record of the ledger, and whether the run record and the result record of
// each attempt match. It calls the function visit for every file, task by task. It stops at the
// first error of visit and returns it.
func (s *Store) Validate(ctx context.Context, opts ValidateOptions, visit func(ValidatedFile) error) error {
	all, err := s.tasksByBead(ctx)
	if err != nil {
		return err
	}
	return s.validate(ctx, all, opts, true, visit)
}

// ValidatePath checks the records of one kind at path, which is a folder or a single file. It calls
// the function visit for every file. It does not compare run records with result records.
func (s *Store) ValidatePath(ctx context.Context, kind Kind, path string, opts ValidateOptions, visit func(ValidatedFile) error) error {
	files, err := s.at(kind, path)
	if err != nil {
		return err
	}
	return s.validate(ctx, tasks(files), opts, false, visit)
}

// at returns a folder value that selects the record files at path, which is a folder or a single
// file.
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

// reading adds the findings about one file to c. The parameter r is the result of reading the file:
// its content, or the reason why it cannot be used as a record.
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

// pair compares the run records of a task with its result records. It adds a finding in each of
// these cases: a run record whose status is not "running" has no result record for the same
// attempt; a result record has no run record; or the run record and the result record of an attempt
// contradict each other.
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

// checkStillRunning adds the finding stuckRunning if the run record c has the status "running"
// although the result record of the same attempt says that the attempt has ended. If c already has
// this finding, checkStillRunning does nothing.
func (c *check) checkStillRunning(result *check) {
	status := Status(result.text("status"))
	known := slices.ContainsFunc(c.found, func(f statefile.Finding) bool { return f.Name == stuckRunning })
	if !known && slices.Contains(nextStatuses[Running], status) {
		c.irregular("status", stuckRunning, "is \"running\" although the result says %q", status)
	}
}

// sameOutcome adds a finding if the run record c and the result record of the same attempt have
// different final statuses.
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

// partner returns the record of the given kind for an attempt, or false if there is none. A file of
// that kind that cannot be read may be the record of this attempt. So partner also returns such a
// file when it comes first. Otherwise the record would be wrongly reported as missing.
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
