package landing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"gaffer/fleet"
	"gaffer/internal/attempt/merge"
	"gaffer/internal/attempt/workspace"
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/engine/review"
)

// Undo takes back the last merge of a task's change. If a worktree has the target branch checked
// out, the request must say that the user agrees to changes of the files there. If Undo cannot move
// the branch back, but the user can solve the problem, the error is nil, and the result describes
// the problem.
func (l *Lander) Undo(ctx context.Context, request fleet.MergeRequest) (fleet.MergeResult, error) {
	m := fleet.MergeResult{Run: request.Run, Task: request.Task}
	c, _, err := l.find(ctx, request.Run, request.Task)
	if err != nil {
		return m, err
	}
	landed, err := merge.Landings(ctx, c.repo, request.Run)
	if err != nil {
		return m, err
	}
	landed = slices.DeleteFunc(landed, func(e merge.Landing) bool {
		return e.Task != c.task.Task || request.Into != "" && e.Into != request.Into
	})
	if len(landed) == 0 {
		return m, &NoChangeError{"task " + c.task.Task, "it was not merged, so there is nothing to undo"}
	}
	last := landed[len(landed)-1]
	m.Into = last.Into
	done, err := merge.Undo(ctx, c.repo, merge.UndoSpec{Landing: last, MoveCheckedOut: request.Yes, Revert: request.Revert})
	if gone := (*merge.GoneError)(nil); err != nil && !errors.As(err, &gone) {
		// The user can solve the problem if the error has these methods.
		stopped, ok := errors.AsType[interface {
			error
			Conflict() bool
			Hint() string
		}](err)
		if !ok {
			return m, err
		}
		_, m.Consent = errors.AsType[*merge.ConsentError](err)
		m.State, m.Why, m.Hint = fleet.MergeBlocked, stopped.Error(), stopped.Hint()
		return m, nil
	}
	landing := landingOf(done)
	m.State, m.Landing, m.Updated = fleet.MergeUndone, &landing, done.Updated
	if c.review.Landing == nil {
		return m, nil
	}
	return m, l.record(ctx, c, review.Undo)
}

// Discard removes the worktree of a task, and keeps its content under a git ref, so that Restore
// can bring it back. The review that Discard returns names the ref.
func (l *Lander) Discard(ctx context.Context, run, task string) (fleet.Review, error) {
	c, _, err := l.find(ctx, run, task)
	if err != nil {
		return fleet.Review{}, err
	}
	switch {
	case !c.task.Status.Final():
		return c.review, &NoChangeError{"task " + task, fmt.Sprintf("it is %s; cancel it first with 'gaffer cancel %s/%s'", c.task.Status, run, task)}
	case c.review.State == fleet.ReviewMerged:
		return c.review, &NoChangeError{"task " + task, fmt.Sprintf("it was merged; 'gaffer merge %s/%s --undo' takes that back", run, task)}
	case c.gone && c.review.State != fleet.ReviewDiscarded:
		return c.review, &NoChangeError{"task " + task, "its worktree was removed"}
	case c.gone:
		return c.review, nil
	}
	done, err := c.repo.Discard(ctx, c.tree)
	if err != nil {
		return c.review, err
	}
	err = l.record(ctx, c, func(r *fleet.Review) error { return review.Discard(r, done.Rescue) })
	return c.review, err
}

// Restore brings back the worktree of a change that was discarded. It returns a
// [*worktree.FilesKeptError] if the worktree is back without the files that were not committed.
func (l *Lander) Restore(ctx context.Context, run, task string) (fleet.Review, error) {
	c, _, err := l.find(ctx, run, task)
	if err != nil {
		return fleet.Review{}, err
	}
	list, err := c.repo.Discarded(ctx, run)
	if err != nil {
		return c.review, err
	}
	i := slices.IndexFunc(list, func(d worktree.Discarded) bool { return d.Tree.Task == c.task.Task })
	if i < 0 {
		return c.review, &NoChangeError{"task " + task, "it was not discarded, so there is nothing to undo"}
	}
	_, err = c.repo.Restore(ctx, list[i])
	if kept := (*worktree.FilesKeptError)(nil); err != nil && !errors.As(err, &kept) {
		return c.review, err
	}
	if c.review.State == fleet.ReviewDiscarded {
		err = cmp.Or(l.record(ctx, c, review.Undo), err)
	}
	return c.review, err
}

// Rebase rebases a task's branch onto another branch. An empty branch means the target branch of
// the task's change. An approved change stays approved, because Rebase succeeds only without a
// conflict.
func (l *Lander) Rebase(ctx context.Context, run, task, branch string) (merge.Rebased, error) {
	c, _, err := l.find(ctx, run, task)
	if err != nil {
		return merge.Rebased{}, err
	}
	switch {
	case c.gone:
		return merge.Rebased{}, &NoChangeError{"task " + task, "its worktree was removed"}
	case !c.task.Status.Final():
		return merge.Rebased{}, &NoChangeError{"task " + task, fmt.Sprintf("it is %s; wait until it has ended", c.task.Status)}
	}
	if branch = cmp.Or(branch, c.into); branch == "" {
		return merge.Rebased{}, &NoChangeError{"task " + task, "no branch is checked out; name one with --onto"}
	}
	if err := workspace.CommitWork(ctx, c.repo, c.tree, c.spec.Name); err != nil {
		return merge.Rebased{}, err
	}
	seen, err := c.repo.TreeOf(ctx, c.tree.Branch)
	if err != nil {
		return merge.Rebased{}, err
	}
	done, err := merge.Rebase(ctx, c.repo, c.tree, branch)
	if err != nil || c.review.State != fleet.ReviewApproved || c.review.Seen != seen {
		return done, err
	}
	now, err := c.repo.TreeOf(ctx, c.tree.Branch)
	if err != nil {
		return done, err
	}
	return done, l.record(ctx, c, func(r *fleet.Review) error {
		r.Seen = now
		return nil
	})
}
