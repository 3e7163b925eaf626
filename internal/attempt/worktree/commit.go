package worktree

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gaffer/internal/git"
)

// UnfinishedError reports that a worktree has work that gaffer cannot commit to the task's branch,
// or that gaffer would overwrite. The agent or the user must commit this work. gaffer has not
// changed the worktree.
type UnfinishedError struct {
	Tree        Tree
	Files       []string // files with unresolved conflicts
	Uncommitted []string // uncommitted files that prevent moving the branch to another commit
	On          string   // the branch that is checked out; empty if HEAD is detached
}

func (e *UnfinishedError) Error() string {
	if len(e.Files) > 0 {
		return fmt.Sprintf("a merge is not finished: conflict in %s, in %s", git.FirstFew(e.Files), e.Tree.Path)
	}
	if len(e.Uncommitted) > 0 {
		return fmt.Sprintf("uncommitted changes in %s, in %s", git.FirstFew(e.Uncommitted), e.Tree.Path)
	}
	on := "no branch"
	if e.On != "" {
		on = "branch " + e.On
	}
	return fmt.Sprintf("%s is checked out in place of %s, which does not have the work, in %s", on, e.Tree.Branch, e.Tree.Path)
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *UnfinishedError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *UnfinishedError) Hint() string {
	if len(e.Files) > 0 {
		return "put them right there and commit"
	}
	if len(e.Uncommitted) > 0 {
		return "commit or discard them there"
	}
	return fmt.Sprintf("commit all of it there, then bring it over with 'git switch %s' and 'git merge' of the commit", git.Quote(e.Tree.Branch))
}

// Commit commits all uncommitted files of a worktree to the task's branch, because the agent may
// have forgotten to do so. It leaves out ignored files and nested repositories, and runs no hooks.
// It returns the id of the commit, or "" if there was nothing to commit. It returns an
// [*UnfinishedError] if a file has unresolved conflicts. It also returns one if another branch or a
// detached HEAD is checked out, and there are uncommitted files, or HEAD has commits that the
// task's branch lacks.
func (r *Repo) Commit(ctx context.Context, t Tree, message string) (string, error) {
	if err := r.MayWrite(); err != nil {
		return "", err
	}
	rec, err := r.records.find(t)
	if err != nil {
		return "", err
	}
	commit := ""
	err = r.Locked(ctx, func(g git.Client) error {
		g, err := r.inTree(g, rec.Tree)
		if err != nil {
			return err
		}
		dirty, err := uncommittedFiles(ctx, g)
		if err != nil {
			return err
		}
		if len(dirty) == 0 {
			return checkNowhereElse(ctx, g, rec.Tree)
		}
		if err := checkFinished(ctx, g, rec.Tree, dirty); err != nil {
			return err
		}
		commit, err = commitAll(ctx, g, dirty, message)
		return err
	})
	if unfinished := (*UnfinishedError)(nil); err != nil && !errors.As(err, &unfinished) { // the text of an UnfinishedError already names the folder
		err = fmt.Errorf("commit in %s: %w", t.Path, err)
	}
	return commit, err
}

// checkFinished returns an [*UnfinishedError] if a file has unresolved conflicts, or if the task's
// branch is not checked out, because a commit would then go to another branch.
func checkFinished(ctx context.Context, g git.Client, t Tree, dirty []File) error {
	var files []string
	for _, f := range dirty {
		if strings.Contains(f.State, "U") || f.State == "AA" || f.State == "DD" {
			files = append(files, f.Path)
		}
	}
	on, err := g.HeadBranch(ctx)
	if err != nil {
		return err
	}
	if len(files) > 0 || on != t.Branch {
		return &UnfinishedError{Tree: t, Files: files, On: on}
	}
	return nil
}

// checkNowhereElse returns an [*UnfinishedError] if the agent has switched to another branch or to
// a detached HEAD, and HEAD has commits that the task's branch lacks.
func checkNowhereElse(ctx context.Context, g git.Client, t Tree) error {
	on, err := g.HeadBranch(ctx)
	if err != nil || on == t.Branch {
		return err
	}
	head, err := g.CommitID(ctx, "HEAD")
	if err != nil || head == "" {
		return err
	}
	tip, err := g.CommitID(ctx, git.Heads+t.Branch)
	if err != nil {
		return err
	}
	if tip != "" {
		if has, err := g.Contains(ctx, tip, head); err != nil || has {
			return err
		}
	}
	return &UnfinishedError{Tree: t, On: on}
}

// commitAll commits the dirty (uncommitted) files except nested repositories, and returns the id of
// the commit. If only nested repositories are dirty, it commits nothing and returns "".
func commitAll(ctx context.Context, g git.Client, dirty []File, message string) (string, error) {
	without, err := nestedRepositories(ctx, g, dirty)
	if err != nil {
		return "", err
	}
	args := []string{"add", "--all", "--", "."}
	for _, path := range without {
		args = append(args, ":(exclude,literal)"+path)
	}
	if _, err := g.Run(ctx, args...); err != nil {
		return "", err
	}
	_, err = g.Run(ctx, "diff-index", "--cached", "--quiet", "HEAD")
	if git.ExitCode(err) != 1 { // exit code 1 means that there is something to commit
		return "", err
	}
	if g, err = g.WithAuthor(ctx); err != nil {
		return "", err
	}
	if _, err := g.Run(ctx, "commit", "--quiet", "--no-verify", "--no-gpg-sign", "--message", message); err != nil {
		return "", err
	}
	return g.CommitID(ctx, "HEAD")
}
