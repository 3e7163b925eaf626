package notify

import (
	"context"
	"time"
)

// Channel is a way to tell a person something.
type Channel interface {
	Name() string  // desktop, webhook or command
	Key() string   // the same in all programs that reach the same receiver
	Where() string // for people, without what is secret
	// Send tells something, and ends with ctx at the latest. What may be tried
	// again is an [*Again]; all else is not.
	Send(ctx context.Context, n Note) error
}

// Again is a failure that may pass.
type Again struct {
	Err   error
	After time.Duration // not before, if the receiver has said so
}

func (a *Again) Error() string { return a.Err.Error() }
func (a *Again) Unwrap() error { return a.Err }

// keyOf is a channel's key: its name, and a word for its receiver that does not
// give that away.
func keyOf(name string, receiver ...string) string {
	return name + "-" + idOf(receiver...)[:16]
}
