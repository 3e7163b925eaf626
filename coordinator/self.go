package coordinator

import (
	"context"
	"time"
)

// Self is what a coordinator says of itself, and of whoever asks.
type Self struct {
	Version string    `json:"version"`
	Time    time.Time `json:"time"` // by its clock
	Name    string    `json:"name"` // of the token
	Role    string    `json:"role"` // admin, operator, worker or viewer
}

// Self returns which coordinator answers, and what the token is good for.
func (c *Client) Self(ctx context.Context) (Self, error) {
	return ask[Self](ctx, c, get(nil, "v1", "self"), "self")
}
