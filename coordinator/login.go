package coordinator

import (
	"context"
	"net/url"
	"strings"
	"time"
)

// Login is a link that logs a browser in, once and soon.
type Login struct {
	Path    string    `json:"path"` // without scheme and host
	Expires time.Time `json:"expires_at"`
}

// To returns the link's path for a browser that is to land at a place on the
// dashboard, such as "#/runs/ID".
func (l Login) To(place string) string {
	if place == "" {
		return l.Path
	}
	return l.Path + "&to=" + url.QueryEscape(place)
}

// Login makes a link for a browser that may then do what the client's token is
// good for.
func (c *Client) Login(ctx context.Context) (l Login, err error) {
	body, err := c.do(ctx, post(nil, true, "v1", "login"))
	if err != nil {
		return l, err
	}
	all := members(body)
	if err := all.pick("path", &l.Path); err != nil {
		return l, err
	}
	if err := all.pick("expires_at", &l.Expires); err != nil {
		return l, err
	}
	// What is put behind the server's address must not make it another's.
	if !strings.HasPrefix(l.Path, "/login?") {
		return Login{}, badAnswer("the path of the answer is no link to log in with")
	}
	return l, nil
}
