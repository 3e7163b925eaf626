package serverfleet

import (
	"context"

	"gaffer/fleet"
)

// Change returns the change of a task: the list of its files, without diffs, and its review.
func (f *Fleet) Change(ctx context.Context, run, task string, q fleet.ChangeQuery) (fleet.TaskChange, error) {
	v, err := f.client.Runs.Change(ctx, run, task, q)
	return v, f.problem(err)
}

// ChangedFile returns the diff of one file of a change.
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

// Review returns the review of a task's change.
func (f *Fleet) Review(ctx context.Context, run, task string) (fleet.Review, error) {
	v, err := f.client.Reviews.Review(ctx, run, task)
	return v, f.problem(err)
}

// ChangeReview performs a user's action on the review of a task, and returns the changed review.
func (f *Fleet) ChangeReview(ctx context.Context, run, task string, a fleet.ReviewAction) (fleet.Review, error) {
	if err := f.refuse("gaffer review"); err != nil {
		return fleet.Review{}, err
	}
	v, err := f.client.Reviews.Change(ctx, run, task, a)
	return v, f.problem(err)
}
