package merge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/git"
)

// Method is a way to bring the commits of one branch into another branch.
type Method string

// Values of Method.
const (
	ByMerge  Method = "merge"  // adds one merge commit with two parents
	BySquash Method = "squash" // adds one commit with all changes
	ByRebase Method = "rebase" // like git rebase: adds a copy of each commit
)

// LandSpec describes how the work of a task is brought into a target branch.
type LandSpec struct {
	Tree    worktree.Tree
	Into    string // the target branch
	Method  Method // empty means ByMerge
	Title   string // title of the commit, for ByMerge and BySquash
	Message string // further text for the commit message; may be empty

	// MoveCheckedOut allows Land to update the files of a worktree that has the target branch
	// checked out. If it is false and there is such a worktree, Land returns a [*ConsentError].
	MoveCheckedOut bool

	// Check and Scratch have the same meaning as in a [Spec].
	Check   func(ctx context.Context, dir string) error `json:"-"`
	Scratch string
}

// Land merges the branch of a task into a target branch, and records the merge so that [Undo] can
// undo it. The record is called a landing, see [Landing]. Calls for the same target branch run one
// after the other. If s.Check is set, Land calls it to check the result before the target branch
// moves. If another program moves one of the branches in the meantime, Land starts again.
//
// Land stores the landing in a commit, and creates a ref to that commit. Usually one ref
// transaction creates this ref and moves the target branch. But if a worktree has the target branch
// checked out, git must move the branch together with the files of that worktree, and cannot do
// that in a ref transaction. In that case Land creates the ref before git moves the branch. After a
// crash between these two steps, [Landing.Present] says whether the branch has moved.
//
// If the same commits of the task were already merged by Land, Land returns the earlier landing.
//
// Land returns a [*ConflictError] on a conflict, a [*CheckError] if the check fails, a
// [*TargetError] or [*ConsentError] if the target may not be moved, a [*NothingError] if there is
// nothing to merge, and a [*RevertedError] if the same work was merged and reverted before.
func Land(ctx context.Context, repo *worktree.Repo, s LandSpec) (done Landing, err error) {
	if s.Method == "" {
		s.Method = ByMerge
	}
	if s.Method != ByMerge && s.Method != BySquash && s.Method != ByRebase {
		return done, &git.SpecError{Problem: fmt.Sprintf("%q is not a way to merge: want merge, squash or rebase", s.Method)}
	}
	if s.Into == s.Tree.Branch {
		return done, &git.SpecError{Problem: fmt.Sprintf("branch %s cannot be merged into itself", s.Into)}
	}
	if err := repo.MayWrite(); err != nil {
		return done, err
	}
	folder, err := claimCheckFolder(ctx, repo, s.Into, s.Scratch)
	if err != nil {
		return done, err
	}
	defer folder.release()
	removeLeftCheckFolders(ctx, repo)
	for range maxTries {
		l := lander{spec: s, targetMove: newTargetMove(repo, s.Into, []string{s.Tree.Branch}, s.Check, folder)}
		err = l.run(ctx, l.publish, l.readLandings, l.build)
		if done = l.done; !errors.Is(err, errMoved) {
			break
		}
	}
	if err != nil {
		return Landing{}, fmt.Errorf("merge into %s: %w", s.Into, err)
	}
	return done, nil
}

// lander is one try to bring a task's work into its target branch.
type lander struct {
	targetMove
	spec    LandSpec
	earlier []string // ids of commits of the task's branch that are already merged
	number  int      // number of the task's newest [Landing]; 0 if there is none
	done    Landing
}

// readLandings reads the landings of this run that [Land] has recorded for the target branch, see
// [Landing].
//   - If the same work of this task was merged already, it stores that landing in l.done.
//   - If the target branch does not contain a landing of this task, it marks that landing as
//     undone. In this case another program has moved the branch back, or a crash has prevented the
//     merge.
//   - If the work was merged and [Undo] has added a commit that reverts it, readLandings returns a
//     [*RevertedError], unless the user has reverted that commit again.
//   - If the task's branch contains other commits that were merged already, it adds them to
//     l.earlier.
func (l *lander) readLandings(ctx context.Context) error {
	list, err := landings(ctx, l.git, l.spec.Tree.Run)
	if err != nil {
		return err
	}
	l.number = newestNumber(list, l.spec.Tree.Task)
	tip := l.tips[0]
	for _, e := range list {
		if e.Into != l.spec.Into {
			continue
		}
		own := e.Task == l.spec.Tree.Task
		contained, err := l.git.Contains(ctx, tip, e.Tip)
		if err != nil {
			return err
		}
		switch {
		case e.undone():
			if e.Revert == "" || !own || !contained {
				continue
			}
			if merged, err := l.git.Contains(ctx, l.before, e.Tip); err != nil {
				return err
			} else if !merged {
				continue
			}
			if back, err := l.hasReverted(ctx, e.Revert); err != nil {
				return err
			} else if !back {
				return &RevertedError{l.spec.Tree.Branch, l.spec.Into, e.Revert}
			}
		case !e.Present && own:
			if err := markUndone(ctx, l.git, e.Undo, e.Undo); err != nil {
				return err
			}
		case !e.Present:
		case own && e.Tip == tip:
			l.done, l.done.Earlier = e, true
			return nil
		case contained:
			l.earlier = append(l.earlier, e.Tip)
		}
	}
	return nil
}

