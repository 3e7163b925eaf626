package coordinator

import (
	"context"
	"time"
)

// Self describes a coordinator and the token of the request.
type Self struct {
	Version string    `json:"version"`
	Time    time.Time `json:"time"` // of the coordinator's clock
	Name    string    `json:"name"` // of the token
	Role    string    `json:"role"` // admin, operator, worker or viewer
}

// Self returns a description of the coordinator, and the role of the client's token.
func (c *Client) Self(ctx context.Context) (Self, error) {
	return ask[Self](ctx, c, get(nil, "v1", "self"), "self")
}
