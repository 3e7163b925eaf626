package coordinator

import (
	"context"
	"net/url"

	"gaffer/fleet"
)

// Change returns what a task has changed in its worktree: the list of changed files without their
// diffs. It also returns the user's review and messages, and the results of the task's checks.
func (c *RunClient) Change(ctx context.Context, run, task string, q fleet.ChangeQuery) (fleet.TaskChange, error) {
	query := addNonEmpty(url.Values{}, "since", q.Since, "attempt", limitText(q.Attempt))
	return askAll[fleet.TaskChange](ctx, c.conn, get(query, "v1", "runs", run, "tasks", task, "change"), "change")
}

// ChangedFile returns the diff of one file that a task has changed.
func (c *RunClient) ChangedFile(ctx context.Context, run, task string, q fleet.FileQuery) (fleet.FileChange, error) {
	query := addNonEmpty(url.Values{}, "path", q.Path, "tree", q.Tree, "from", q.From, "context", limitText(q.Context))
	return ask[fleet.FileChange](ctx, c.conn, get(query, "v1", "runs", run, "tasks", task, "change", "file"), "file")
}

// ChangedBlob returns the content of a file that a task has changed. blob is the git object id of
// the content.
func (c *RunClient) ChangedBlob(ctx context.Context, run, task, blob string) ([]byte, error) {
	return c.conn.do(ctx, get(addNonEmpty(url.Values{}, "blob", blob), "v1", "runs", run, "tasks", task, "change", "blob"))
}

// Reviews returns the user's reviews of the changes that the tasks of a run have made in their
// worktrees.
func (c *RunClient) Reviews(ctx context.Context, run string) (fleet.RunReviews, error) {
	return askAll[fleet.RunReviews](ctx, c.conn, get(nil, "v1", "runs", run, "reviews"), "reviews")
}
