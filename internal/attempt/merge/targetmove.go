package merge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/git"
)

// maxTries is how often gaffer tries a merge if another program moves a branch during each try.
const maxTries = 5

var errMoved = errors.New("the branch was moved by another program again and again")

// targetMove is one try to move a target branch to a commit that contains other branches. If
// another program moves the target or one of the other branches during the try, the error is
// errMoved.
type targetMove struct {
	repo     *worktree.Repo
	git      git.Client // set by the method locked; valid only while it runs
	target   target
	branches []string
	check    func(ctx context.Context, dir string) error // nil means no check
	// folder is the temporary worktree in which the result is checked, with its lock. It is nil if
	// there is no check. The exception is a call of [Land]: it always sets folder, because the lock
	// ensures that such calls run one after the other.
	folder *checkFolder

	tips   []string // ids of the last commits of the branches, in the order of the field branches
	before string   // id of the target's last commit before the move
	after  string   // id of the target's new commit; equal to before if there is none
}

func newTargetMove(repo *worktree.Repo, into string, branches []string, check func(ctx context.Context, dir string) error, folder *checkFolder) targetMove {
	return targetMove{repo: repo, target: target{repo: repo, branch: into}, branches: branches, check: check, folder: folder}
}

// step is a function that a targetMove calls while it holds the repository's lock.
type step func(context.Context) error

// run reads which commits the branches point to, calls the functions in build to create the new
// commits, checks the result, and calls publish to move the target branch. The repository is not
// locked during the check. So run calls publish only if no branch has moved in the meantime.
func (t *targetMove) run(ctx context.Context, publish step, build ...step) error {
	if t.folder == nil {
		return t.locked(ctx, append(append([]step{t.readBranches}, build...), publish)...)
	}
	defer t.folder.clean()
	err := t.locked(ctx, append(append([]step{t.clearCheckFolder, t.readBranches}, build...), t.checkOut)...)
	if err != nil || t.after == t.before {
		return err
	}
	if err := t.runCheck(ctx); err != nil {
		t.removeSite(ctx)
		return err
	}
	return t.locked(ctx, t.clearCheckFolder, t.checkUnmoved, publish)
}

// locked runs steps in order while it holds the repository's lock. It stops at the first step that
// fails.
func (t *targetMove) locked(ctx context.Context, steps ...step) error {
	return t.repo.Locked(ctx, func(g git.Client) (err error) {
		if t.git, err = g.WithAuthor(ctx); err != nil {
			return err
		}
		for _, step := range steps {
			if err := step(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// readBranches stores the ids of the last commits of the target and of the other branches in t.
func (t *targetMove) readBranches(ctx context.Context) (err error) {
	if err = t.target.read(ctx, t.git); err != nil {
		return err
	}
	if t.before, err = tipOf(ctx, t.git, t.target.branch); err != nil {
		return err
	}
	t.after = t.before
	for _, name := range t.branches {
		tip, err := tipOf(ctx, t.git, name)
		if err != nil {
			return err
		}
		t.tips = append(t.tips, tip)
	}
	return nil
}

// tipOf returns the id of a branch's last commit. It returns a [*git.MissingError] if the branch
// does not exist.
func tipOf(ctx context.Context, g git.Client, branch string) (string, error) {
	tip, err := g.CommitID(ctx, git.Heads+branch)
	if err == nil && tip == "" {
		err = &git.MissingError{What: "branch", Name: branch, Advice: "'git branch --list' shows those that are there"}
	}
	return tip, err
}

// checkUnmoved returns errMoved if the target or another branch has moved since readBranches. It
// also checks again that the target can be moved.
func (t *targetMove) checkUnmoved(ctx context.Context) error {
	if err := t.target.read(ctx, t.git); err != nil {
		return err
	}
	names := append([]string{t.target.branch}, t.branches...)
	tips := append([]string{t.before}, t.tips...)
	for i, name := range names {
		now, err := tipOf(ctx, t.git, name)
		if err != nil {
			return err
		}
		if now != tips[i] {
			return errMoved
		}
	}
	return t.target.checkMovable(ctx, t.git)
}

// clearCheckFolder removes the temporary worktree of this try or of an earlier one.
func (t *targetMove) clearCheckFolder(ctx context.Context) error {
	return t.folder.moveAway(ctx, t.git)
}

// checkOut creates the temporary worktree with the merged files, unless there is nothing to check.
func (t *targetMove) checkOut(ctx context.Context) error {
	if t.check == nil || t.after == t.before {
		return nil
	}
	err := t.folder.checkOut(ctx, t.git, t.target.branch, t.after)
	if err != nil && ctx.Err() == nil {
		_ = t.clearCheckFolder(ctx) // if this fails, the next merge deletes the leftovers
	}
	return err
}

func (t *targetMove) runCheck(ctx context.Context) error {
	if t.check == nil {
		return nil
	}
	err := t.check(ctx, t.folder.path)
	switch {
	case ctx.Err() != nil:
		// The check was stopped, so its own result does not count.
		return fmt.Errorf("check: %w", context.Cause(ctx))
	case err != nil:
		return &CheckError{Into: t.target.branch, Commit: t.after, Err: err}
	}
	return nil
}

// cleanupTime is the time limit for cleaning up after a step that failed or was stopped.
const cleanupTime = 10 * time.Second

// removeSite deletes the temporary worktree after a check that failed or was stopped. If that
// fails, the next merge deletes the worktree.
func (t *targetMove) removeSite(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer stop()
	_ = t.locked(ctx, t.clearCheckFolder)
}
