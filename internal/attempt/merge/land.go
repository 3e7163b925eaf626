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
	Title   string // title of the merge commit or of the squashed commit
	Message string // further text for the commit message; may be empty

	// MoveCheckedOut allows Land to update the files of a worktree that has the target branch
	// checked out. If it is false and there is such a worktree, Land returns a [*ConsentError].
	MoveCheckedOut bool

	// Check and Scratch have the same meaning as in a [Spec].
	Check   func(ctx context.Context, dir string) error `json:"-"`
	Scratch string
}

// Land brings the commits of a task's branch into a target branch. Calls for the same target branch
// run one after the other. If s.Check is set, it checks the result before the target branch moves.
// If another program moves one of the branches in the meantime, Land starts again.
//
// Land also creates the ref [Landing.Undo], which [Undo] needs. The target branch moves in the same
// ref transaction. But if a worktree has the target branch checked out, git moves the branch
// together with the files of that worktree, outside of the transaction. In that case Land creates
// the ref first. After a crash, [Landing.Present] says whether the branch has moved.
//
// If the same commits were landed already, Land returns the earlier landing.
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
	earlier []string // ids of commits of the task's branch that were landed before
	number  int      // number of the task's newest landing; 0 if there is none
	done    Landing
}

// readLandings reads the earlier landings of the run into the same target branch:
//   - If the same work of this task was landed already, it stores that landing in l.done.
//   - If the target branch does not contain a landing of this task, it marks that landing as
//     undone. Another program has moved the branch back, or a crash has prevented the landing.
//   - If the work was landed and later reverted by a commit, it returns a [*RevertedError].
//   - If the task's branch contains other landed commits, it adds them to l.earlier.
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
// to the commits until publish moves the target branch.
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

// publish moves the target branch and creates the undo ref, which describes the landing.
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
	// with the files there, outside of this transaction. So create the undo ref first. If git then
	// fails to move the branch, the ref has no effect.
	steps = fmt.Sprintf("verify %s%s %s\n", git.Heads, l.done.Into, l.done.Before) + steps
	if err := l.git.UpdateRefs(ctx, "gaffer: merge", steps); err != nil {
		return l.orRaced(ctx, err)
	}
	if err := l.target.forward(ctx, l.git, where[0].Path, l.before, l.after); err != nil {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
		defer stop()
		// If git has moved the branch or may have moved it before it failed, keep the undo ref.
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
