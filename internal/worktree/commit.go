package worktree

import (
	"context"
	"fmt"
)

// Commit commits what is in a worktree and not ignored on its branch, as an
// agent would that has forgotten to, and returns the commit. It is empty if
// there was nothing to commit. No hooks run.
func (r *Repo) Commit(ctx context.Context, t Tree, message string) (string, error) {
	rec, err := r.findRecord(t)
	if err != nil {
		return "", err
	}
	commit := ""
	err = r.locked(ctx, func(g git) error {
		g, err := r.at(g, rec.Tree)
		if err != nil {
			return err
		}
		dirty, err := files(ctx, g)
		if err != nil || len(dirty) == 0 {
			return err
		}
		if g, err = g.signed(ctx); err != nil {
			return err
		}
		if _, err := g.run(ctx, "add", "--all"); err != nil {
			return err
		}
		if _, err := g.run(ctx, "commit", "--quiet", "--no-verify", "--message", message); err != nil {
			return err
		}
		commit, err = g.commit(ctx, "HEAD")
		return err
	})
	if err != nil {
		return "", fmt.Errorf("commit in %s: %w", t.Path, err)
	}
	return commit, nil
}
