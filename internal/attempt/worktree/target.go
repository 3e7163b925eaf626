package worktree

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gaffer/internal/git"
)

// TargetError reports that the target branch is checked out in a worktree that cannot
// be moved forward. Nothing was changed.
type TargetError struct {
	Branch, Path string
	Files        []string // changed files in the worktree
	Problem      string   // another problem, if there is one
}

func (e *TargetError) Error() string {
	problem := e.Problem
	if problem == "" {
		problem = fmt.Sprintf("%s not committed: %s", git.Count(len(e.Files), "file"), git.FirstFew(e.Files))
	}
	return fmt.Sprintf("branch %s is checked out in %s: %s", e.Branch, e.Path, problem)
}

// Conflict marks the error as a conflict with the current state.
func (e *TargetError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *TargetError) Hint() string {
	path := git.Quote(e.Path)
	if len(e.Files) > 0 {
		return fmt.Sprintf("commit them, or put them aside with 'git -C %s stash', and merge again", path)
	}
	return fmt.Sprintf("put that right, or check out another branch with 'git -C %s switch', and merge again", path)
}

// checkTarget returns an error if the target branch is checked out in a worktree that
// cannot be moved forward.
func (m *merger) checkTarget(ctx context.Context) error {
	where := git.CheckedOut(m.list, m.spec.Into)
	if len(where) == 0 {
		return m.repo.checkRebase(m.spec.Into)
	}
	refuse := &TargetError{Branch: m.spec.Into, Path: where[0].Path}
	if len(where) > 1 {
		refuse.Problem = "checked out in " + where[1].Path + " as well"
		return refuse
	}
	if _, err := m.repo.GitFolder(where[0].Path); err != nil && where[0].Path != m.repo.Main() {
		refuse.Problem = "its folder is gone ('git worktree prune' makes git forget it) or is not a worktree any more"
		return refuse
	}
	out, err := m.git.In(where[0].Path).Run(ctx, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=no")
	if err != nil {
		return err
	}
	for line := range strings.SplitSeq(out, "\x00") {
		if len(line) > 3 {
			refuse.Files = append(refuse.Files, line[3:])
		}
	}
	if len(refuse.Files) > 0 {
		return refuse
	}
	return nil
}

// checkRebase returns an error if the branch is being rebased.
func (r *Repo) checkRebase(branch string) error {
	path, err := r.FindRebase(branch)
	if err != nil || path == "" {
		return err
	}
	return &TargetError{Branch: branch, Path: path, Problem: "a rebase of it is not finished"}
}

// publish moves the target branch to the merged commit, if it has not moved meanwhile.
func (m *merger) publish(ctx context.Context) error {
	if m.result.After == m.result.Before {
		return nil
	}
	where := git.CheckedOut(m.list, m.spec.Into)
	if len(where) == 0 {
		_, err := m.git.Run(ctx, "update-ref", "-m", "gaffer: merge", git.Heads+m.spec.Into, m.result.After, m.result.Before)
		return m.orMoved(ctx, err)
	}
	err := m.forward(ctx, where[0].Path)
	if err == nil {
		m.result.Updated = where[0].Path
	}
	return err
}

// forward moves the worktree with the target branch forward. It is the only step that
// changes a worktree which may be the user's. Git refuses to overwrite changed files.
// The options extend that to ignored files, and override settings that would do less
// than a merge.
func (m *merger) forward(ctx context.Context, path string) error {
	g := m.git.In(path)
	if on, err := g.HeadBranch(ctx); err != nil {
		return err
	} else if on != m.spec.Into {
		return errMoved
	}
	_, err := g.Run(ctx, "merge", "--ff-only", "--quiet", "--no-stat", "--no-autostash", "--no-verify-signatures",
		"--no-overwrite-ignore", "--no-squash", "--commit", m.result.After)
	err = m.orMoved(ctx, err)
	if git.ExitCode(err) > 0 {
		e, _ := errors.AsType[*git.Error](err)
		return &TargetError{Branch: m.spec.Into, Path: path, Problem: e.Said}
	}
	return err
}

// orMoved returns errMoved if the error was caused by a moved branch, or else err.
func (m *merger) orMoved(ctx context.Context, err error) error {
	if git.ExitCode(err) <= 0 {
		return err
	}
	if now, e := m.git.CommitID(ctx, git.Heads+m.spec.Into); e == nil && now != m.result.Before {
		return errMoved
	}
	return err
}
