package coordinator

import (
	"context"
	"fmt"
	"net/url"
)

// EventClient reads and publishes events.
type EventClient struct{ conn *connection }

// List returns the latest events, the newest first. A limit of 0 means the
// coordinator's default.
func (c *EventClient) List(ctx context.Context, limit int) ([]Event, error) {
	query := addNonEmpty(url.Values{}, "limit", limitText(limit))
	return ask[[]Event](ctx, c.conn, get(query, "v1", "events"), "events")
}

// Add publishes an event. If an event with the same idempotency key already exists, Add does not
// create another one. In that case the result deduped is true, and the returned event may be empty.
// The request is retried only if it has an idempotency key.
func (c *EventClient) Add(ctx context.Context, n NewEvent) (e Event, deduped bool, err error) {
	q := post(n, n.IdempotencyKey != "", "v1", "events")
	body, err := c.conn.do(ctx, q)
	if err != nil {
		return e, false, err
	}
	answer := members(body)
	if answer.pick("deduped", &deduped) == nil && deduped {
		_ = answer.pick("event", &e) // ignore the error: for a repeated key, some coordinators send no event
		return e, true, nil
	}
	if err := answer.pick("event", &e); err != nil {
		return e, false, fmt.Errorf("%s: %w", q, err)
	}
	return e, false, nil
}

// NotificationClient lists and dismisses notifications about agents that wait for a user.
type NotificationClient struct{ conn *connection }

// List returns the notifications about agents that wait for a user.
func (c *NotificationClient) List(ctx context.Context) ([]Notification, error) {
	return ask[[]Notification](ctx, c.conn, get(nil, "v1", "notifications"), "notifications")
}

// Dismiss hides a notification about an agent. The parameter kind is the type of the notification.
// If the agent still waits, the notification appears again as soon as one of its heartbeats reports
// something new, for example another status.
func (c *NotificationClient) Dismiss(ctx context.Context, agent, kind string) error {
	_, err := c.conn.do(ctx, post(map[string]string{"agent_id": agent, "type": kind}, true, "v1", "notifications", "dismiss"))
	return err
}
