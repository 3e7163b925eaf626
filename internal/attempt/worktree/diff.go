package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"gaffer/internal/git"
)

// Diff lists the files that differ between a task's worktree and its base commit, sorted by path.
// It includes uncommitted files that are not ignored. It changes nothing. exists is false if the
// task has no worktree or the worktree's folder is missing.
func (r *Repo) Diff(ctx context.Context, run, task string) (list []git.FileDiff, exists bool, err error) {
	rec, err := r.records.read(run, task)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	list, err = r.differences(ctx, rec.Tree)
	if missing := (*git.MissingError)(nil); errors.As(err, &missing) {
		return nil, false, nil
	}
	if err != nil {
		return nil, true, fmt.Errorf("diff of %s: %w", rec.Path, err)
	}
	return list, true, nil
}

func (r *Repo) differences(ctx context.Context, t Tree) ([]git.FileDiff, error) {
	g, err := r.inTree(r.Git, t)
	if err != nil {
		return nil, err
	}
	dirty, err := uncommittedFiles(ctx, g)
	if err != nil {
		return nil, err
	}
	inner, err := nestedRepositories(ctx, g, dirty)
	if err != nil {
		return nil, err
	}
	return r.compare(ctx, g, t, inner)
}

// compare compares the files of a worktree with the worktree's base commit. It leaves out nested
// repositories, whose paths are in the parameter without. It writes git objects only to a temporary
// folder.
func (r *Repo) compare(ctx context.Context, g git.Client, t Tree, without []string) ([]git.FileDiff, error) {
	s, err := newScratch(ctx, g)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if s.git, err = r.WithObjectsIn(s.git, s.dir); err != nil {
		return nil, err
	}
	snap, err := s.saveFiles(ctx, without)
	if err != nil {
		return nil, err
	}
	out, err := s.git.Run(ctx, "diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", t.Base.Commit, snap.tree)
	return git.ParseNumstat(out), err
}
