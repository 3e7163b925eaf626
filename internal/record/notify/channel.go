package notify

import (
	"context"
	"time"
)

// Channel is a way to send notifications, such as a webhook.
type Channel interface {
	Name() string  // desktop, webhook or command
	Key() string   // identifies the receiver; all programs that send to the same receiver have the same key
	Where() string // the receiver as text for the user, without secrets
	// Send sends a notification. It must return when ctx ends. The caller may retry after a
	// [*TemporaryError]; any other error is final.
	Send(ctx context.Context, n Notification) error
}

// TemporaryError reports a failure after which the notification may be sent again.
type TemporaryError struct {
	Err   error
	After time.Duration // how long the receiver wants the sender to wait before a retry; 0 if unknown
}

func (a *TemporaryError) Error() string { return a.Err.Error() }
func (a *TemporaryError) Unwrap() error { return a.Err }

// keyOf returns the key of a channel: its name, and a hash of its receiver. The hash does not
// reveal the receiver.
func keyOf(name string, receiver ...string) string {
	return name + "-" + idOf(receiver...)[:16]
}