// hasReverted reports whether the target branch has a commit that reverts this commit. If the commit
// is itself a revert, the user has brought the work back.
func (l *lander) hasReverted(ctx context.Context, commit string) (bool, error) {
	by, err := l.git.Line(ctx, "log", "-1", "--no-show-signature", "--format=%H", "--fixed-strings", "--grep=This reverts commit "+commit, l.before, "--not", commit)
	return by != "", err
}

// build creates the commits of the merge. It creates none if the same work was merged already. No
// branch contains the new commits until publish moves the target branch.
func (l *lander) build(ctx context.Context) error {
	if l.done.Earlier {
		return nil
	}
	tip := l.tips[0]
	nothing := &NothingError{l.spec.Tree.Branch, l.spec.Into}
	if merged, err := l.git.Contains(ctx, l.before, tip); err != nil {
		return err
	} else if merged {
		return nothing
	}
	if err := l.target.checkConsent(l.spec.MoveCheckedOut); err != nil {
		return err
	}
	if err := l.target.checkMovable(ctx, l.git); err != nil {
		return err
	}
	b := commitBuilder{
		git: l.git, target: &l.target, branch: l.spec.Tree.Branch, tip: tip, earlier: l.earlier,
		title: l.spec.Title, message: l.spec.Message,
	}
	after, err := b.build(ctx, l.spec.Method, l.before)
	if err != nil {
		return err
	}
	if after == l.before {
		return nothing
	}
	l.after = after
	return nil
}

// publish moves the target branch and creates the ref that [Undo] needs. The ref points to a commit
// that describes the merge.
func (l *lander) publish(ctx context.Context) error {
	// The user may have checked out the target branch during the check. So check the consent again.
	if err := l.target.checkConsent(l.spec.MoveCheckedOut); err != nil {
		return err
	}
	l.done = Landing{
		Run: l.spec.Tree.Run, Task: l.spec.Tree.Task, Into: l.spec.Into, Method: l.spec.Method, Before: l.before, After: l.after,
		Branch: l.spec.Tree.Branch, Tip: l.tips[0], At: time.Now().UTC(),
	}
	record, err := recordLanding(ctx, l.git, l.done)
	if err != nil {
		return err
	}
	l.done.Undo, l.done.Present = fmt.Sprintf("%s%s/%s/%d", undoPrefix, git.RefPart(l.done.Run), git.RefPart(l.done.Task), l.number+1), true
	where := l.target.checkedOut()
	steps := fmt.Sprintf("verify %s%s %s\ncreate %s %s\n", git.Heads, l.done.Branch, l.done.Tip, l.done.Undo, record)
	if len(where) == 0 {
		steps = fmt.Sprintf("update %s%s %s %s\n", git.Heads, l.done.Into, l.done.After, l.done.Before) + steps
		return l.orRaced(ctx, l.git.UpdateRefs(ctx, "gaffer: merge", steps))
	}
	// A worktree has the target branch checked out. Only git itself can move the branch together
	// with the files there, and it cannot do that in a ref transaction. So create the undo ref
	// first. If git then does not move the branch, the ref is deleted below. After a crash the ref
	// remains, and [Landing.Present] is false.
	steps = fmt.Sprintf("verify %s%s %s\n", git.Heads, l.done.Into, l.done.Before) + steps
	if err := l.git.UpdateRefs(ctx, "gaffer: merge", steps); err != nil {
		return l.orRaced(ctx, err)
	}
	if err := l.target.forward(ctx, l.git, where[0].Path, l.before, l.after); err != nil {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
		defer stop()
		// Keep the undo ref if the branch has moved although git reported an error, or if it is
		// unknown whether the branch has moved.
		if moved, e := l.git.Contains(ctx, git.Heads+l.done.Into, l.done.After); e != nil || moved {
			return err
		}
		_, e := l.git.Run(ctx, "update-ref", "-d", l.done.Undo, record)
		return errors.Join(err, e)
	}
	l.done.Updated = where[0].Path
	return nil
}

// orRaced handles a failed ref transaction. It returns errMoved if the reason is that another
// process has moved a branch or created a ref with the undo ref's name. Otherwise it returns err.
func (l *lander) orRaced(ctx context.Context, err error) error {
	if git.ExitCode(err) <= 0 {
		return err
	}
	if tip, e := l.git.CommitID(ctx, git.Heads+l.done.Branch); e == nil && tip != l.done.Tip {
		return errMoved
	}
	if taken, e := l.git.CommitID(ctx, l.done.Undo); e == nil && taken != "" {
		return errMoved
	}
	return l.target.orMoved(ctx, l.git, l.before, err)
}
