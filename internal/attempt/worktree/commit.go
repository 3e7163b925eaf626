package worktree

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// UnfinishedError is work in a worktree that only who did it can bring to the
// branch. Nothing was changed.
type UnfinishedError struct {
	Tree  Tree
	Files []string // with conflicts, of a merge that is not finished
	On    string   // else the branch that is checked out in place of the tree's; empty for none
}

func (e *UnfinishedError) Error() string {
	if len(e.Files) > 0 {
		return fmt.Sprintf("a merge is not finished: conflict in %s, in %s", some(e.Files), e.Tree.Path)
	}
	on := "no branch"
	if e.On != "" {
		on = "branch " + e.On
	}
	return fmt.Sprintf("%s is checked out in place of %s, which does not have the work, in %s", on, e.Tree.Branch, e.Tree.Path)
}

// Conflict marks the error as one about the state of things.
func (e *UnfinishedError) Conflict() bool { return true }

// Hint says what to do next.
func (e *UnfinishedError) Hint() string {
	if len(e.Files) > 0 {
		return "put them right there and commit"
	}
	return fmt.Sprintf("commit all of it there, then bring it over with 'git switch %s' and 'git merge' of the commit", Quote(e.Tree.Branch))
}

// Commit commits what is in a worktree and not ignored on its branch, as an
// agent would that has forgotten to, and returns the commit. It is empty if
// there was nothing to commit. No hooks run, and other repositories in it are
// left out. What must not be committed so, or was committed elsewhere, is an
// [*UnfinishedError].
func (r *Repo) Commit(ctx context.Context, t Tree, message string) (string, error) {
	if err := r.MayWrite(); err != nil {
		return "", err
	}
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
		if err != nil {
			return err
		}
		if len(dirty) == 0 {
			return checkNowhereElse(ctx, g, rec.Tree)
		}
		if err := checkFinished(ctx, g, rec.Tree, dirty); err != nil {
			return err
		}
		commit, err = g.commitAll(ctx, dirty, message)
		return err
	})
	if unfinished := (*UnfinishedError)(nil); err != nil && !errors.As(err, &unfinished) { // which names the folder itself
		err = fmt.Errorf("commit in %s: %w", t.Path, err)
	}
	return commit, err
}

// checkFinished refuses files that would be committed with the marks of their
// conflicts, and a commit that the tree's branch would not have.
func checkFinished(ctx context.Context, g git, t Tree, dirty []File) error {
	var files []string
	for _, f := range dirty {
		if strings.Contains(f.State, "U") || f.State == "AA" || f.State == "DD" {
			files = append(files, f.Path)
		}
	}
	on, err := g.line(ctx, "symbolic-ref", "--quiet", "HEAD")
	if err != nil && exitCode(err) != 1 { // which it is if detached
		return err
	}
	if on = strings.TrimPrefix(on, headsPrefix); len(files) > 0 || on != t.Branch {
		return &UnfinishedError{Tree: t, Files: files, On: on}
	}
	return nil
}

// checkNowhereElse refuses commits that the tree's branch does not have: the agent
// has made a branch of its own.
func checkNowhereElse(ctx context.Context, g git, t Tree) error {
	on, err := g.line(ctx, "symbolic-ref", "--quiet", "HEAD")
	if err != nil && exitCode(err) != 1 {
		return err
	}
	if on = strings.TrimPrefix(on, headsPrefix); on == t.Branch {
		return nil
	}
	head, err := g.commit(ctx, "HEAD")
	if err != nil || head == "" {
		return err
	}
	tip, err := g.commit(ctx, headsPrefix+t.Branch)
	if err != nil {
		return err
	}
	if tip != "" {
		if has, err := g.has(ctx, tip, head); err != nil || has {
			return err
		}
	}
	return &UnfinishedError{Tree: t, On: on}
}

// commitAll commits what is dirty, and returns "" if that is other repositories
// alone.
func (g git) commitAll(ctx context.Context, dirty []File, message string) (string, error) {
	without, err := nested(ctx, g, dirty)
	if err != nil {
		return "", err
	}
	args := []string{"add", "--all", "--", "."}
	for _, path := range without {
		args = append(args, ":(exclude,literal)"+path)
	}
	if _, err := g.run(ctx, args...); err != nil {
		return "", err
	}
	_, err = g.run(ctx, "diff-index", "--cached", "--quiet", "HEAD")
	if exitCode(err) != 1 { // which says that something is staged
		return "", err
	}
	if g, err = g.signed(ctx); err != nil {
		return "", err
	}
	if _, err := g.run(ctx, "commit", "--quiet", "--no-verify", "--no-gpg-sign", "--message", message); err != nil {
		return "", err
	}
	return g.commit(ctx, "HEAD")
}
