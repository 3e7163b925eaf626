// Package worktree creates a git worktree and a branch for each task of a run. It
// merges the branches, and deletes worktrees without losing the work in them.
//
// Its state is in the repository's git folder:
//
//	gaffer/trees/<run>/<task>.json  the record of one worktree
//	gaffer/checks/<name>.json       the worktree in which a merge is checked
//	gaffer/checks/<name>.lock       held by the process that checks the merge
//
// The repository's refs keep what was landed, taken back and discarded, so that nothing
// is lost and a crash leaves no doubt:
//
//	refs/gaffer/undo/<run>/<task>/<n>    a landing: the target's commits before and after
//	refs/gaffer/undone/<run>/<task>/<n>  a landing that was taken back
//	refs/gaffer/rescue/<run>/<task>      the content of a removed worktree
//	refs/gaffer/discarded/<run>/<task>   a worktree that the user has discarded
//
// A record is written before the thing that it describes, and deleted after it. So a
// process that finds a record knows what was started and repeats the same steps, which
// are idempotent.
//
// The user's own worktree and index are never changed, with two exceptions. [Repo.Merge]
// moves a worktree forward if it has the target branch checked out and no changed
// files. [Repo.Land] and [Repo.Undo] do so only if the caller says that the user agrees.
//
// Submodules are not supported: they are not checked out, and a worktree that contains
// another repository is not removed.
package worktree

import (
	"context"

	"gaffer/internal/git"
)

// Repo is a git repository with worktrees for tasks.
type Repo struct{ *git.Repo }

// Open finds the repository of a folder, which may be anywhere in it or in a linked
// worktree. It returns an [*OpenError] if the repository cannot be used.
func Open(ctx context.Context, dir string) (*Repo, error) {
	r, err := git.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	return &Repo{r}, nil
}
