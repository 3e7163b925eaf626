package serverfleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/pause"
)

// The pace of following a run: what agents do is no change of the stream, so the
// run is looked at again from time to time, more seldom the larger it is.
const (
	shortest = 200 * time.Millisecond // between two looks, whatever changes
	quiet    = 2 * time.Second        // until the next look if nothing is told
	longest  = 5 * time.Second        // between two tries to reach a server that is away
)

// Follow calls each with the run as it stands, at once and then whenever it has
// changed, but not more often than every interval, until the run has ended or
// each returns an error or ctx ends. A server that is away is waited for, and
// both its absence and its return are told.
func (f *Fleet) Follow(ctx context.Context, run string, interval time.Duration, each func(fleet.Run) error) error {
	bell := f.listen(ctx, run)
	defer bell.stop()
	absent := absence{fleet: f}
	for {
		r, err := f.run(ctx, run)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !passing(err):
			return f.problem(err)
		case err != nil:
			absent.wait(ctx, err)
			continue
		}
		absent.over()
		if err := each(r); err != nil || r.Status.Final() {
			return err
		}
		if err := bell.wait(ctx, interval); err != nil {
			return err
		}
	}
}

// changeSignal rings when the stream tells that something of a run has changed.
type changeSignal struct {
	changes chan struct{}
	stop    func()
}

// listen begins to hear of a run. A stream that the server refuses rings never,
// and then the run is looked at from time to time alone.
func (f *Fleet) listen(ctx context.Context, run string) changeSignal {
	ctx, cancel := context.WithCancel(ctx)
	b := changeSignal{changes: make(chan struct{}, 1)}
	var all sync.WaitGroup
	all.Go(func() {
		_ = f.client.Stream(ctx, coordinator.From{Run: run}, func(coordinator.Change) error {
			select {
			case b.changes <- struct{}{}:
			default: // it rings already
			}
			return nil
		})
	})
	b.stop = func() { cancel(); all.Wait() }
	return b
}

// wait returns when the bell has rung or it has been quiet for long, but not
// before the interval is over.
func (b changeSignal) wait(ctx context.Context, interval time.Duration) error {
	interval = max(interval, shortest)
	soonest, latest := time.NewTimer(interval), time.NewTimer(max(10*interval, quiet))
	defer soonest.Stop()
	defer latest.Stop()
	select {
	case <-b.changes:
	case <-latest.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-soonest.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// absence is a server that does not answer: told when it begins and when it ends.
type absence struct {
	fleet *Fleet
	tries int
}

// wait is longer with each failure, up to longest.
func (a *absence) wait(ctx context.Context, err error) {
	if a.tries++; a.tries == 1 {
		a.fleet.opts.Notice(fmt.Sprintf("the server is away (%v); what runs goes on, and so does this when it is back", root(err)))
	}
	pause.For(ctx, min(shortest<<min(a.tries, 10), longest))
}

func (a *absence) over() {
	if a.tries > 0 {
		a.fleet.opts.Notice("the server is back")
	}
	a.tries = 0
}

// root is the error without the request that it was met in.
func root(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}
