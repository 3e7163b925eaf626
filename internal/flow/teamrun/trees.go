package teamrun

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/flow/teamstate"
)

// Trees manages the git worktrees of a run.
type Trees interface {
	List(ctx context.Context) ([]worktree.Tree, error)
	// Commit commits the uncommitted changes in a worktree.
	Commit(ctx context.Context, t worktree.Tree, message string) error
	Changes(ctx context.Context, base, branch string) (files, commits []string, err error)
	Remove(ctx context.Context, t worktree.Tree) error
	// Scratch returns a folder for worktrees that are needed only during a merge.
	Scratch() string
}

// readChanges reads from git the changed files and the commits of each group of tasks in c.stale,
// and clears c.stale. If a developer has left uncommitted work, readChanges commits it first, so
// that the agent that tests or reviews the work sees all of it.
func (c *Conductor) readChanges(ctx context.Context) error {
	if len(c.stale) == 0 {
		return nil
	}
	trees, err := c.opts.Trees.List(ctx)
	if err != nil {
		return err
	}
	for _, t := range trees {
		developed, stale := c.stale[t.Task]
		if !stale || t.Branch != c.session.Branch(t.Task) {
			continue
		}
		if developed && !c.session.Busy(t.Task) {
			err := c.opts.Trees.Commit(ctx, t, "Work of group "+t.Task)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				// Only print the error: before the branch is merged, the merge step tries to commit
				// again.
				c.opts.Notice(fmt.Sprintf("team: %v", err))
			}
		}
		files, commits, err := c.opts.Trees.Changes(ctx, t.Base.Commit, t.Branch)
		if err != nil {
			return err
		}
		c.changes[t.Task] = teamstate.Change{Files: files, Commits: commits}
	}
	clear(c.stale)
	return nil
}

// removeTrees deletes the worktrees of the steps in c.ended and clears the list. It keeps a
// worktree that is in use, or whose work would be lost.
func (c *Conductor) removeTrees(ctx context.Context) {
	if len(c.ended) == 0 {
		return
	}
	trees, err := c.opts.Trees.List(ctx)
	if err != nil {
		return // leave the worktrees and c.ended: a later call deletes the worktrees
	}
	for _, t := range trees {
		if !slices.Contains(c.ended, t.Task) {
			continue
		}
		kept := (*worktree.KeptError)(nil)
		if err := c.opts.Trees.Remove(ctx, t); err != nil && !errors.As(err, &kept) {
			c.opts.Notice(fmt.Sprintf("team: %v", err))
		}
	}
	c.ended = nil
}
