package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"gaffer/internal/attempt/snapshot"
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/git"
	"gaffer/internal/plan"
)

// forkStart returns where the branch of a fork starts. A fork is a task that continues from another
// task, the original, which f names. The result base is the commit that the original task's files
// are compared with to show what it changed. The fork's files are compared with the same commit, so
// the fork's change includes the work that the fork starts with. The result start is a commit with
// the original task's files at the end of attempt f.Attempt; the fork's branch starts there. If
// f.Attempt is 0, start is empty, and the branch starts at base.
func forkStart(ctx context.Context, repo *worktree.Repo, f plan.Fork) (base git.Base, start string, err error) {
	kept, err := snapshot.Attempts(ctx, repo, f.Run, f.Task)
	if err != nil {
		return base, "", err
	}
	tree, err := repo.Lookup(f.Run, f.Task)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return base, "", err
	}
	base = tree.Base // the zero value if the worktree was removed
	missing := &git.MissingError{
		What: "content of the worktree of task", Name: f.Run + "/" + f.Task, Advice: "the task had no worktree of its own, or its files were deleted with its run",
	}
	if f.Attempt == 0 {
		if base.Commit == "" && len(kept) > 0 {
			base.Commit = kept[slices.Min(slices.Collect(maps.Keys(kept)))].Base
		}
		if base.Commit == "" {
			return base, "", missing
		}
		return base, "", nil
	}
	k, ok := kept[f.Attempt]
	if !ok {
		missing.What = fmt.Sprintf("content at the end of attempt %d of task", f.Attempt)
		return base, "", missing
	}
	base.Commit = k.Base
	committed, err := repo.Git.Resolve(ctx, k.Tip+"^{tree}")
	if err != nil || committed == k.Tree {
		return base, k.Tip, err
	}
	message := fmt.Sprintf("Uncommitted work of task %s\n\nA task was forked from attempt %d of task %s of run %s.\n", f.Task, f.Attempt, f.Task, f.Run)
	g := repo.Git.With("GIT_AUTHOR_NAME=gaffer", "GIT_AUTHOR_EMAIL=gaffer@localhost", "GIT_COMMITTER_NAME=gaffer", "GIT_COMMITTER_EMAIL=gaffer@localhost")
	start, err = g.CommitTree(ctx, k.Tree, message, k.Tip)
	return base, start, err
}
