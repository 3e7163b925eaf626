package coordinator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Beat sends heartbeats until the context ends or the coordinator denies them. It sends
// the first at once, then one per interval and one for every value on wake. It uses a
// connection that no other request shares. Beat calls say before each heartbeat, so the
// reported state is never older than the request. It calls heard, which may be nil, with
// the result of each. A failed heartbeat is retried before the next one is due.
//
// If the heartbeat has no agent id, Beat uses the id of the first answer from then on. An
// agent that can choose its own id should do so: if that first answer is lost, the
// coordinator has created an agent that is never used.
func (c *Client) Beat(ctx context.Context, every time.Duration, say func() Heartbeat, wake <-chan struct{}, heard func(Agent, error)) error {
	if every <= 0 {
		every = BeatEvery
	}
	p := c.pulse(every, say, heard)
	defer p.end()
	for failures := 0; ; {
		next := every
		switch err := p.beat(ctx); {
		case ctx.Err() != nil:
			return ctx.Err()
		case denied(err):
			return err
		case err != nil:
			failures++
			next = min(every, c.pause(failures, err))
		default:
			failures = 0
		}
		if wake = await(ctx, next, wake); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// pulse is the state that the heartbeats of one agent share.
type pulse struct {
	client *Client
	via    *http.Client
	end    func()
	say    func() Heartbeat
	heard  func(Agent, error)
	id     string // as assigned by the coordinator
}

// pulse limits the timeout of a heartbeat so that it never delays the next one: two in a
// row may be lost before a worker counts as offline.
func (c *Client) pulse(every time.Duration, say func() Heartbeat, heard func(Agent, error)) *pulse {
	own := *c
	own.opt.Timeout = min(c.opt.Timeout, every*2/3)
	via, end := c.apart()
	return &pulse{client: &own, via: via, end: end, say: say, heard: heard}
}

func (p *pulse) beat(ctx context.Context) error {
	agent, err := p.send(ctx)
	if err == nil && p.id == "" {
		p.id = agent.ID
	}
	if p.heard != nil && ctx.Err() == nil {
		p.heard(agent, err)
	}
	return err
}

func (p *pulse) send(ctx context.Context) (agent Agent, err error) {
	h := p.say()
	if h.AgentID == "" {
		h.AgentID = p.id
	}
	q := post(h, false, "v1", "agents", "heartbeat")
	body, err := p.client.try(ctx, p.via, q)
	if err == nil {
		err = members(body).pick("agent", &agent)
	}
	if err != nil {
		return Agent{}, fmt.Errorf("%s: %w", q, err)
	}
	return agent, nil
}

// denied reports whether every later heartbeat would be refused too.
func denied(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Denied() || e.Invalid())
}

// await returns when the next heartbeat is due: after d, or as soon as a value arrives on
// wake. It returns nil in place of a closed wake channel.
func await(ctx context.Context, d time.Duration, wake <-chan struct{}) <-chan struct{} {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
		case <-timer.C:
		case _, ok := <-wake:
			if !ok {
				wake = nil
				continue
			}
		}
		return wake
	}
}
