package workspace

import (
	"context"
	"strings"
	"unicode"

	"gaffer/fleet"
	"gaffer/internal/attempt/snapshot"
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/engine/store"
	"gaffer/internal/git"
	"gaffer/internal/plan"
	"gaffer/internal/text/truncate"
)

// Diff implements [worker.Workspace]. It returns what was changed in the task's worktree, or nil if
// there is no worktree. If the task does not share its worktree with other tasks, Diff also keeps a
// snapshot of the files at the end of the attempt. It keeps no snapshot of a shared worktree,
// because the snapshots of its tasks would have the same name.
func (w Workspace) Diff(ctx context.Context, t store.Task, task plan.Task) (*fleet.Diff, error) {
	spec := w.treeOf(t.TaskKey, task)
	if spec == nil {
		return nil, nil
	}
	repo, err := worktree.Open(ctx, w.rootOf(task))
	if err != nil {
		return nil, err
	}
	var list []git.FileDiff
	var there bool
	if spec.Task == t.Task {
		list, there, err = snapshot.OfAttempt(ctx, repo, spec.Run, spec.Task, t.Tries)
	} else {
		list, there, err = repo.Diff(ctx, spec.Run, spec.Task)
	}
	if err != nil || !there {
		return nil, err
	}
	return diffOf(list), nil
}

// maxShownPath is how many bytes of a file's path are displayed at most.
const maxShownPath = 300

// diffOf returns the total numbers of changed files and lines in list, and the numbers for each of
// the first [fleet.MostFiles] files.
func diffOf(list []git.FileDiff) *fleet.Diff {
	d := &fleet.Diff{Files: []fleet.FileDiff{}, Changed: len(list)}
	for _, f := range list {
		d.Added, d.Removed = d.Added+f.Insertions, d.Removed+f.Deletions
		if len(d.Files) < fleet.MostFiles {
			d.Files = append(d.Files, fleet.FileDiff{Path: shownPath(f.Path), Added: f.Insertions, Removed: f.Deletions})
		}
	}
	return d
}

// shownPath returns a path for display, without control characters and invalid UTF-8. It cuts off
// the beginning of a long path, because the last part says more.
func shownPath(path string) string {
	path = strings.ToValidUTF8(strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return unicode.ReplacementChar
		}
		return c
	}, path), string(unicode.ReplacementChar))
	if len(path) <= maxShownPath {
		return path
	}
	return "…" + truncate.Tail(path, maxShownPath)
}
