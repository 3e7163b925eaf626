// Package register sends heartbeats for the agents that users have started on this machine. They
// report the agents to a fleet, which shows each of them as a worker while the agent runs.
package register

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/byhand/discover"
)

// Options configures [Run]. Find returns the running agents, and Beat sends one heartbeat.
type Options struct {
	Find   func(context.Context) ([]discover.Agent, error)
	Beat   func(context.Context, coordinator.Heartbeat) error
	Host   string
	Now    func() time.Time
	Notice func(text string) // shows a problem to the user, once for each period in which heartbeats fail
}

const (
	findInterval = 500 * time.Millisecond
	// beatInterval is the time between two heartbeats of an agent that has not changed. It is half
	// the time after which the coordinator considers an agent without heartbeats offline.
	beatInterval = 15 * time.Second
	// nowInterval is the shortest time between two heartbeats that differ only in the agent's
	// current activity and its cost.
	nowInterval = 2 * time.Second
	// BeatTimeout is the time limit for one heartbeat. A heartbeat that failed is sent again after
	// the next call of the function Find, or after beatInterval if the server refused it.
	BeatTimeout = 5 * time.Second
)

// Run sends heartbeats for the agents until ctx ends. Then it reports all agents as gone, because
// after that it would not notice when they end.
func Run(ctx context.Context, o Options) {
	p := &reporter{Options: o, sent: map[string]sentBeat{}, refused: map[string]time.Time{}}
	tick := time.NewTicker(findInterval)
	defer tick.Stop()
	for {
		list, err := o.Find(ctx)
		if err == nil {
			p.sendDue(ctx, list)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			p.sendDue(context.WithoutCancel(ctx), nil)
			return
		}
	}
}

// sentBeat is the last heartbeat that was sent for an agent, and the time at which it was sent.
type sentBeat struct {
	coordinator.Heartbeat
	at time.Time
}

type reporter struct {
	Options
	sent    map[string]sentBeat
	refused map[string]time.Time // for each agent whose last heartbeat the server refused: when
	failing bool
}

// sendDue sends the heartbeats that are due. A heartbeat that could not be sent is due again after
// the next call of the function Find. If the server refuses a heartbeat, sendDue continues with the
// heartbeat of the next agent, and sends this one again after beatInterval. After any other error,
// for example if the server is unreachable, sendDue stops.
func (p *reporter) sendDue(ctx context.Context, list []discover.Agent) {
	now := p.Now()
	// Forget agents that have ended: the heartbeat of any other agent was sent again in this time.
	maps.DeleteFunc(p.refused, func(_ string, at time.Time) bool { return now.Sub(at) >= 2*beatInterval })
	var failed error
	for _, h := range due(p.sent, list, p.Host, now) {
		if at, ok := p.refused[h.AgentID]; ok && now.Sub(at) < beatInterval && !h.Gone {
			continue
		}
		err := p.beat(ctx, h)
		if err != nil {
			failed = err
		}
		switch {
		case err != nil && !isRefusal(err):
			p.notify(ctx, err)
			return
		case h.Gone:
			delete(p.sent, h.AgentID)
			delete(p.refused, h.AgentID)
		case err != nil:
			p.refused[h.AgentID] = now
		default:
			p.sent[h.AgentID] = sentBeat{h, now}
			delete(p.refused, h.AgentID)
		}
	}
	p.notify(ctx, failed)
}

// notify shows the error of a heartbeat to the user if all heartbeats succeeded before. If err is
// nil, none has failed.
func (p *reporter) notify(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && !p.failing {
		p.Notice(fmt.Sprintf("agents started by hand cannot be reported: %v; trying again", err))
	}
	p.failing = err != nil || len(p.refused) > 0
}

// isRefusal reports whether the server has received the heartbeat and rejected it.
func isRefusal(err error) bool {
	var invalid interface{ Invalid() bool }
	var conflict interface{ Conflict() bool }
	var denied interface{ Denied() bool }
	return errors.As(err, &invalid) && invalid.Invalid() || errors.As(err, &conflict) && conflict.Conflict() ||
		errors.As(err, &denied) && denied.Denied()
}

func (p *reporter) beat(ctx context.Context, h coordinator.Heartbeat) error {
	ctx, cancel := context.WithTimeout(ctx, BeatTimeout)
	defer cancel()
	return p.Beat(ctx, h)
}
