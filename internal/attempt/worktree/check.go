package worktree

import (
	"context"
	"fmt"
	"time"
)

// CheckError reports a merge that its check has rejected. Nothing was changed.
type CheckError struct {
	Into   string
	Commit string // the commit that was checked; git deletes it eventually
	Err    error  // the error of the check
}

func (e *CheckError) Error() string { return "check of what it would become: " + e.Err.Error() }
func (e *CheckError) Unwrap() error { return e.Err }

// Conflict marks the error as a conflict with the current state.
func (e *CheckError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *CheckError) Hint() string {
	return "nothing was merged: put it right on the branch that is to be merged, and merge again"
}

// checked merges, checks out the result in a temporary worktree, runs the check there, and
// publishes the result if the check succeeds. The repository is not locked during the check. So the result
// is published only if no branch has moved in the meantime.
func (m *merger) checked(ctx context.Context) error {
	defer m.site.clean()
	err := m.locked(ctx, m.takeAway, m.resolve, m.mergeAll, m.checkOut)
	if err != nil || m.result.After == m.result.Before {
		return err
	}
	if err := m.check(ctx); err != nil {
		m.drop(ctx)
		return err
	}
	return m.locked(ctx, m.takeAway, m.checkUnmoved, m.publish)
}

func (m *merger) takeAway(ctx context.Context) error { return m.site.takeAway(ctx, m.git) }

func (m *merger) checkOut(ctx context.Context) error {
	if m.result.After == m.result.Before {
		return nil
	}
	err := m.site.checkOut(ctx, m.git, m.spec.Into, m.result.After)
	if err != nil && ctx.Err() == nil {
		_ = m.takeAway(ctx) // the next merge deletes the leftovers
	}
	return err
}

func (m *merger) check(ctx context.Context) error {
	err := m.spec.Check(ctx, m.site.path)
	switch {
	case ctx.Err() != nil: // then this is the cause of any failure
		return fmt.Errorf("check: %w", context.Cause(ctx))
	case err != nil:
		return &CheckError{Into: m.spec.Into, Commit: m.result.After, Err: err}
	}
	return nil
}

// dropGrace is the time limit for deleting the worktree after a check that failed or
// was stopped.
const dropGrace = 10 * time.Second

// drop deletes the worktree after a check that failed or was stopped. If it cannot, the
// next merge does.
func (m *merger) drop(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), dropGrace)
	defer stop()
	_ = m.locked(ctx, m.takeAway)
}

// checkUnmoved returns errMoved if a branch is no longer where it was.
func (m *merger) checkUnmoved(ctx context.Context) (err error) {
	if m.list, err = m.repo.Worktrees(ctx, m.git); err != nil {
		return err
	}
	names := append([]string{m.spec.Into}, m.spec.Branches...)
	tips := append([]string{m.result.Before}, m.tips...)
	for i, name := range names {
		now, err := m.tip(ctx, name)
		if err != nil {
			return err
		}
		if now != tips[i] {
			return errMoved
		}
	}
	return m.checkTarget(ctx)
}
