package merge

import (
	"context"
	"fmt"
	"slices"

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/git"
)

// UndoSpec says which [Landing] (a merge by [Land]) to undo, and what Undo may do for that.
type UndoSpec struct {
	Landing Landing
	// MoveCheckedOut allows Undo to change the files of a worktree that has the target branch of
	// the merge checked out.
	MoveCheckedOut bool
	// Revert says what Undo does if the target branch has got other commits since the merge. If it
	// is true, Undo adds a commit that reverts the merge. If it is false, Undo returns a
	// [*MovedError].
	Revert bool
}

// MovedError reports that a merge cannot be undone without a commit that reverts it, because the
// target branch has got other commits since the merge. Nothing was changed.
type MovedError struct {
	Landing Landing
	Later   int // number of commits in the target branch since the merge
}

func (e *MovedError) Error() string {
	return fmt.Sprintf("branch %s has %s more since it was merged", e.Landing.Into, git.Count(e.Later, "commit"))
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *MovedError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *MovedError) Hint() string {
	return fmt.Sprintf("'gaffer merge %s/%s --undo --revert' adds a commit that takes the change back and keeps the others", e.Landing.Run, e.Landing.Task)
}

// GoneError reports that the target branch no longer contains the merge that should be undone.
type GoneError struct{ Landing Landing }

func (e *GoneError) Error() string {
	return fmt.Sprintf("branch %s does not contain the merge any more", e.Landing.Into)
}

// Undo undoes a merge that [Land] has made. If the target branch has got no commit since the merge,
// Undo moves it back to the commit that it had before the merge. Otherwise Undo adds a commit that
// reverts the merge, or returns a [*MovedError] if s.Revert is false. The result is the landing. If
// there is a reverting commit, the field Revert of the landing has its id.
//
// If a worktree has the target branch checked out, Undo needs the user's consent, see
// [*ConsentError]. If uncommitted changes of files there are in the way, Undo changes nothing and
// returns a [*TargetError]. For a reverting commit, any uncommitted change is in the way.
//
// If the target branch no longer contains the merge, Undo marks the merge as undone and returns a
// [*GoneError].
func Undo(ctx context.Context, repo *worktree.Repo, s UndoSpec) (Landing, error) {
	done := s.Landing
	err := repo.Locked(ctx, func(g git.Client) error {
		list, err := landings(ctx, g, s.Landing.Run)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(list, func(l Landing) bool { return l.Undo == s.Landing.Undo })
		if i < 0 {
			return &git.MissingError{What: "merge", Name: s.Landing.Task, Advice: "it was taken back already"}
		}
		done = list[i]
		if !done.Present {
			if err := markUndone(ctx, g, done.Undo, done.Undo); err != nil {
				return err
			}
			return &GoneError{done}
		}
		tip, err := g.CommitID(ctx, git.Heads+done.Into)
		if err != nil {
			return err
		}
		if tip != done.After && !s.Revert {
			later, err := g.CountCommits(ctx, tip, "--not", done.After)
			if err != nil {
				return err
			}
			return &MovedError{done, later}
		}
		return takeBack(ctx, repo, g, s, tip, &done)
	})
	if err != nil {
		return done, fmt.Errorf("undo the merge of %s into %s: %w", done.Task, done.Into, err)
	}
	return done, nil
}

// takeBack undoes a landing. The parameter tip is the target branch's current last commit. If the
// branch has got no commit since the merge, takeBack moves it back to the commit that it had
// before. Otherwise it moves the branch forward to a commit that reverts the merge, unless the
// branch already contains such a commit.
func takeBack(ctx context.Context, repo *worktree.Repo, g git.Client, s UndoSpec, tip string, done *Landing) error {
	g, err := g.WithAuthor(ctx)
	if err != nil {
		return err
	}
	t := target{repo: repo, branch: done.Into}
	if err := t.read(ctx, g); err != nil {
		return err
	}
	if err := t.checkConsent(s.MoveCheckedOut); err != nil {
		return err
	}
	to, record := done.Before, done.Undo
	if tip != done.After {
		if to, err = revert(ctx, g, *done, tip); err != nil {
			return err
		}
		done.Revert = to
		if record, err = recordLanding(ctx, g, *done); err != nil {
			return err
		}
		if there, err := g.Contains(ctx, tip, done.Revert); err != nil {
			return err
		} else if there {
			return markUndone(ctx, g, done.Undo, record)
		}
	}
	where := t.checkedOut()
	if len(where) == 0 {
		if err := t.checkNoRebase(); err != nil {
			return err
		}
		return markUndone(ctx, g, done.Undo, record, fmt.Sprintf("update %s%s %s %s\n", git.Heads, done.Into, to, tip))
	}
	if done.Revert != "" {
		if err := t.checkMovable(ctx, g); err != nil {
			return err
		}
		// Add the reverting commit to the branch. If gaffer crashes after this call and before
		// markUndone, the next Undo finds that commit in the branch's history.
		err = t.forward(ctx, g, where[0].Path, tip, to)
	} else {
		err = t.back(ctx, g, where[0].Path, tip, to)
	}
	if err != nil {
		return err
	}
	done.Updated = where[0].Path
	return markUndone(ctx, g, done.Undo, record)
}

// revert creates a commit on top of tip that undoes the changes of a landing, and returns its id.
// If the branch already has a commit that reverts the landing, it returns the id of that commit.
func revert(ctx context.Context, g git.Client, l Landing, tip string) (string, error) {
	note := "This reverts " + l.After
	done, err := g.Line(ctx, "log", "-1", "--no-show-signature", "--format=%H", "--fixed-strings", "--grep="+note, tip, "--not", l.After)
	if err != nil || done != "" {
		return done, err
	}
	// Apply the difference from l.After to l.Before to tip. To do that, merge a temporary commit
	// into tip. The temporary commit is on top of l.After and has the content of l.Before.
	tree, err := g.Resolve(ctx, l.Before+"^{tree}")
	if err != nil {
		return "", err
	}
	theirs, err := g.CommitTree(ctx, tree, "gaffer: before\n", l.After)
	if err != nil {
		return "", err
	}
	merged, files, err := mergeTrees(ctx, g, tip, theirs)
	if err != nil {
		return "", err
	}
	if len(files) > 0 {
		return "", &RevertConflictError{l, files}
	}
	return g.CommitTree(ctx, merged, fmt.Sprintf("Revert the merge of task %s\n\n%s.\n", l.Task, note), tip)
}

// RevertConflictError reports that a merge by [Land] cannot be reverted, because later commits
// changed the same lines. Nothing was changed.
type RevertConflictError struct {
	Landing Landing
	Files   []string
}

func (e *RevertConflictError) Error() string {
	return fmt.Sprintf("later commits of %s have changed the same lines in %s", e.Landing.Into, git.FirstFew(e.Files))
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *RevertConflictError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *RevertConflictError) Hint() string {
	what := git.Quote(fmt.Sprintf("%.12s", e.Landing.After))
	switch e.Landing.Method {
	case ByMerge:
		what = "-m 1 " + what
	case ByRebase:
		what = fmt.Sprintf("%.12s..%.12s", e.Landing.Before, e.Landing.After)
	}
	return fmt.Sprintf("with %s checked out, run 'git revert %s' and resolve the conflicts", e.Landing.Into, what)
}
