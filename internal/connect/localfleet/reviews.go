package localfleet

import (
	"context"

	"gaffer/fleet"
	"gaffer/internal/byhand/caller"
	"gaffer/internal/engine/store"
)

// Review returns the user's review of what a task's agent changed: comments, and whether the change
// is approved.
func (f *Fleet) Review(ctx context.Context, run, task string) (fleet.Review, error) {
	return f.opts.Engine.Review(ctx, store.TaskKey{Run: run, Task: task})
}

// ChangeReview performs a user's action in the review of a task, such as a comment or an approval,
// and returns the changed review. If the action sends the task's change back to the agent, the
// caller must make sure that a process works on the run. ChangeReview returns an error if an agent
// started this process, because only users may review.
func (f *Fleet) ChangeReview(ctx context.Context, run, task string, a fleet.ReviewAction) (fleet.Review, error) {
	if f.opts.Agent != "" {
		return fleet.Review{}, &caller.RefusedError{What: "gaffer review", Agent: f.opts.Agent}
	}
	return f.opts.Engine.ActOnReview(ctx, store.TaskKey{Run: run, Task: task}, "", a)
}
