package worktree

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"gaffer/internal/attempt/worktree/folder"
	"gaffer/internal/git"
)

// discardedPrefix is the start of the names of refs that describe discarded worktrees: worktrees
// that the user has removed and can restore. Such a ref is created before its worktree is removed,
// and deleted after its worktree was restored.
const discardedPrefix = "refs/gaffer/discarded/"

// Discarded describes a worktree that the user has discarded.
type Discarded struct {
	Tree   Tree   `json:"tree"`
	Rescue string `json:"rescue"` // name of the ref that keeps the worktree's content
	Head   string `json:"head"`   // id of the commit that the worktree had checked out
}

func discardedRef(t Tree) string {
	return discardedPrefix + git.RefPart(t.Run) + "/" + git.RefPart(t.Task)
}

// Discard removes the worktree of a task, and keeps its content under a rescue ref, whose name
// begins with refs/gaffer/rescue/. The branch stays. [Repo.Restore] brings the worktree back. Like
// [Repo.Remove], Discard returns a [*KeptError] if the worktree is in use, locked, or contains
// another repository. If an earlier removal was interrupted, Discard continues it.
func (r *Repo) Discard(ctx context.Context, t Tree) (done Discarded, err error) {
	err = r.Locked(ctx, func(g git.Client) error {
		rec, err := r.records.find(t)
		if missing := (*git.MissingError)(nil); errors.As(err, &missing) {
			if d, ok, e := findDiscarded(ctx, g, t); e == nil && ok { // an earlier call has removed the worktree
				done = d
				return nil
			}
		}
		if err != nil {
			return err
		}
		filled, err := folder.IsFilled(rec.Path)
		if err != nil {
			return err
		}
		recorded := false
		if rec.Removing != "" && !filled { // an earlier call was interrupted after it deleted the folder
			done, recorded, err = findDiscarded(ctx, g, t)
		}
		if err == nil && !recorded { // also if an interrupted call was one of Remove, which creates no discarded ref
			done, err = r.recordDiscarded(ctx, g, &rec)
		}
		if err != nil {
			return err
		}
		list, err := r.Worktrees(ctx, g)
		if err != nil {
			return err
		}
		if err := r.deleteWorktree(ctx, g, rec, list); err != nil {
			return err
		}
		return r.records.delete(rec)
	})
	return done, err
}

// recordDiscarded keeps the content of a worktree under a rescue ref (see [Repo.Rescue]). It also
// creates a second ref, in which [Repo.Restore] finds the description of the worktree.
func (r *Repo) recordDiscarded(ctx context.Context, g git.Client, rec *record) (done Discarded, err error) {
	if g, err = g.WithAuthor(ctx); err != nil {
		return done, err
	}
	if err := r.release(ctx, g, rec, true); err != nil {
		return done, err
	}
	done = Discarded{Tree: rec.Tree, Rescue: rec.Removing}
	if done.Head, err = r.HeadOf(ctx, g, rec.Tree); err != nil {
		return done, err
	}
	text, err := json.Marshal(done)
	if err != nil {
		return done, err
	}
	tree, err := g.Resolve(ctx, done.Rescue+"^{tree}")
	if err != nil {
		return done, err
	}
	note, err := g.CommitTree(ctx, tree, "gaffer: discarded\n\n"+string(text)+"\n", slices.Compact([]string{done.Head, rec.Base.Commit})...)
	if err != nil {
		return done, err
	}
	_, err = g.Run(ctx, "update-ref", "-m", "gaffer: discard", discardedRef(rec.Tree), note)
	return done, err
}

// HeadOf returns the commit that a worktree has checked out. If the worktree's folder is missing,
// it returns the newest commit of the task's branch. If the branch is missing too, it returns the
// worktree's base commit.
func (r *Repo) HeadOf(ctx context.Context, g git.Client, t Tree) (string, error) {
	head, err := "", error(nil)
	if filled, e := folder.IsFilled(t.Path); e == nil && filled {
		at, err := r.inTree(g, t)
		if err != nil {
			return "", err
		}
		if head, err = at.CommitID(ctx, "HEAD"); err != nil {
			return "", err
		}
	}
	if head == "" {
		head, err = g.CommitID(ctx, git.Heads+t.Branch)
	}
	if head == "" {
		head = t.Base.Commit
	}
	return head, err
}

// Discarded returns the discarded worktrees of a run, or of all runs if run is empty.
func (r *Repo) Discarded(ctx context.Context, run string) ([]Discarded, error) {
	return listDiscarded(ctx, r.Git, run)
}

