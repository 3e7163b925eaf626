package worktree

import (
	"context"
	"errors"

	"gaffer/internal/git"
)

// MoveBranch moves a task's branch from one commit to another. If the task has a worktree,
// MoveBranch also updates the files in it. It returns an [*UnfinishedError] if the worktree has
// uncommitted files, or has another branch checked out. The caller must hold the repository's lock.
func (r *Repo) MoveBranch(ctx context.Context, g git.Client, t Tree, from, to string) error {
	at, err := r.inTree(g, t)
	if missing := (*git.MissingError)(nil); errors.As(err, &missing) {
		_, err := g.Run(ctx, "update-ref", "-m", "gaffer: rebase", git.Heads+t.Branch, to, from)
		return err
	}
	if err != nil {
		return err
	}
	on, err := at.HeadBranch(ctx)
	if err != nil {
		return err
	}
	dirty, err := uncommittedFiles(ctx, at)
	if err != nil {
		return err
	}
	if on != t.Branch || len(dirty) > 0 {
		e := &UnfinishedError{Tree: t, On: on}
		for _, f := range dirty {
			e.Uncommitted = append(e.Uncommitted, f.Path)
		}
		return e
	}
	_, err = at.Run(ctx, "reset", "--keep", "--quiet", to)
	return err
}
