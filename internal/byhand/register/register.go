// Package register reports to a fleet the agents that users have started on this
// machine. Each is a worker of its own while it exists.
package register

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/byhand/discover"
)

// Options holds the functions that [Run] uses.
type Options struct {
	Look   func(context.Context) ([]discover.Sighting, error)
	Beat   func(context.Context, coordinator.Heartbeat) error
	Host   string
	Now    func() time.Time
	Notice func(text string) // reports a problem to the user, once
}

const (
	lookEvery = 500 * time.Millisecond
	// beatEvery is the interval between heartbeats of an unchanged agent. Two fit
	// into the time after which the protocol considers an agent offline.
	beatEvery = 15 * time.Second
	// BeatWithin limits how long a heartbeat may take. After a failure the next Look
	// tries again.
	BeatWithin = 5 * time.Second
)

// Run reports the agents until ctx ends. Then it reports all of them as gone, because
// afterwards no process here would notice their end.
func Run(ctx context.Context, o Options) {
	p := &presence{Options: o, told: map[string]told{}}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		list, err := o.Look(ctx)
		if err == nil {
			p.tell(ctx, list)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			p.tell(context.WithoutCancel(ctx), nil)
			return
		}
	}
}

// told is the last heartbeat of an agent, and when it was sent.
type told struct {
	coordinator.Heartbeat
	at time.Time
}

type presence struct {
	Options
	told    map[string]told
	failing bool
}

// tell sends the heartbeats that are due. A failed heartbeat is due again at the next
// Look. If the server refuses one agent, tell continues with the others; if the
// server is unreachable, it stops.
func (p *presence) tell(ctx context.Context, list []discover.Sighting) {
	now := p.Now()
	var failed error
	for _, h := range due(p.told, list, p.Host, now) {
		if err := p.beat(ctx, h); err != nil {
			failed = err
			if !refused(err) {
				break
			}
			continue
		}
		if h.Gone {
			delete(p.told, h.AgentID)
		} else {
			p.told[h.AgentID] = told{h, now}
		}
	}
	if failed != nil && ctx.Err() == nil && !p.failing {
		p.Notice(fmt.Sprintf("agents that people started cannot be told of: %v; trying again", failed))
	}
	p.failing = failed != nil
}

// refused reports whether the server has received the heartbeat and rejected it.
func refused(err error) bool {
	var invalid interface{ Invalid() bool }
	var conflict interface{ Conflict() bool }
	var denied interface{ Denied() bool }
	return errors.As(err, &invalid) && invalid.Invalid() || errors.As(err, &conflict) && conflict.Conflict() ||
		errors.As(err, &denied) && denied.Denied()
}

func (p *presence) beat(ctx context.Context, h coordinator.Heartbeat) error {
	ctx, cancel := context.WithTimeout(ctx, BeatWithin)
	defer cancel()
	return p.Beat(ctx, h)
}
