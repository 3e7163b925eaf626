package merge

import (
	"context"
	"os"

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/git"
)

// Outcome says what merging a branch into a target would do.
type Outcome struct {
	Tip       string   // id of the branch's last commit; empty if the branch does not exist
	Merged    bool     // the target already has the branch's changes, in the same or other commits
	Conflicts []string // the files with conflicts
}

// Preview predicts for each of a run's branches what merging only that branch into a target would
// do. It changes nothing, and writes no objects to the repository.
func Preview(ctx context.Context, repo *worktree.Repo, run, into string, branches []string) ([]Outcome, error) {
	dir, err := os.MkdirTemp("", "gaffer-worktree-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // ignore errors: this is only a temporary folder
	g, err := repo.WithObjectsIn(repo.Git, dir)
	if err != nil {
		return nil, err
	}
	onto, err := tipOf(ctx, g, into)
	if err != nil {
		return nil, err
	}
	landed, err := Landings(ctx, repo, run)
	if err != nil {
		return nil, err
	}
	if g, err = g.WithAuthor(ctx); err != nil {
		return nil, err
	}
	list := make([]Outcome, len(branches))
	for i, branch := range branches {
		o := &list[i]
		if o.Tip, err = g.CommitID(ctx, git.Heads+branch); err != nil {
			return nil, err
		}
		if o.Tip == "" {
			continue
		}
		if o.Merged, err = g.Contains(ctx, onto, o.Tip); err != nil {
			return nil, err
		}
		b := commitBuilder{git: g, branch: branch, tip: o.Tip}
		for _, e := range landed {
			if e.Into != into || !e.Present {
				continue
			}
			if e.Tip == o.Tip {
				o.Merged = true
			} else if contained, err := g.Contains(ctx, o.Tip, e.Tip); err != nil {
				return nil, err
			} else if contained {
				b.earlier = append(b.earlier, e.Tip)
			}
		}
		if o.Merged {
			continue
		}
		if _, o.Conflicts, err = b.mergedTree(ctx, onto); err != nil {
			return nil, err
		}
	}
	return list, nil
}
