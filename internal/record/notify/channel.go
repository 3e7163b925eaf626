package notify

import (
	"context"
	"time"
)

// Channel is a way to send notifications.
type Channel interface {
	Name() string  // desktop, webhook or command
	Key() string   // identifies the receiver; all programs compute the same key for it
	Where() string // the receiver for display, without secrets
	// Send sends a notification and returns when ctx ends at the latest. The caller may
	// retry after a [*TemporaryError]; any other error is final.
	Send(ctx context.Context, n Note) error
}

// TemporaryError reports a failure after which the notification may be sent again.
type TemporaryError struct {
	Err   error
	After time.Duration // minimum wait before a retry, if the receiver has given one
}

func (a *TemporaryError) Error() string { return a.Err.Error() }
func (a *TemporaryError) Unwrap() error { return a.Err }

// keyOf returns a channel's key: its name and a hash of its receiver, which does not
// reveal the receiver.
func keyOf(name string, receiver ...string) string {
	return name + "-" + idOf(receiver...)[:16]
}
