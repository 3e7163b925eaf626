package teammerge

import (
	"context"
	"errors"
	"fmt"

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/git"
)

// commitWork commits work that agents have left uncommitted in the worktrees of two branches: the
// branch to be merged and the target branch. If the work on the branch to be merged cannot be
// committed, commitWork returns a [*worktree.UnfinishedError]. Work on the target branch may stay
// uncommitted. If this uncommitted work prevents the merge, the merge itself returns an error.
func (s Spec) commitWork(ctx context.Context, repo *worktree.Repo, out *lineWriter) error {
	trees, err := repo.List(ctx, s.Run)
	if err != nil {
		return err
	}
	for _, t := range trees {
		switch t.Branch {
		case s.Branch:
			err = s.commitSourceWork(ctx, repo, t, out)
		case s.Into:
			err = s.commitTargetWork(ctx, repo, t, out)
		}
		// Ignore a missing worktree: without a worktree, the branch has no uncommitted work.
		if missing := (*git.MissingError)(nil); err != nil && !errors.As(err, &missing) {
			return err
		}
	}
	return nil
}

// commitSourceWork commits the work in the worktree of the branch to be merged. It returns an error
// if the worktree has commits that are not on the branch, because the merge would silently leave
// them out.
func (s Spec) commitSourceWork(ctx context.Context, repo *worktree.Repo, t worktree.Tree, out *lineWriter) error {
	status, err := repo.Status(ctx, t)
	if err != nil {
		return err
	}
	if status.Branch != t.Branch {
		has, err := repo.Contains(ctx, t.Branch, status.Head)
		if err == nil && !has {
			err = &worktree.UnfinishedError{Tree: t, On: status.Branch}
		}
		if err != nil {
			return err
		}
	}
	return s.commit(ctx, repo, t, out)
}

// commitTargetWork commits the work in the worktree of the target branch. It does nothing if the
// current folder of a process is in the worktree, because an agent or the user may be working
// there. If the work cannot be committed, it stays uncommitted, and commitTargetWork returns no
// error.
func (s Spec) commitTargetWork(ctx context.Context, repo *worktree.Repo, t worktree.Tree, out *lineWriter) error {
	status, err := repo.Status(ctx, t)
	if err != nil || len(status.Occupants) > 0 {
		return err
	}
	err = s.commit(ctx, repo, t, out)
	if unfinished := (*worktree.UnfinishedError)(nil); errors.As(err, &unfinished) {
		return nil
	}
	return err
}

func (s Spec) commit(ctx context.Context, repo *worktree.Repo, t worktree.Tree, out *lineWriter) error {
	message := fmt.Sprintf("Work of %s", t.Task)
	if t.Task == s.Tree {
		message = fmt.Sprintf("Work of group %s", s.Tree)
	}
	made, err := repo.Commit(ctx, t, message)
	if made != "" {
		out.say("committed what was left in %s: %s", t.Path, made)
	}
	return err
}
