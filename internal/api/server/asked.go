package server

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"gaffer/coordinator"
)

// give answers with the value that the service returns.
func give[T any](c *call, ask func(ctx context.Context) (T, error)) error {
	ctx, cancel := c.context()
	defer cancel()
	value, err := ask(ctx)
	if err != nil {
		return err
	}
	answer(c.w, c.route.status, value)
	return nil
}

// list returns an empty list instead of nil, so that its JSON is never null.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// trim removes surrounding spaces, which users of old clients leave.
func trim(texts ...*string) {
	for _, text := range texts {
		*text = strings.TrimSpace(*text)
	}
}

// pathID returns the id in the path.
func (c *call) pathID() (string, error) {
	id := strings.TrimSpace(c.r.PathValue("id"))
	return id, ids("id", id)
}

// number returns a number of the query, at most top, or 0 if it is missing.
func (c *call) number(name string, top int) (int, error) {
	text := c.r.URL.Query().Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, refuse(http.StatusBadRequest, "invalid_request", fmt.Sprintf("%s %.20q: want a number from 1", name, text))
	}
	return min(n, top), nil
}

func (c *call) heartbeat() error {
	var h coordinator.Heartbeat
	if err := decode(c.w, c.r, &h); err != nil {
		return err
	}
	trim(&h.AgentID, &h.Name, &h.ClaudeStatus, &h.Status, &h.CurrentTaskID)
	if err := ids("agent_id", h.AgentID, "current_task_id", h.CurrentTaskID); err != nil {
		return err
	}
	if err := names("name", h.Name, "claude_status", h.ClaudeStatus, "status", h.Status); err != nil {
		return err
	}
	c.quiet = true // it is sent every 15 seconds; an actual change is an event
	return give(c, func(ctx context.Context) (oneAgent, error) {
		a, err := c.protocol.Heartbeat(ctx, c.by, h)
		return oneAgent{a}, err
	})
}

func (c *call) agents() error {
	return give(c, func(ctx context.Context) (allAgents, error) {
		all, err := c.protocol.Agents(ctx)
		return allAgents{list(all)}, err
	})
}

func (c *call) agent() error {
	id, err := c.pathID()
	if err != nil {
		return err
	}
	return give(c, func(ctx context.Context) (oneAgent, error) {
		a, err := c.protocol.Agent(ctx, id)
		return oneAgent{a}, err
	})
}

func (c *call) currentTask() error {
	id, err := c.pathID()
	if err != nil {
		return err
	}
	return give(c, func(ctx context.Context) (oneTask, error) {
		t, err := c.protocol.CurrentTask(ctx, id)
		return oneTask{t}, err
	})
}

const maxSubscriptions = 1000

func (c *call) subscribe() error {
	id, err := c.pathID()
	if err != nil {
		return err
	}
	var s subscription
	if err := decode(c.w, c.r, &s); err != nil {
		return err
	}
	if len(s.Subscriptions) > maxSubscriptions {
		return refuse(http.StatusBadRequest, "invalid_request", fmt.Sprintf("%d subscriptions: want at most %d", len(s.Subscriptions), maxSubscriptions))
	}
	for i := range s.Subscriptions {
		trim(&s.Subscriptions[i])
		if err := names("subscription", s.Subscriptions[i]); err != nil {
			return err
		}
	}
	c.about = "agent " + id
	return give(c, func(ctx context.Context) (oneAgent, error) {
		a, err := c.protocol.Subscribe(ctx, c.by, id, s.Subscriptions)
		return oneAgent{a}, err
	})
}

func (c *call) channels() error {
	return give(c, func(ctx context.Context) (allChannels, error) {
		all, err := c.protocol.Channels(ctx)
		return allChannels{list(all)}, err
	})
}

func (c *call) channel() error {
	name := strings.TrimSpace(c.r.PathValue("name"))
	if err := names("name", name); err != nil {
		return err
	}
	return give(c, func(ctx context.Context) (oneChannel, error) {
		ch, err := c.protocol.Channel(ctx, name)
		return oneChannel{ch}, err
	})
}

func (c *call) addChannel() error {
	var ask coordinator.Channel
	if err := decode(c.w, c.r, &ask); err != nil {
		return err
	}
	trim(&ask.ID, &ask.Name, &ask.Description)
	if err := names("name", ask.Name); err != nil {
		return err
	}
	if err := ids("id", ask.ID); err != nil {
		return err
	}
	return give(c, func(ctx context.Context) (oneChannel, error) {
		ch, err := c.protocol.AddChannel(ctx, c.by, ask)
		c.about = "channel " + ch.ID
		return oneChannel{ch}, err
	})
}

func (c *call) chains() error {
	channel := c.r.URL.Query().Get("channel_id")
	if err := ids("channel_id", channel); err != nil {
		return err
	}
	return give(c, func(ctx context.Context) (allChains, error) {
		all, err := c.protocol.Chains(ctx)
		kept := []coordinator.Chain{}
		for _, chain := range all {
			if channel == "" || chain.ChannelID == channel {
				kept = append(kept, chain)
			}
		}
		return allChains{kept}, err
	})
}

func (c *call) addChain() error {
	var ask coordinator.Chain
	if err := decode(c.w, c.r, &ask); err != nil {
		return err
	}
	trim(&ask.ID, &ask.ChannelID, &ask.Name, &ask.Description)
	if err := ids("id", ask.ID, "channel_id", ask.ChannelID); err != nil {
		return err
	}
	if err := names("name", ask.Name); err != nil {
		return err
	}
	return give(c, func(ctx context.Context) (oneChain, error) {
		chain, err := c.protocol.AddChain(ctx, c.by, ask)
		c.about = "chain " + chain.ID
		return oneChain{chain}, err
	})
}

const (
	maxEvents   = 1000
	someEvents  = 100
	maxTaskList = 100_000
)

func (c *call) events() error {
	limit, err := c.number("limit", maxEvents)
	if err != nil {
		return err
	}
	if limit == 0 {
		limit = someEvents
	}
	return give(c, func(ctx context.Context) (allEvents, error) {
		all, err := c.protocol.Events(ctx, limit)
		return allEvents{list(all)}, err
	})
}

func (c *call) addEvent() error {
	var ask coordinator.NewEvent
	if err := decode(c.w, c.r, &ask); err != nil {
		return err
	}
	trim(&ask.AgentID, &ask.TaskID, &ask.Type, &ask.IdempotencyKey)
	if err := ids("agent_id", ask.AgentID, "task_id", ask.TaskID); err != nil {
		return err
	}
	if err := names("type", ask.Type, "idempotency_key", ask.IdempotencyKey); err != nil {
		return err
	}
	ctx, cancel := c.context()
	defer cancel()
	made, deduped, err := c.protocol.AddEvent(ctx, c.by, ask)
	switch {
	case err != nil:
		return err
	case deduped:
		c.quiet = true
		answer(c.w, http.StatusOK, toldEvent{Deduped: true})
	default:
		c.about = "event " + made.ID
		answer(c.w, c.route.status, toldEvent{Event: &made})
	}
	return nil
}

func (c *call) dashboard() error {
	return give(c, func(ctx context.Context) (coordinator.Dashboard, error) {
		d, err := c.protocol.Dashboard(ctx)
		d.Agents, d.Channels, d.Chains = list(d.Agents), list(d.Channels), list(d.Chains)
		d.Tasks, d.Events = list(d.Tasks), list(d.Events)
		return d, err
	})
}
