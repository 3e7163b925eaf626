// Package worktree creates a git worktree and a branch for each task of a run. It deletes the
// worktree without losing the work in it. Package merge merges the branches.
//
// The data of this package is in the repository's git folder:
//
//	gaffer/trees/<run>/<task>.json  the record of one worktree
//
// Refs of the repository keep the content of worktrees that were removed or discarded:
//
//	refs/gaffer/rescue/<run>/<task>     the content of a removed worktree
//	refs/gaffer/discarded/<run>/<task>  a worktree that the user has discarded
//
// A record is written before its worktree is created, and deleted after its worktree was deleted.
// So after a crash, the next process finds the record and repeats the same steps, which are
// idempotent.
//
// The user's own worktree and index are never changed.
//
// Submodules are not supported: they are not checked out, and a worktree that contains another
// repository is not removed.
package worktree

import (
	"context"

	"gaffer/internal/git"
)

// Repo is a git repository with worktrees for tasks. It keeps no files open. It is safe for
// concurrent use, also by several processes.
type Repo struct {
	*git.Repo
	records records
}

// Open finds the repository that contains the folder dir. dir may also be in a linked worktree.
// Open returns an [*git.OpenError] if the repository cannot be used.
func Open(ctx context.Context, dir string) (*Repo, error) {
	r, err := git.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	return &Repo{r, records{r}}, nil
}
