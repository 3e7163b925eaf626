package serverfleet

import (
	"context"

	"gaffer/fleet"
)

// Change returns what a task has changed: the list of the changed files, without their diffs. The
// result also contains the review of this change, the user's messages to the agent and the results
// of the checks.
func (f *Fleet) Change(ctx context.Context, run, task string, q fleet.ChangeQuery) (fleet.TaskChange, error) {
	v, err := f.client.Runs.Change(ctx, run, task, q)
	return v, f.problem(err)
}

// ChangedFile returns the diff of one file that a task has changed.
func (f *Fleet) ChangedFile(ctx context.Context, run, task string, q fleet.FileQuery) (fleet.FileChange, error) {
	v, err := f.client.Runs.ChangedFile(ctx, run, task, q)
	return v, f.problem(err)
}

// Reviews returns the reviews of the changes in a run. It leaves out tasks that changed nothing and
// were not reviewed.
func (f *Fleet) Reviews(ctx context.Context, run string) (fleet.RunReviews, error) {
	v, err := f.client.Runs.Reviews(ctx, run)
	return v, f.problem(err)
}

// Review returns the user's review of what a task's agent changed: comments, and whether the change
// is approved.
func (f *Fleet) Review(ctx context.Context, run, task string) (fleet.Review, error) {
	v, err := f.client.Reviews.Review(ctx, run, task)
	return v, f.problem(err)
}

// ChangeReview performs a user's action in the review of a task, such as a comment or an approval,
// and returns the changed review.
func (f *Fleet) ChangeReview(ctx context.Context, run, task string, a fleet.ReviewAction) (fleet.Review, error) {
	if err := f.refuse("gaffer review"); err != nil {
		return fleet.Review{}, err
	}
	v, err := f.client.Reviews.Change(ctx, run, task, a)
	return v, f.problem(err)
}
