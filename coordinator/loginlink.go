package coordinator

import (
	"context"
	"net/url"
	"strings"
	"time"
)

// Login is a single-use, short-lived link that logs a browser in.
type Login struct {
	Path    string    `json:"path"` // path and query of the link, without scheme and host
	Expires time.Time `json:"expires_at"`
}

// To returns the path of a login link after which the browser shows a certain page of the
// dashboard. The parameter place is that page, such as "#/runs/ID". If place is empty, the browser
// shows the dashboard's start page.
func (l Login) To(place string) string {
	if place == "" {
		return l.Path
	}
	return l.Path + "&to=" + url.QueryEscape(place)
}

// Login creates a login link. A browser that opens it gets the permissions of the
// client's token.
func (c *Client) Login(ctx context.Context) (l Login, err error) {
	body, err := c.conn.do(ctx, post(nil, true, "v1", "login"))
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
	// Refuse a path that is not a login link. Callers append the path to the server's address, so
	// another path could change the host of the resulting URL.
	if !strings.HasPrefix(l.Path, "/login?") {
		return Login{}, badAnswer("the path of the answer is not a login link")
	}
	return l, nil
}