func listDiscarded(ctx context.Context, g git.Client, run string) ([]Discarded, error) {
	prefix := discardedPrefix
	if run != "" {
		prefix += git.RefPart(run) + "/"
	}
	out, err := g.Run(ctx, "for-each-ref", "--format=%(contents:body)%00", prefix)
	var list []Discarded
	for text := range strings.SplitSeq(out, "\x00") {
		var d Discarded
		if json.Unmarshal([]byte(text), &d) != nil || !git.IsID(d.Head) || run != "" && d.Tree.Run != run {
			continue // skip a ref that does not describe a discarded worktree of the run
		}
		list = append(list, d)
	}
	return list, err
}

// findDiscarded returns the discarded worktree of a task, and whether there is one.
func findDiscarded(ctx context.Context, g git.Client, t Tree) (Discarded, bool, error) {
	list, err := listDiscarded(ctx, g, t.Run)
	if i := slices.IndexFunc(list, func(d Discarded) bool { return d.Tree.Task == t.Task }); i >= 0 {
		return list[i], true, err
	}
	return Discarded{}, false, err
}

// Restore brings a discarded worktree back, at the same path and with its uncommitted files. If the
// task's branch has moved since the discard, these files may no longer fit. Then Restore brings the
// worktree back without these files and returns a [*FilesKeptError]. The files are still stored
// under the rescue ref that Discard has created.
func (r *Repo) Restore(ctx context.Context, d Discarded) (Tree, error) {
	if err := r.MayWrite(); err != nil {
		return d.Tree, err
	}
	t := d.Tree
	err := r.Locked(ctx, func(g git.Client) error {
		if _, err := r.prepareRoot(filepath.Dir(filepath.Dir(t.Path)), t.Run); err != nil {
			return err
		}
		if _, err := g.StartBranch(ctx, t.Branch, d.Head); err != nil {
			return err
		}
		rec, err := r.records.read(t.Run, t.Task)
		if errors.Is(err, fs.ErrNotExist) {
			rec = record{Tree: t, Made: true}
			err = r.records.save(rec)
		}
		if err != nil {
			return err
		}
		if err := r.finishCreation(ctx, g, &rec); err != nil {
			return err
		}
		filesErr := r.restoreFiles(ctx, g, d)
		if kept := (*FilesKeptError)(nil); filesErr != nil && !errors.As(filesErr, &kept) {
			return filesErr
		}
		_, err = g.Run(ctx, "update-ref", "-d", discardedRef(t))
		return cmp.Or(err, filesErr)
	})
	if err != nil {
		return t, fmt.Errorf("restore %s: %w", t.Path, err)
	}
	return t, nil
}

// FilesKeptError reports that a discarded worktree was restored without its uncommitted files,
// because its branch has moved since the discard. The files are still stored under the ref Ref.
type FilesKeptError struct{ Path, Branch, Ref string }

func (e *FilesKeptError) Error() string {
	return fmt.Sprintf("the worktree is back, but not the files that were not committed: %s has moved since; they are kept under %s", e.Branch, e.Ref)
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *FilesKeptError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *FilesKeptError) Hint() string {
	return fmt.Sprintf("git -C %s checkout %s -- FILE brings a file back", git.Quote(e.Path), e.Ref)
}

// restoreFiles writes the uncommitted files of a discarded worktree back to its folder. It does
// nothing if there are none, or if the folder already has uncommitted files, for example from an
// earlier call. If the branch has moved since the worktree was discarded, it returns a
// [*FilesKeptError].
func (r *Repo) restoreFiles(ctx context.Context, g git.Client, d Discarded) error {
	g, err := r.inTree(g, d.Tree)
	if err != nil {
		return err
	}
	dirty, err := uncommittedFiles(ctx, g)
	if err != nil {
		return err
	}
	head, err := g.CommitID(ctx, "HEAD")
	if err != nil {
		return err
	}
	kept, err := g.CommitID(ctx, d.Rescue)
	switch {
	case err != nil || len(dirty) > 0 || kept == "" || kept == d.Head:
		return err
	case head != d.Head:
		return &FilesKeptError{d.Tree.Path, d.Tree.Branch, d.Rescue}
	}
	if _, err := g.Run(ctx, "read-tree", "--reset", "-u", kept); err != nil {
		return err
	}
	_, err = g.Run(ctx, "reset", "--mixed", "--quiet")
	return err
}
