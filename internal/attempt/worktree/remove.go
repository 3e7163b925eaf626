package worktree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Removal is what became of a tree that was removed.
type Removal struct {
	Rescue        string // the ref that keeps what was in it
	BranchDeleted bool   // since all of it is on another branch or a remote
}

// KeptError is a tree that was not removed.
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
		all = append(all, "in use by "+some(who))
	}
	if s.Locked != "" {
		all = append(all, "locked: "+s.Locked)
	}
	if len(s.Nested) > 0 {
		all = append(all, "there are other repositories in it: "+some(s.Nested))
	}
	if len(s.Dirty) > 0 && !e.Forced {
		var paths []string
		for _, f := range s.Dirty {
			paths = append(paths, f.Path)
		}
		all = append(all, fmt.Sprintf("%s not committed: %s", count(len(paths), "file"), some(paths)))
	}
	if s.Unpushed > 0 && !e.Forced {
		all = append(all, count(s.Unpushed, "commit")+" that no other branch and no remote has")
	}
	return all
}

// Conflict marks the error as one about the state of things.
func (e *KeptError) Conflict() bool { return true }

// Hint says what to do next.
func (e *KeptError) Hint() string {
	path := Quote(e.Tree.Path)
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

// mayGo tells whether a tree may be removed. What a rescue ref keeps may go by
// force. What it cannot keep may not: a process that still writes, someone's
// lock, another repository.
func mayGo(s Status, force bool) bool {
	if len(s.Occupants) > 0 || s.Locked != "" || len(s.Nested) > 0 {
		return false
	}
	return force || s.Clean() && s.Unpushed == 0
}

// Remove takes a tree away. One that is dirty or has commits that nobody else
// has is a [*KeptError] unless forced to; one that is in use, locked or has
// another repository in it always is. What is in it is kept under a rescue ref
// first. Its branch goes too if all of it is on another branch or a remote, and
// stays otherwise.
//
// A removal that was interrupted goes on where it was.
func (r *Repo) Remove(ctx context.Context, t Tree, force bool) (Removal, error) {
	var done Removal
	err := r.locked(ctx, func(g git) error {
		rec, err := r.findRecord(t)
		if err != nil {
			return err
		}
		if gone, err := r.isGone(rec); err != nil {
			return err
		} else if !gone {
			if err := r.release(ctx, g, &rec, force); err != nil {
				return err
			}
		}
		done.Rescue = rec.Removing
		done.BranchDeleted, err = r.remove(ctx, g, rec)
		return err
	})
	return done, err
}

// isGone tells whether an earlier removal got so far that only traces are left.
func (r *Repo) isGone(rec record) (bool, error) {
	filled, err := isFilled(rec.Path)
	return rec.Removing != "" && !filled, err
}

// release rescues a tree that may go, and says so in its record.
func (r *Repo) release(ctx context.Context, g git, rec *record, force bool) error {
	if rec.Made {
		if err := r.checkMayGo(ctx, g, *rec, force); err != nil {
			return err
		}
	}
	ref, err := r.rescueMade(ctx, g, *rec)
	if err != nil {
		return fmt.Errorf("worktree %s: not removed: rescue: %w", rec.Path, err)
	}
	rec.Removing = ref
	return r.save(*rec)
}

// rescueMade keeps no files of a tree that was never whole: nobody has worked
// in it.
func (r *Repo) rescueMade(ctx context.Context, g git, rec record) (string, error) {
	if !rec.Made {
		return r.rescueGone(ctx, g, rec.Tree)
	}
	return r.rescue(ctx, g, rec.Tree)
}

func (r *Repo) checkMayGo(ctx context.Context, g git, rec record, force bool) error {
	s, err := r.statusOrGone(ctx, g, rec)
	if err != nil {
		return err
	}
	if !mayGo(s, force) {
		return &KeptError{Tree: rec.Tree, Status: s, Forced: force}
	}
	return nil
}

// statusOrGone says of a tree without a folder what can be said.
func (r *Repo) statusOrGone(ctx context.Context, g git, rec record) (s Status, err error) {
	filled, err := isFilled(rec.Path)
	if err != nil {
		return s, err
	}
	if filled {
		at, err := r.at(g, rec.Tree)
		if err != nil {
			return s, err
		}
		return r.status(ctx, at, rec)
	}
	if err := r.lookUp(ctx, g, rec.Path, &s); err != nil {
		return s, err
	}
	if s.Ahead, s.Unpushed, err = commits(ctx, g, rec.Tree, ""); err != nil {
		return s, err
	}
	s.Occupants, err = sitters(ctx, rec.Path)
	return s, err
}

func (r *Repo) remove(ctx context.Context, g git, rec record) (branchDeleted bool, err error) {
	list, err := r.entries(ctx, g)
	if err != nil {
		return false, err
	}
	if err := r.clear(ctx, g, rec, list); err != nil {
		return false, err
	}
	branchDeleted, err = deleteMerged(ctx, g, rec, list)
	if err != nil {
		return false, err
	}
	_ = os.Remove(filepath.Dir(rec.Path)) // fails as long as there are others of the run
	return branchDeleted, r.forget(rec)
}

// deleteMerged deletes a branch whose commits others have. One that someone has
// checked out elsewhere stays.
func deleteMerged(ctx context.Context, g git, rec record, list []entry) (bool, error) {
	tip, err := g.commit(ctx, headsPrefix+rec.Branch)
	if err != nil || tip == "" || rec.Shared {
		return false, err
	}
	for _, e := range holders(list, rec.Branch) {
		if e.path != rec.Path {
			return false, nil
		}
	}
	_, unpushed, err := commits(ctx, g, rec.Tree, "")
	if err != nil || unpushed > 0 {
		return false, err
	}
	if _, err := g.run(ctx, "update-ref", "-d", headsPrefix+rec.Branch, tip); err != nil {
		return false, err
	}
	// It fails if there are no settings for the branch.
	_, _ = g.run(ctx, "config", "--local", "--remove-section", "branch."+rec.Branch)
	return true, nil
}
