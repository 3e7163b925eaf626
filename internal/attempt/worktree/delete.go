package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"gaffer/internal/attempt/worktree/folder"
	"gaffer/internal/git"
)

// deleteWorktree deletes a worktree's folder, even if there is work in it, and removes the worktree
// from git's list of worktrees. The parameter list is a copy of that list. If the folder has
// content, but git does not list it as a linked worktree, deleteWorktree deletes nothing and
// returns a [*git.TakenError].
func (r *Repo) deleteWorktree(ctx context.Context, g git.Client, rec record, list []git.Worktree) error {
	e, registered := git.FindLinked(list, rec.Path)
	filled, err := folder.IsFilled(rec.Path)
	if err != nil {
		return err
	}
	if filled && !registered {
		return &git.TakenError{What: "folder", Name: rec.Path, By: "there is something in it, but git does not know it as a worktree", Advice: "move it away"}
	}
	if registered && rec.Made && rec.Removing == "" && e.Head != "" && e.Branch == "" {
		// Keep the commits of a detached HEAD: if no branch has them, git would lose them.
		if _, err := KeepCommit(ctx, g, rec.Tree, e.Head); err != nil {
			return err
		}
	}
	if err := removeFolder(rec.Path); err != nil {
		return err
	}
	if !registered {
		return nil
	}
	_, err = g.Run(ctx, "worktree", "remove", "--force", "--force", "--", rec.Path)
	return err
}

// removeFolder deletes a folder. It renames the folder first, so that a folder with the original
// name always has all of its files. It also deletes what an interrupted call has left. The new name
// begins with a dot. It cannot be the name of a task's folder, because ids of tasks never begin
// with a dot.
func removeFolder(path string) error {
	aside := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".removed")
	if err := folder.RemoveAll(aside); err != nil {
		return err
	}
	if err := os.Rename(path, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return folder.RemoveAll(aside)
}
