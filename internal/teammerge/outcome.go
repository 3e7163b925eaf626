package teammerge

import (
	"errors"
	"fmt"
	"strings"

	"gaffer/internal/teamwork"
	"gaffer/internal/worktree"
)

// maxConflicts is how many files an outcome names. Its text says how many more
// there are.
const maxConflicts = 100

// outcome is what came of a merge, or the error if it may be another one when
// the merge is tried again.
func (s Spec) outcome(result worktree.MergeResult, err error) (teamwork.Merged, error) {
	if err == nil {
		return teamwork.Merged{Outcome: teamwork.MergeDone, Commit: result.After}, nil
	}
	if e, ok := errors.AsType[*worktree.MergeError](err); ok {
		return conflict(e.Files, fmt.Sprintf("%v\n%s", err, e.Hint())), nil
	}
	if e, ok := errors.AsType[*worktree.UnfinishedError](err); ok {
		return conflict(e.Files, fmt.Sprintf("%v\n%s", err, e.Hint())), nil
	}
	if e, ok := errors.AsType[*testError](err); ok {
		return teamwork.Merged{Outcome: teamwork.MergeFailed, Test: e.command, Output: e.output}, nil
	}
	if e, ok := errors.AsType[*worktree.TargetError](err); ok && s.Deliver {
		return conflict(e.Files, fmt.Sprintf("%v\n%s", err, e.Hint())), nil
	}
	return teamwork.Merged{}, err
}

func conflict(files []string, output string) teamwork.Merged {
	m := teamwork.Merged{Outcome: teamwork.MergeConflict, Output: strings.ToValidUTF8(output, "�")}
	for _, f := range files[:min(len(files), maxConflicts)] {
		m.Conflicts = append(m.Conflicts, strings.ToValidUTF8(f, "�"))
	}
	return m
}

// describe says for people what came of a merge.
func describe(s Spec, result worktree.MergeResult, m teamwork.Merged) string {
	switch {
	case m.Outcome == teamwork.MergeFailed:
		return fmt.Sprintf("%s is not merged into %s: %s fails on what it would become", s.Branch, s.Into, m.Test)
	case m.Outcome == teamwork.MergeConflict:
		return m.Output
	case len(result.Merged) == 0:
		return fmt.Sprintf("%s has all of %s already and is at %s", s.Into, s.Branch, result.After)
	case result.Updated != "":
		return fmt.Sprintf("merged %s into %s, which is at %s, as is %s", s.Branch, s.Into, result.After, result.Updated)
	}
	return fmt.Sprintf("merged %s into %s, which is at %s", s.Branch, s.Into, result.After)
}
