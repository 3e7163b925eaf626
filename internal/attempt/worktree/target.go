package worktree

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
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
		problem = fmt.Sprintf("%s not committed: %s", count(len(e.Files), "file"), some(e.Files))
	}
	return fmt.Sprintf("branch %s is checked out in %s: %s", e.Branch, e.Path, problem)
}

// Conflict marks the error as a conflict with the current state.
func (e *TargetError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *TargetError) Hint() string {
	path := Quote(e.Path)
	if len(e.Files) > 0 {
		return fmt.Sprintf("commit them, or put them aside with 'git -C %s stash', and merge again", path)
	}
	return fmt.Sprintf("put that right, or check out another branch with 'git -C %s switch', and merge again", path)
}

// checkTarget returns an error if the target branch is checked out in a worktree that
// cannot be moved forward.
func (m *merger) checkTarget(ctx context.Context) error {
	where := holders(m.list, m.spec.Into)
	if len(where) == 0 {
		return m.repo.checkRebase(m.spec.Into)
	}
	refuse := &TargetError{Branch: m.spec.Into, Path: where[0].path}
	if len(where) > 1 {
		refuse.Problem = "checked out in " + where[1].path + " as well"
		return refuse
	}
	if _, err := m.repo.gitFolder(where[0].path); err != nil && where[0].path != m.repo.main {
		refuse.Problem = "its folder is gone ('git worktree prune' makes git forget it) or is not a worktree any more"
		return refuse
	}
	out, err := m.git.in(where[0].path).run(ctx, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=no")
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

// checkRebase returns an error if the branch is being rebased. It is not checked out
// anywhere then, and git could not finish the rebase if the branch moved.
func (r *Repo) checkRebase(branch string) error {
	linked, err := names(filepath.Join(r.common, "worktrees"))
	if err != nil {
		return err
	}
	dirs := []string{r.common}
	for _, name := range linked {
		dirs = append(dirs, filepath.Join(r.common, "worktrees", name))
	}
	for _, dir := range dirs {
		for _, kind := range []string{"rebase-merge", "rebase-apply"} {
			if on, err := readPointer(filepath.Join(dir, kind, "head-name")); err == nil && on == headsPrefix+branch {
				return &TargetError{Branch: branch, Path: r.folderOf(dir), Problem: "a rebase of it is not finished"}
			}
		}
	}
	return nil
}

// folderOf returns the worktree that a git folder belongs to.
func (r *Repo) folderOf(gitFolder string) string {
	if gitFolder == r.common {
		return r.main
	}
	link, err := readPointer(filepath.Join(gitFolder, "gitdir"))
	if err != nil {
		return gitFolder
	}
	return filepath.Dir(link)
}

// publish moves the target branch to the merged commit, if it has not moved meanwhile.
func (m *merger) publish(ctx context.Context) error {
	if m.result.After == m.result.Before {
		return nil
	}
	where := holders(m.list, m.spec.Into)
	if len(where) == 0 {
		_, err := m.git.run(ctx, "update-ref", "-m", "gaffer: merge", headsPrefix+m.spec.Into, m.result.After, m.result.Before)
		return m.orMoved(ctx, err)
	}
	err := m.forward(ctx, where[0].path)
	if err == nil {
		m.result.Updated = where[0].path
	}
	return err
}

// forward moves the worktree with the target branch forward. It is the only step that
// changes a worktree which may be the user's. Git refuses to overwrite changed files.
// The options extend that to ignored files, and override settings that would do less
// than a merge.
func (m *merger) forward(ctx context.Context, path string) error {
	g := m.git.in(path)
	on, err := g.line(ctx, "symbolic-ref", "--quiet", "HEAD")
	if exitCode(err) == 1 || err == nil && on != headsPrefix+m.spec.Into {
		return errMoved
	}
	if err != nil {
		return err
	}
	_, err = g.run(ctx, "merge", "--ff-only", "--quiet", "--no-stat", "--no-autostash", "--no-verify-signatures",
		"--no-overwrite-ignore", "--no-squash", "--commit", m.result.After)
	err = m.orMoved(ctx, err)
	if exitCode(err) > 0 {
		e, _ := errors.AsType[*GitError](err)
		return &TargetError{Branch: m.spec.Into, Path: path, Problem: e.Said}
	}
	return err
}

// orMoved returns errMoved if the error was caused by a moved branch, or else err.
func (m *merger) orMoved(ctx context.Context, err error) error {
	if exitCode(err) <= 0 {
		return err
	}
	if now, e := m.git.commit(ctx, headsPrefix+m.spec.Into); e == nil && now != m.result.Before {
		return errMoved
	}
	return err
}
