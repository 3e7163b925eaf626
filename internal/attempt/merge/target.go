package merge

import (
	"context"
	"errors"
	"strings"

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/git"
)

// target is the branch that a merge moves. If a worktree has the branch checked out, the files in
// that worktree change together with the branch. The worktree may belong to the user.
type target struct {
	repo      *worktree.Repo
	branch    string
	worktrees []git.Worktree // all worktrees of the repository; set by the method read
}

// read stores a list of the repository's worktrees in t. The caller must call it before the other
// methods.
func (t *target) read(ctx context.Context, g git.Client) (err error) {
	t.worktrees, err = t.repo.Worktrees(ctx, g)
	return err
}

// checkedOut returns the worktrees that have the branch checked out.
func (t *target) checkedOut() []git.Worktree { return git.CheckedOut(t.worktrees, t.branch) }

// checkConsent returns a [*ConsentError] if a worktree has the branch checked out and the user has
// not agreed that the files in that worktree change.
func (t *target) checkConsent(agreed bool) error {
	if where := t.checkedOut(); len(where) > 0 && !agreed {
		return &ConsentError{t.branch, where[0].Path}
	}
	return nil
}

// checkMovable returns a [*TargetError] if the branch cannot be moved: a rebase of it is
// unfinished, several worktrees have it checked out, or the worktree that has it checked out is
// missing or has uncommitted changes.
func (t *target) checkMovable(ctx context.Context, g git.Client) error {
	where := t.checkedOut()
	if len(where) == 0 {
		return t.checkNoRebase()
	}
	refuse := &TargetError{Branch: t.branch, Path: where[0].Path}
	if len(where) > 1 {
		refuse.Problem = "checked out in " + where[1].Path + " as well"
		return refuse
	}
	if _, err := t.repo.GitFolder(where[0].Path); err != nil && where[0].Path != t.repo.Main() {
		refuse.Problem = "its folder is gone ('git worktree prune' makes git forget it) or is not a worktree any more"
		return refuse
	}
	out, err := g.In(where[0].Path).Run(ctx, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=no")
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

// checkNoRebase returns a [*TargetError] if a rebase of the branch is not finished.
func (t *target) checkNoRebase() error {
	path, err := t.repo.FindRebase(t.branch)
	if err != nil || path == "" {
		return err
	}
	return &TargetError{Branch: t.branch, Path: path, Problem: "a rebase of it is not finished"}
}

// forward fast-forwards the branch from the commit old to the given commit, together with the files
// of the worktree at path. That worktree may belong to the user. Git refuses to overwrite files
// that the user has changed. With --no-overwrite-ignore it also refuses to overwrite ignored files.
// The other options override settings of the user with which git would not do a plain fast-forward.
func (t *target) forward(ctx context.Context, g git.Client, path, old, commit string) error {
	g = g.In(path)
	if on, err := g.HeadBranch(ctx); err != nil {
		return err
	} else if on != t.branch {
		return errMoved
	}
	_, err := g.Run(ctx, "merge", "--ff-only", "--quiet", "--no-stat", "--no-autostash", "--no-verify-signatures",
		"--no-overwrite-ignore", "--no-squash", "--commit", commit)
	err = t.orMoved(ctx, g, old, err)
	if git.ExitCode(err) > 0 {
		e, _ := errors.AsType[*git.Error](err)
		return &TargetError{Branch: t.branch, Path: path, Problem: e.Said}
	}
	return err
}

// back moves the branch from the commit old back to an earlier commit, together with the files of
// the worktree at path. Files that the user has changed keep their changes. If the move would
// overwrite such changes, git refuses to move the branch.
func (t *target) back(ctx context.Context, g git.Client, path, old, commit string) error {
	if len(t.checkedOut()) > 1 {
		return &TargetError{Branch: t.branch, Path: path, Problem: "checked out in another worktree as well"}
	}
	g = g.In(path)
	on, err := g.HeadBranch(ctx)
	if err != nil {
		return err
	}
	head, err := g.CommitID(ctx, "HEAD")
	if err != nil {
		return err
	}
	if on != t.branch || head != old {
		return errMoved
	}
	_, err = g.Run(ctx, "reset", "--keep", "--quiet", commit)
	if e, ok := errors.AsType[*git.Error](err); ok {
		return &TargetError{Branch: t.branch, Path: path, Problem: e.Said}
	}
	return err
}

// orMoved handles the error of a git command that should move the branch. If the command failed and
// the branch is not at the commit old, orMoved returns errMoved. Otherwise it returns err.
func (t *target) orMoved(ctx context.Context, g git.Client, old string, err error) error {
	if git.ExitCode(err) <= 0 {
		return err
	}
	if now, e := g.CommitID(ctx, git.Heads+t.branch); e == nil && now != old {
		return errMoved
	}
	return err
}
