package merge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/git"
)

// Method is a way to bring the commits of a branch into another.
type Method string

// Values of Method.
const (
	ByMerge  Method = "merge"  // adds one merge commit with two parents
	BySquash Method = "squash" // adds one commit with all changes
	ByRebase Method = "rebase" // adds a copy of each commit
)

// LandSpec describes how the work of a task is brought into a target branch.
type LandSpec struct {
	Tree    worktree.Tree
	Into    string // the target branch
	Method  Method // empty means ByMerge
	Title   string // title of the merge commit or of the squashed commit
	Message string // text added to that commit's message; may be empty

	// MoveCheckedOut allows Land to update the files of a worktree that has the target branch
	// checked out. If it is false and there is such a worktree, Land returns a [*ConsentError].
	MoveCheckedOut bool

	// Check and Scratch have the same meaning as in a [Spec].
	Check   func(ctx context.Context, dir string) error `json:"-"`
	Scratch string
}

// Land brings the commits of a task's branch into a target branch. Two calls for the same target
// wait for each other. The result is checked before the target branch moves. If any of the branches
// moves during the check, everything is computed and checked again.
//
// The target branch moves in the same ref transaction that creates the ref [Landing.Undo]. But if a
// worktree has the target branch checked out, git moves the branch together with the files of that
// worktree. Then Land creates the ref before that, and [Landings] tells after a crash whether the
// branch has moved. If Land is repeated with the same work, it returns the earlier landing.
//
// Land returns a [*ConflictError] on a conflict, a [*CheckError] if the check fails, a
// [*TargetError] or [*ConsentError] if the target may not be moved, a [*NothingError] if there is
// nothing to land, and a [*RevertedError] if the same work was landed and reverted before.
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
	site, err := claimSite(ctx, repo, s.Into, s.Scratch)
	if err != nil {
		return done, err
	}
	defer site.release()
	sweepSites(ctx, repo)
	for range maxTries {
		l := lander{spec: s, targetMove: newTargetMove(repo, s.Into, []string{s.Tree.Branch}, s.Check, site)}
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
	earlier []string // commits whose content the target already has, see commitBuilder
	number  int      // number of the task's newest undo or undone ref; 0 if there is none
	done    Landing
}

// readLandings reads the earlier landings of the run. If the same work was landed already, it sets
// done. If the target does not contain an earlier landing of this task, because the branch was
// moved back or a crash prevented the landing, it marks that landing as undone. It returns a
// [*RevertedError] if the target has the work and a commit that reverts it.
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
			} else if merged {
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

// build creates the commits of the landing, unless the same work was landed already. No ref points
// to them until publish.
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

// publish moves the target branch and creates the undo ref.
func (l *lander) publish(ctx context.Context) error {
	if err := l.target.checkConsent(l.spec.MoveCheckedOut); err != nil { // check again: the user may have checked the branch out during the check
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
	// Only git itself can move a branch together with the files of its worktree. So create the undo
	// ref first. Readers ignore the ref if the branch does not contain After.
	steps = fmt.Sprintf("verify %s%s %s\n", git.Heads, l.done.Into, l.done.Before) + steps
	if err := l.git.UpdateRefs(ctx, "gaffer: merge", steps); err != nil {
		return l.orRaced(ctx, err)
	}
	if err := l.target.forward(ctx, l.git, where[0].Path, l.before, l.after); err != nil {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
		defer stop()
		if moved, e := l.git.Contains(ctx, git.Heads+l.done.Into, l.done.After); e != nil || moved { // keep the undo ref: git was interrupted, and has or may have moved the branch
			return err
		}
		_, e := l.git.Run(ctx, "update-ref", "-d", l.done.Undo, record)
		return errors.Join(err, e)
	}
	l.done.Updated = where[0].Path
	return nil
}

// orRaced returns errMoved if the transaction failed because another process moved a branch or took
// the number of the undo ref. If not, it returns err.
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
