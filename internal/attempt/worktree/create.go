package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"gaffer/internal/attempt/worktree/folder"
	"gaffer/internal/git"
	"gaffer/statefile"
)

// Spec describes a worktree to create.
type Spec struct {
	Run, Task string // ids of the run and of the task; must be valid as file names
	// Base is the commit that the task's change is compared with. If Start is empty, a new branch
	// starts there.
	Base   git.Base
	Branch string // name of the branch; empty means gaffer/<run>/<task>
	Root   string // parent folder: the path of the worktree is <Root>/<run>/<task>

	// Start is the id of the commit at which a new branch starts. Empty means Base. Start differs
	// from Base only for a fork, which is a task that continues from another task. The branch of a
	// fork starts with the other task's work, which counts as part of the fork's change.
	Start string

	// Shared marks a branch that does not belong to this task alone. The branch may already exist
	// and have work on it. [Repo.Remove] does not delete this branch.
	Shared bool
}

// Create creates the worktree of a task. If the task already has one, Create returns it unchanged,
// with its work and its original base. If an earlier creation was interrupted, Create repeats it.
// If the user has deleted the folder, Create creates it again from the branch.
//
// It returns a [*git.TakenError] if the branch or the folder exists and does not belong to the
// task, or if the task has a worktree with another path or branch.
func (r *Repo) Create(ctx context.Context, s Spec) (Tree, error) {
	if err := r.MayWrite(); err != nil {
		return Tree{}, err
	}
	want, err := r.checkSpec(ctx, s)
	if err != nil {
		return Tree{}, err
	}
	var rec record
	err = r.Locked(ctx, func(g git.Client) error {
		if rec, err = r.beginCreation(ctx, g, want, s.Start); err != nil {
			return err
		}
		if err := r.finishCreation(ctx, g, &rec); err != nil {
			_ = r.undoCreation(ctx, g, rec) // if this fails, the next call of Create deletes the leftovers
			return err
		}
		return nil
	})
	if err != nil {
		return Tree{}, fmt.Errorf("worktree of task %s: %w", s.Task, err)
	}
	return rec.Tree, nil
}

// checkSpec checks a spec. It returns the worktree that the spec describes. If the spec names no
// branch, the worktree gets the default branch.
func (r *Repo) checkSpec(ctx context.Context, s Spec) (Tree, error) {
	if err := CheckIDs(s.Run, s.Task); err != nil {
		return Tree{}, err
	}
	if s.Branch == "" {
		s.Branch = BranchOf(s.Run, s.Task)
	}
	if err := r.Git.CheckBranchName(ctx, s.Branch); err != nil {
		return Tree{}, err
	}
	base, err := r.Git.CommitID(ctx, s.Base.Commit)
	if err != nil {
		return Tree{}, err
	}
	if base == "" {
		return Tree{}, &git.MissingError{What: "commit", Name: s.Base.Commit, Advice: ""}
	}
	root, err := r.prepareRoot(s.Root, s.Run)
	return Tree{
		Run: s.Run, Task: s.Task, Path: treePath(root, s.Run, s.Task),
		Branch: s.Branch, Base: s.Base, Shared: s.Shared,
	}, err
}

// prepareRoot creates the folder root/run for the worktrees of a run. It returns the path root with
// symbolic links resolved, because git reports the paths of worktrees in this form.
func (r *Repo) prepareRoot(root, run string) (string, error) {
	root, err := r.PrepareFolder(root)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, run)
	if err := statefile.MkdirAll(r.Host, dir); err != nil {
		return "", err
	}
	if actual, err := filepath.EvalSymlinks(dir); err != nil || actual != dir {
		return "", errors.Join(err, &git.TakenError{What: "folder", Name: dir, By: "it is a link", Advice: "put a folder in its place"})
	}
	return root, nil
}

