package teammerge

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"gaffer/internal/attempt/merge"
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/flow/teamstate"
	"gaffer/internal/text/truncate"
)

// Limits of the texts in an outcome, the result of a merge that this program prints as one line of
// JSON. gaffer keeps only the last 48 KiB of a line of output, and cannot parse a truncated line.
// So the line with the outcome must be shorter than that, although a text may take twice its size
// when it is encoded as JSON.
const (
	maxConflicts = 100     // maximum number of files in the list of conflicts
	maxNames     = 4 << 10 // maximum total bytes of the names in the list of conflicts
	maxError     = 4 << 10 // maximum bytes of an error message, and of its hint
	maxTest      = 2 << 10 // maximum bytes of the command line of a test
)

// outcome converts the result and the error of a merge to an outcome. It returns an error only if
// the merge may succeed when it is tried again.
func (s Spec) outcome(result merge.Result, err error) (teamstate.Merged, error) {
	if err == nil {
		return teamstate.Merged{Outcome: teamstate.MergeDone, Commit: result.After}, nil
	}
	if e, ok := errors.AsType[*merge.ConflictError](err); ok {
		return conflict(e.Files, err, e.Hint()), nil
	}
	if e, ok := errors.AsType[*worktree.UnfinishedError](err); ok {
		return conflict(e.Files, err, e.Hint()), nil
	}
	if e, ok := errors.AsType[*testError](err); ok {
		return teamstate.Merged{Outcome: teamstate.MergeFailed, Test: truncate.Bytes(removeControls(e.command), maxTest), Output: e.output}, nil
	}
	if e, ok := errors.AsType[*merge.TargetError](err); ok && s.Deliver {
		return conflict(e.Files, err, e.Hint()), nil
	}
	return teamstate.Merged{}, err
}

func conflict(files []string, err error, hint string) teamstate.Merged {
	m := teamstate.Merged{Outcome: teamstate.MergeConflict}
	m.Output = truncate.Bytes(removeControls(err.Error()), maxError) + "\n" + truncate.Bytes(removeControls(hint), maxError)
	room := maxNames
	for _, f := range files[:min(len(files), maxConflicts)] {
		name := removeControls(f)
		if room -= len(name); room < 0 {
			break
		}
		m.Conflicts = append(m.Conflicts, name)
	}
	return m
}

// lastLine encodes an outcome as JSON. The JSON becomes the last line of the output, which gaffer
// parses.
func lastLine(m teamstate.Merged) (string, error) {
	var line strings.Builder
	in := json.NewEncoder(&line)
	in.SetEscapeHTML(false) // keep <, > and &, whose escapes would take six bytes each
	err := in.Encode(m)
	return strings.TrimSuffix(line.String(), "\n"), err
}

// describe describes the result of a merge for the user.
func describe(s Spec, result merge.Result, m teamstate.Merged) string {
	switch {
	case m.Outcome == teamstate.MergeFailed:
		return fmt.Sprintf("%s is not merged into %s: %s fails on the merged result", s.Branch, s.Into, m.Test)
	case m.Outcome == teamstate.MergeConflict:
		return m.Output
	case len(result.Merged) == 0:
		return fmt.Sprintf("%s has all of %s already and is at %s", s.Into, s.Branch, result.After)
	case result.Updated != "":
		return fmt.Sprintf("merged %s into %s, which is at %s, as is %s", s.Branch, s.Into, result.After, result.Updated)
	}
	return fmt.Sprintf("merged %s into %s, which is at %s", s.Branch, s.Into, result.After)
}
