package worktree

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// TargetError is a branch that is checked out in a worktree that cannot be
// moved forward with it. Nothing was changed.
type TargetError struct {
	Branch, Path string
	Files        []string // that are changed in the worktree
	Problem      string   // if it is another one
}

func (e *TargetError) Error() string {
	problem := e.Problem
	if problem == "" {
		problem = fmt.Sprintf("%s not committed: %s", count(len(e.Files), "file"), some(e.Files))
	}
	return fmt.Sprintf("branch %s is checked out in %s: %s", e.Branch, e.Path, problem)
}

// Conflict marks the error as one about the state of things.
func (e *TargetError) Conflict() bool { return true }

// Hint says what to do next.
func (e *TargetError) Hint() string {
	path := Quote(e.Path)
	if len(e.Files) > 0 {
		return fmt.Sprintf("commit them, or put them aside with 'git -C %s stash', and merge again", path)
	}
	return fmt.Sprintf("put that right, or check out another branch with 'git -C %s switch', and merge again", path)
}

// checkTarget refuses a branch that is checked out where it cannot be moved
// forward.
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

// checkRebase refuses a branch that somebody rebases, which then is checked out
// nowhere: git could not finish that any more.
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

// folderOf is the worktree that a git folder belongs to.
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

// publish moves the branch from where it was to what was made.
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

// forward is the one step that touches a worktree which may be a person's. Git
// refuses it if it would overwrite anything, but for ignored files, which it must
// be told; and no setting may have it do less than a merge.
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

// orMoved is errMoved in the place of an error that is due to that.
func (m *merger) orMoved(ctx context.Context, err error) error {
	if exitCode(err) <= 0 {
		return err
	}
	if now, e := m.git.commit(ctx, headsPrefix+m.spec.Into); e == nil && now != m.result.Before {
		return errMoved
	}
	return err
}
