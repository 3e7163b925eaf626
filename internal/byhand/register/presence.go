// Package register tells a fleet which agents people have started by hand on this
// machine, and what they do: each is a worker of its own, for as long as it is
// there.
package register

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/byhand/discover"
)

// Options are what a Presence needs of the world.
type Options struct {
	Look   func(context.Context) ([]discover.Sighting, error)
	Beat   func(context.Context, coordinator.Heartbeat) error
	Host   string
	Now    func() time.Time
	Notice func(text string) // what a person should know, once
}

const (
	lookEvery = 500 * time.Millisecond
	// A beat comes this often though nothing has changed, which is twice before the
	// protocol has an agent offline.
	beatEvery = 15 * time.Second
	// BeatWithin is how long a beat may take. The next look tries again.
	BeatWithin = 5 * time.Second
)

// Run looks and tells until ctx ends, and then says that all are gone: nobody here
// would tell if they were.
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

// told is what was last said of an agent, and when.
type told struct {
	coordinator.Heartbeat
	at time.Time
}

type presence struct {
	Options
	told    map[string]told
	failing bool
}

// tell says what is due. What could not be said is due at the next look. That one
// agent is refused keeps nobody from hearing of the others; where nobody hears,
// the rest is not tried.
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

// refused reports whether somebody heard what was said and would not have it.
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
