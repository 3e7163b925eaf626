package merge

import (
	"context"
	"fmt"

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/git"
)

// Rebased is the result of a rebase.
type Rebased struct {
	Before string   `json:"before"` // tip of the task's branch before the rebase
	After  string   `json:"after"`
	Base   git.Base `json:"base"`   // commit and branch from which the task's branch starts after the rebase
	Rescue string   `json:"rescue"` // name of the ref that keeps Before; empty if nothing changed
}

// Rebase replaces the commits of a task's branch by copies on top of the branch onto, and updates
// the files of the task's worktree. A ref, the rescue ref, keeps the old commits. Rebase returns a
// [*ConflictError] on a conflict, and a [*worktree.UnfinishedError] if the worktree has uncommitted
// files.
func Rebase(ctx context.Context, repo *worktree.Repo, t worktree.Tree, onto string) (done Rebased, err error) {
	if err := repo.MayWrite(); err != nil {
		return done, err
	}
	l := lander{spec: LandSpec{Into: onto}, targetMove: newTargetMove(repo, onto, nil, nil, nil)}
	find := func(context.Context) (err error) {
		l.spec.Tree, err = repo.Find(t)
		l.branches = []string{l.spec.Tree.Branch}
		return err
	}
	rebase := func(ctx context.Context) (err error) {
		done.Before, done.Base = l.tips[0], git.Base{Commit: l.before, Branch: onto}
		b := commitBuilder{git: l.git, target: &l.target, branch: l.spec.Tree.Branch, tip: done.Before, earlier: l.earlier}
		if done.After, err = b.copyCommits(ctx, done.Base.Commit); err != nil {
			return err
		}
		if done.After != done.Before {
			if done.Rescue, err = worktree.KeepCommit(ctx, l.git, l.spec.Tree, done.Before); err != nil {
				return err
			}
			if err := repo.MoveBranch(ctx, l.git, l.spec.Tree, done.Before, done.After); err != nil {
				return err
			}
		}
		return repo.SetBase(l.spec.Tree, done.Base) // after a crash before this call, a repeated Rebase sets the base
	}
	err = l.locked(ctx, find, l.readBranches, l.readLandings, rebase)
	if err != nil {
		return done, fmt.Errorf("rebase %s onto %s: %w", t.Branch, onto, err)
	}
	return done, nil
}
