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

// RunAttempts returns all attempts at all tasks of a run, in the order in which they
// started.
func (c *Client) RunAttempts(ctx context.Context, run string) ([]AttemptChange, error) {
	return ask[[]AttemptChange](ctx, c, get(nil, "v1", "runs", run, "attempts"), "attempts")
}

// RunQuestions returns all questions of a run, including closed ones, the oldest first.
func (c *Client) RunQuestions(ctx context.Context, run string) ([]QuestionChange, error) {
	return ask[[]QuestionChange](ctx, c, get(nil, "v1", "runs", run, "questions"), "questions")
}

// PastChange is an update that the stream has sent before.
type PastChange struct {
	ID string `json:"id"` // its number in the stream
	Update
}

// PastChanges are changes of a run, the oldest first.
type PastChanges struct {
	Changes []PastChange `json:"changes"`
	Next    string       `json:"next,omitempty"` // the id to continue after; empty if there are no more
}

// RunChanges returns the updates that the stream has sent about a run after the given
// change, or from the start if after is empty. It returns at most limit changes; 0 means
// the coordinator's default.
func (c *Client) RunChanges(ctx context.Context, run, after string, limit int) (PastChanges, error) {
	query := set(url.Values{}, "after", after, "limit", number(limit))
	return whole[PastChanges](ctx, c, get(query, "v1", "runs", run, "changes"), "changes")
}
