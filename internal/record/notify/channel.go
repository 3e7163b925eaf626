package notify

import (
	"context"
	"time"
)

// Channel is a way to send notifications, such as a webhook.
type Channel interface {
	Name() string  // kind of the channel: desktop, webhook or command
	Key() string   // id of the receiver; the same in all programs that send to this receiver
	Where() string // description of the receiver for the user, without secrets
	// Send sends a notification. It must return when ctx ends. The caller may retry after a
	// [*TemporaryError]; any other error is final.
	Send(ctx context.Context, n Notification) error
}

// TemporaryError reports a failure after which the notification may be sent again.
type TemporaryError struct {
	Err   error
	After time.Duration // delay that the receiver wants before a retry; 0 if unknown
}

func (a *TemporaryError) Error() string { return a.Err.Error() }
func (a *TemporaryError) Unwrap() error { return a.Err }

// keyOf returns the key of a channel: its name, and a hash of its receiver. The receiver cannot be
// read from the hash.
func keyOf(name string, receiver ...string) string {
	return name + "-" + idOf(receiver...)[:16]
}
