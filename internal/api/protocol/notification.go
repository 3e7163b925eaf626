package protocol

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
)

// dismissal records that a user has dismissed a notification about an agent. It hides the
// notification until the agent's UpdatedAt changes.
type dismissal struct {
	Since time.Time `json:"since"` // the agent's UpdatedAt at the time of the dismissal
}

func dismissedKey(agent, kind string) store.ItemKey {
	return store.ItemKey{Kind: kindDismissed, ID: agent + ":" + kind}
}

// Notifications implements [server.Protocol]. It returns a notification for each online agent that
// reports the state "setup_waiting", which means that it waits for a user to request a session. If
// a user has dismissed the notification, Notifications leaves it out until the agent's UpdatedAt
// changes.
func (d *agentService) Notifications(ctx context.Context) (list []coordinator.Notification, err error) {
	err = d.db.store.Read(ctx, func(r store.Reader) error {
		list = []coordinator.Notification{}
		agents, err := d.agents(r)
		if err != nil {
			return err
		}
		for _, a := range agents {
			if a.WorkerStatus != coordinator.Online || stateOf(a) != coordinator.SetupWaiting {
				continue
			}
			i, err := r.Item(dismissedKey(a.ID, coordinator.SetupWaiting))
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
			if err == nil {
				if gone, err := decodeItem[dismissal](i); err == nil && gone.Since.Equal(a.UpdatedAt) {
					continue
				}
			}
			n := coordinator.Notification{
				Key: a.ID + ":" + coordinator.SetupWaiting, AgentID: a.ID, AgentName: a.Name, Type: coordinator.SetupWaiting,
				Message: fmt.Sprintf("Agent %s waits for a session.", a.Name), CreatedAt: a.UpdatedAt,
			}
			if subscribed := subscriptionsOf(a); len(subscribed) > 0 {
				n.Channel = subscribed[0]
			} else {
				n.Message += " It takes tasks of no channel yet."
			}
			list = append(list, n)
		}
		return nil
	})
	return list, err
}

// stateOf returns the member "state" of the agent's Meta, a JSON object that the agent reports. It
// returns "" if there is none.
func stateOf(a coordinator.Agent) string {
	var meta struct{ State string }
	_ = json.Unmarshal(a.Meta, &meta) // if meta has another format, the state is empty
	return meta.State
}

// subscriptionsOf returns the member "subscriptions" of the agent's Meta: the channels from which
// the agent takes tasks.
func subscriptionsOf(a coordinator.Agent) []string {
	var meta struct{ Subscriptions []string }
	_ = json.Unmarshal(a.Meta, &meta) // if meta has another format, there are no subscriptions
	return meta.Subscriptions
}

// Dismiss implements [server.Protocol]. If there is no such agent or no such kind of notification,
// it does nothing and returns no error.
func (d *agentService) Dismiss(ctx context.Context, by credential.Identity, agent, kind string) error {
	var bad check
	bad.id("agent_id", agent)
	bad.id("type", kind)
	if err := cmp.Or(maySubmit(by), bad.err); err != nil {
		return err
	}
	return d.db.do(ctx, by, func(s *engine.Tx) error {
		w, err := agentRow(s, agent)
		if isNotFound(err) || err == nil && kind != coordinator.SetupWaiting {
			return nil
		}
		if err != nil {
			return err
		}
		_, err = put(s, dismissedKey(agent, kind), "", s.NextSeq(), dismissal{Since: inUTC(w.Updated)})
		return err
	})
}
