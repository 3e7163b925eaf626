package worktree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gaffer/internal/attempt/worktree/folder"
	"gaffer/internal/git"
)

// Removal is the result of removing a worktree.
type Removal struct {
	Rescue        string // name of the ref that keeps the worktree's content
	BranchDeleted bool   // the branch was deleted, because its commits exist elsewhere
}

// KeptError reports that a worktree was not removed, and why.
type KeptError struct {
	Tree   Tree
	Status Status
	Forced bool
}

func (e *KeptError) Error() string {
	return fmt.Sprintf("worktree %s: not removed: %s", e.Tree.Path, strings.Join(e.reasons(), "; "))
}

func (e *KeptError) reasons() []string {
	s, all := e.Status, []string{}
	if len(s.Occupants) > 0 {
		var who []string
		for _, o := range s.Occupants {
			who = append(who, o.String())
		}
		all = append(all, "in use by "+git.FirstFew(who))
	}
	if s.Locked != "" {
		all = append(all, "locked: "+s.Locked)
	}
	if len(s.Nested) > 0 {
		all = append(all, "there are other repositories in it: "+git.FirstFew(s.Nested))
	}
	if len(s.Dirty) > 0 && !e.Forced {
		var paths []string
		for _, f := range s.Dirty {
			paths = append(paths, f.Path)
		}
		all = append(all, fmt.Sprintf("%s not committed: %s", git.Count(len(paths), "file"), git.FirstFew(paths)))
	}
	if s.Unpushed > 0 && !e.Forced {
		all = append(all, git.Count(s.Unpushed, "commit")+" that no other branch and no remote has")
	}
	return all
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *KeptError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *KeptError) Hint() string {
	path := git.Quote(e.Tree.Path)
	switch s := e.Status; {
	case len(s.Occupants) > 0:
		return "end that process or wait for it"
	case s.Locked != "":
		return "unlock it with: git worktree unlock " + path
	case len(s.Nested) > 0:
		return "move them elsewhere: a rescue ref cannot keep what is in them"
	case len(s.Dirty) > 0:
		return fmt.Sprintf("commit it in %s and merge %s, or force the removal: a rescue ref keeps it", path, e.Tree.Branch)
	}
	return fmt.Sprintf("merge or push %s, or force the removal: a rescue ref keeps it, and the branch stays", e.Tree.Branch)
}

// mayBeRemoved reports whether a worktree with the status s may be removed. See [Repo.Remove] for
// the conditions. force allows the removal of work, because a rescue ref keeps it.
func mayBeRemoved(s Status, force bool) bool {
	if len(s.Occupants) > 0 || s.Locked != "" || len(s.Nested) > 0 {
		return false
	}
	return force || s.Clean() && s.Unpushed == 0
}

// Remove deletes a worktree. Without force it returns a [*KeptError] if the worktree has
// uncommitted files, or commits that no other branch and no remote has. Even with force it returns
// a [*KeptError] if the worktree is in use, locked, or contains another repository. Before the
// deletion it stores the content of the worktree under a rescue ref (see [Repo.Rescue]). It deletes
// the branch only if other branches or remotes have all of its commits. It never deletes a branch
// that is shared, or checked out in another worktree.
//
// If an earlier removal was interrupted, Remove continues it.
func (r *Repo) Remove(ctx context.Context, t Tree, force bool) (Removal, error) {
	var done Removal
	err := r.Locked(ctx, func(g git.Client) error {
		rec, err := r.records.find(t)
		if err != nil {
			return err
		}
		if err := r.release(ctx, g, &rec, force); err != nil {
			return err
		}
		done.Rescue = rec.Removing
		list, err := r.Worktrees(ctx, g)
		if err != nil {
			return err
		}
		if err := r.deleteWorktree(ctx, g, rec, list); err != nil {
			return err
		}
		if done.BranchDeleted, err = deleteMerged(ctx, g, rec, list); err != nil {
			return err
		}
		_ = os.Remove(filepath.Dir(rec.Path)) // ignore the error: the run may have other worktrees
		return r.records.delete(rec)
	})
	return done, err
}

// release prepares the removal of a worktree: it keeps the content of the worktree under a rescue
// ref, and writes to the worktree's record that the removal has begun. It returns a [*KeptError] if
// the worktree may not be removed. It does nothing if an earlier removal has already deleted the
// folder.
func (r *Repo) release(ctx context.Context, g git.Client, rec *record, force bool) error {
	filled, err := folder.IsFilled(rec.Path)
	if err != nil || rec.Removing != "" && !filled {
		return err
	}
	// If the creation of the worktree was never completed, no agent has worked in it. Then it is
	// enough to keep its commits, because there are no uncommitted files.
	rescue := r.rescueCommits
	if rec.Made {
		rescue = r.rescue
		s, err := r.statusIfGone(ctx, g, *rec)
		if err != nil {
			return err
		}
		if !mayBeRemoved(s, force) {
			return &KeptError{Tree: rec.Tree, Status: s, Forced: force}
		}
	}
	ref, err := rescue(ctx, g, rec.Tree)
	if err != nil {
		return fmt.Errorf("worktree %s: not removed: rescue: %w", rec.Path, err)
	}
	rec.Removing = ref
	return r.records.save(*rec)
}

// statusIfGone returns the status of a worktree. Unlike the method status, it accepts that the
// worktree's folder is missing. Then the result has only what git still knows about the worktree.
func (r *Repo) statusIfGone(ctx context.Context, g git.Client, rec record) (s Status, err error) {
	filled, err := folder.IsFilled(rec.Path)
	if err != nil {
		return s, err
	}
	if filled {
		at, err := r.inTree(g, rec.Tree)
		if err != nil {
			return s, err
		}
		return r.status(ctx, at, rec)
	}
	if err := r.readGitList(ctx, g, rec.Path, &s); err != nil {
		return s, err
	}
	if s.Ahead, s.Unpushed, err = countCommits(ctx, g, rec.Tree, ""); err != nil {
		return s, err
	}
	s.Occupants, err = processesIn(ctx, rec.Path)
	return s, err
}

// deleteMerged deletes a task's branch if other branches or remotes have all its commits, and
// reports whether it did. It keeps a branch that is shared or that another worktree has checked
// out.
func deleteMerged(ctx context.Context, g git.Client, rec record, list []git.Worktree) (bool, error) {
	tip, err := g.CommitID(ctx, git.Heads+rec.Branch)
	if err != nil || tip == "" || rec.Shared {
		return false, err
	}
	for _, e := range git.CheckedOut(list, rec.Branch) {
		if e.Path != rec.Path {
			return false, nil
		}
	}
	_, unpushed, err := countCommits(ctx, g, rec.Tree, "")
	if err != nil || unpushed > 0 {
		return false, err
	}
	if _, err := g.Run(ctx, "update-ref", "-d", git.Heads+rec.Branch, tip); err != nil {
		return false, err
	}
	// Ignore the error: it means that the branch has no settings.
	_, _ = g.Run(ctx, "config", "--local", "--remove-section", "branch."+rec.Branch)
	return true, nil
}
