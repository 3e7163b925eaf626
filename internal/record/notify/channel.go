package notify

import (
	"context"
	"time"
)

// Channel is a way to send notifications.
type Channel interface {
	Name() string  // desktop, webhook or command
	Key() string   // identifies the receiver; equal in all programs with the same receiver
	Where() string // for display, without secrets
	// Send sends a notification and returns when ctx ends at the latest. An [*Again]
	// error means that the caller may retry; any other error is final.
	Send(ctx context.Context, n Note) error
}

// TemporaryError is a temporary failure: the notification may be sent again.
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
