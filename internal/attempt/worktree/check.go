package worktree

import (
	"context"
	"fmt"
	"time"
)

// CheckError is a merge that its check has refused. Nothing was changed.
type CheckError struct {
	Into   string
	Commit string // what was checked; git forgets it some day
	Err    error  // what the check said
}

func (e *CheckError) Error() string { return "check of what it would become: " + e.Err.Error() }
func (e *CheckError) Unwrap() error { return e.Err }

// Conflict marks the error as one about the state of things.
func (e *CheckError) Conflict() bool { return true }

// Hint says what to do next.
func (e *CheckError) Hint() string {
	return "nothing was merged: put it right on the branch that is to be merged, and merge again"
}

// checked is a try with a check, during which the repository is not locked. What
// was made before the check is published after it only if it still is what would
// be made.
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
		_ = m.takeAway(ctx) // what is left the next merge finds
	}
	return err
}

func (m *merger) check(ctx context.Context) error {
	err := m.spec.Check(ctx, m.site.path)
	switch {
	case ctx.Err() != nil: // which is why it failed, if it did
		return fmt.Errorf("check: %w", context.Cause(ctx))
	case err != nil:
		return &CheckError{Into: m.spec.Into, Commit: m.result.After, Err: err}
	}
	return nil
}

// dropGrace is how long taking the worktree away may take after a check that
// was stopped.
const dropGrace = 10 * time.Second

// drop takes the worktree away after a check that has failed or was stopped.
// What it cannot do the next merge does.
func (m *merger) drop(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), dropGrace)
	defer stop()
	_ = m.locked(ctx, m.takeAway)
}

// checkUnmoved tells whether all branches are where they were.
func (m *merger) checkUnmoved(ctx context.Context) (err error) {
	if m.list, err = m.repo.entries(ctx, m.git); err != nil {
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
