package workspace

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/git"
)

// CommitWork commits the uncommitted work in the worktree t of a task. name is the name of the
// task, which becomes part of the commit's title. If the worktree's folder is missing, CommitWork
// does nothing, because there is nothing left to commit.
func CommitWork(ctx context.Context, repo *worktree.Repo, t worktree.Tree, name string) error {
	body := fmt.Sprintf("Task %s of run %s left this uncommitted.\n", t.Task, t.Run)
	_, err := repo.Commit(ctx, t, workTitle(t.Task, name)+"\n\n"+body)
	if gone := (*git.MissingError)(nil); errors.As(err, &gone) {
		return nil
	}
	return err
}

// titleWidth is the length to which a long commit title is cut, in characters.
const titleWidth = 72

// workTitle returns the title of a commit with the work of a task.
func workTitle(task, name string) string {
	name, _, _ = strings.Cut(strings.TrimSpace(name), "\n")
	if name == "" || name == task {
		return "Work of task " + task
	}
	return cutTitle(task + ": " + name)
}

// MergeTitle returns the title of a commit that merges the work of a task.
func MergeTitle(task, name string) string {
	name, _, _ = strings.Cut(strings.TrimSpace(name), "\n")
	if name == "" || name == task {
		return "Merge task " + task
	}
	return cutTitle("Merge " + task + ": " + name)
}

func cutTitle(title string) string {
	if c := []rune(title); len(c) > titleWidth {
		return strings.TrimSpace(string(c[:titleWidth-1])) + "…"
	}
	return title
}