// PrepareFolder creates a folder for worktrees. It returns the folder's path with symbolic links
// resolved, because git reports the paths of worktrees in this form. If the folder is inside the
// main worktree, PrepareFolder adds a .gitignore to it, so that git does not show the folder to the
// user as untracked.
func (r *Repo) PrepareFolder(root string) (string, error) {
	if root == "" {
		return "", &git.SpecError{Problem: "no folder for worktrees is given"}
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	if err := statefile.MkdirAll(r.Host, root); err != nil {
		return "", err
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return "", err
	}
	switch rel, err := filepath.Rel(r.Main(), root); {
	case err == nil && rel == ".":
		return "", &git.SpecError{Problem: "the folder for worktrees is the repository itself: " + root}
	case err == nil && filepath.IsLocal(rel):
		err := statefile.WriteNew(r.Host, filepath.Join(root, ".gitignore"), []byte("*\n"), 0o644)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	return root, nil
}

// beginCreation returns the record (state file) of the wanted worktree. If there is a record, but
// it describes a different worktree, beginCreation returns an error. If there is no record yet, it
// checks that the folder and the branch are free, and writes a record.
func (r *Repo) beginCreation(ctx context.Context, g git.Client, want Tree, start string) (record, error) {
	rec, err := r.records.read(want.Run, want.Task)
	if err == nil {
		return rec, sameSpec(rec.Tree, want)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return record{}, err
	}
	if err := checkFree(ctx, g, want); err != nil {
		return record{}, err
	}
	rec = record{Tree: want, Start: start}
	return rec, r.records.save(rec)
}

// sameSpec returns an error if the worktree that is recorded for a task differs from the wanted
// one. It does not compare the base, because the branch that the base came from may have moved.
func sameSpec(found, want Tree) error {
	found.Base = want.Base
	if found == want {
		return nil
	}
	return &git.TakenError{
		What: "task", Name: want.Task, By: fmt.Sprintf("it has a worktree at %s on branch %s already", found.Path, found.Branch),
		Advice: "remove that one first, or use it",
	}
}

// checkFree returns an error if the folder of a new worktree is not empty, or if its branch exists
// already. A branch that several tasks share may exist.
func checkFree(ctx context.Context, g git.Client, want Tree) error {
	if filled, err := folder.IsFilled(want.Path); err != nil {
		return err
	} else if filled {
		return &git.TakenError{What: "folder", Name: want.Path, By: "there is something in it that gaffer did not make", Advice: "move it away"}
	}
	tip, err := g.CommitID(ctx, git.Heads+want.Branch)
	if err == nil && tip != "" && !want.Shared {
		return branchTaken(want.Branch)
	}
	return err
}

func branchTaken(name string) error {
	return &git.TakenError{
		What: "branch", Name: name, By: "it is there already, and gaffer did not make it for this task",
		Advice: fmt.Sprintf("rename it with 'git branch -m %s NEW', delete it, or let the task have another one", git.Quote(name)),
	}
}

// finishCreation creates the worktree that rec describes, unless it is already complete. It first
// deletes what an interrupted creation has left.
func (r *Repo) finishCreation(ctx context.Context, g git.Client, rec *record) error {
	if rec.Made {
		if whole, err := r.isComplete(ctx, g, rec.Path); err != nil {
			return err
		} else if whole {
			if rec.Removing == "" {
				return nil
			}
			rec.Removing = "" // cancel a removal that was interrupted before it deleted anything
			return r.records.save(*rec)
		}
	}
	list, err := r.Worktrees(ctx, g)
	if err != nil {
		return err
	}
	if err := r.deleteWorktree(ctx, g, *rec, list); err != nil {
		return err
	}
	if err := checkOut(ctx, g, *rec, list); err != nil {
		return err
	}
	rec.Made, rec.Removing = true, ""
	return r.records.save(*rec)
}

// checkOut creates the worktree that rec describes, and its branch if that does not exist. It
// returns a [*git.TakenError] if the branch is checked out elsewhere, or was not created for this
// task.
func checkOut(ctx context.Context, g git.Client, rec record, list []git.Worktree) error {
	for _, e := range git.CheckedOut(list, rec.Branch) {
		if e.Path != rec.Path {
			return &git.TakenError{
				What: "branch", Name: rec.Branch, By: "it is checked out in " + e.Path,
				Advice: "check out another one there, or run 'git worktree prune' if that folder is gone",
			}
		}
	}
	tip, err := g.StartBranch(ctx, rec.Branch, rec.start())
	if err != nil {
		return err
	}
	if !rec.Made && !rec.Shared && tip != rec.start() {
		return branchTaken(rec.Branch)
	}
	_, err = g.Run(ctx, "worktree", "add", "--quiet", "--", rec.Path, rec.Branch)
	return err
}

// undoCreation deletes what an incomplete creation has left, so that the caller can call Create
// again with another Spec. It does nothing if the worktree was completely created earlier. It also
// does nothing if ctx has ended: then the next call of Create completes the creation.
func (r *Repo) undoCreation(ctx context.Context, g git.Client, rec record) error {
	if rec.Made || ctx.Err() != nil {
		return nil
	}
	list, err := r.Worktrees(ctx, g)
	if err != nil {
		return err
	}
	if err := r.deleteWorktree(ctx, g, rec, list); err != nil {
		return err
	}
	if !rec.Shared && len(git.CheckedOut(list, rec.Branch)) == 0 {
		// Ignore an error: it means that the branch does not exist or is at another commit. In both
		// cases, this creation did not create the branch.
		_, _ = g.Run(ctx, "update-ref", "-d", git.Heads+rec.Branch, rec.start())
	}
	return r.records.delete(rec)
}

// isComplete reports whether the folder at path is a worktree of the repository. If the folder is
// not empty and not a worktree, it returns an error, because it is unknown where the files come
// from.
func (r *Repo) isComplete(ctx context.Context, g git.Client, path string) (bool, error) {
	filled, err := folder.IsFilled(path)
	if !filled || err != nil {
		return false, err
	}
	if _, err := r.GitFolder(path); err == nil {
		return true, nil
	}
	// Let git repair the links between worktrees and repository, in case the folder was moved.
	if _, err := g.Run(ctx, "worktree", "repair"); err != nil {
		return false, err
	}
	_, err = r.GitFolder(path)
	return err == nil, err
}
