package teamrun

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/flow/teamstate"
)

// Trees are the worktrees of a run.
type Trees interface {
	List(ctx context.Context) ([]worktree.Tree, error)
	// Commit commits what was left uncommitted in a worktree.
	Commit(ctx context.Context, t worktree.Tree, message string) error
	Changes(ctx context.Context, base, branch string) (files, commits []string, err error)
	Remove(ctx context.Context, t worktree.Tree) error
	// Scratch is a folder for worktrees that last as long as a merge.
	Scratch() string
}

// look asks git what the groups have changed whose branch may have moved. What
// a developer has left uncommitted is committed first, so that the next reader
// sees all of it.
func (c *Conductor) look(ctx context.Context) error {
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
				c.opts.Notice(fmt.Sprintf("team: %v", err)) // the merge says so again
			}
		}
		files, commits, err := c.opts.Trees.Changes(ctx, t.Base.Commit, t.Branch)
		if err != nil {
			return err
		}
		c.world.Changes[t.Task] = teamstate.Change{Files: files, Commits: commits}
	}
	clear(c.stale)
	return nil
}

// clear removes the worktrees of the project manager's steps that are over.
func (c *Conductor) clear(ctx context.Context) {
	if len(c.ended) == 0 {
		return
	}
	trees, err := c.opts.Trees.List(ctx)
	if err != nil {
		return // they are found again by who comes next
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
