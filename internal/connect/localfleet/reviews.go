package localfleet

import (
	"context"

	"gaffer/fleet"
	"gaffer/internal/byhand/caller"
	"gaffer/internal/engine/store"
)

// Review returns the review of a task's change.
func (f *Fleet) Review(ctx context.Context, run, task string) (fleet.Review, error) {
	return f.opts.Engine.Review(ctx, store.TaskKey{Run: run, Task: task})
}

// ChangeReview performs a user's action on the review of a task, and returns the changed review. If
// the action sends the change back to the agent, the caller must make sure that a process works on
// the run. ChangeReview returns an error if an agent started this process, because only users may
// review.
func (f *Fleet) ChangeReview(ctx context.Context, run, task string, a fleet.ReviewAction) (fleet.Review, error) {
	if f.opts.Agent != "" {
		return fleet.Review{}, &caller.RefusedError{What: "gaffer review", Agent: f.opts.Agent}
	}
	return f.opts.Engine.ActOnReview(ctx, store.TaskKey{Run: run, Task: task}, "", a)
}
