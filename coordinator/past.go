package coordinator

import (
	"context"
	"net/url"

	"gaffer/fleet"
)

// Lanes returns the agent accounts that are paused.
func (c *Client) Lanes(ctx context.Context) ([]fleet.Lane, error) {
	return ask[[]fleet.Lane](ctx, c, get(nil, "v1", "lanes"), "lanes")
}

// RunAttempts returns all tries at all tasks of a run, in the order in which they
// began.
func (c *Client) RunAttempts(ctx context.Context, run string) ([]AttemptChange, error) {
	return ask[[]AttemptChange](ctx, c, get(nil, "v1", "runs", run, "attempts"), "attempts")
}

// RunQuestions returns all questions of a run, also those that are closed, the
// oldest first.
func (c *Client) RunQuestions(ctx context.Context, run string) ([]QuestionChange, error) {
	return ask[[]QuestionChange](ctx, c, get(nil, "v1", "runs", run, "questions"), "questions")
}

// PastChange is an update of the stream that happened before.
type PastChange struct {
	ID string `json:"id"` // the number that it has in the stream
	Update
}

// PastChanges are changes of a run, the oldest first.
type PastChanges struct {
	Changes []PastChange `json:"changes"`
	Next    string       `json:"next,omitempty"` // to go on after; empty if there are no more
}

// RunChanges returns what the stream has told of a run after a change, or from its
// beginning if that is empty: so many, or as many as the coordinator thinks right
// if it is 0.
func (c *Client) RunChanges(ctx context.Context, run, after string, limit int) (PastChanges, error) {
	query := set(url.Values{}, "after", after, "limit", number(limit))
	return whole[PastChanges](ctx, c, get(query, "v1", "runs", run, "changes"), "changes")
}
