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

// Intervals of requests to the server while a command follows a run. The server's stream of changes
// does not contain the progress of agents, so Follow also requests the run at intervals.
const (
	minPoll      = 200 * time.Millisecond // minimum time between two requests
	idlePoll     = 2 * time.Second        // minimum time between two requests if there are no changes
	maxRetryWait = 5 * time.Second        // maximum time between two tries while the server cannot be reached
)

// Follow calls show with the state of the run: at once, then after each change, and also regularly
// if there is no change. Two calls are at least interval apart. Follow returns when the run has
// ended, show returns an error, the server refuses a request, or ctx ends. If the server cannot be
// reached, Follow repeats the request until there is an answer. It prints a notice at the start and
// at the end of the outage.
func (f *Fleet) Follow(ctx context.Context, run string, interval time.Duration, show func(fleet.Run) error) error {
	changes := f.listen(ctx, run)
	defer changes.stop()
	absent := outage{fleet: f}
	for {
		r, err := f.run(ctx, run)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !isTemporary(err):
			return f.problem(err)
		case err != nil:
			absent.wait(ctx, err)
			continue
		}
		absent.end()
		if err := show(r); err != nil || r.Status.Final() {
			return err
		}
		if err := changes.wait(ctx, interval); err != nil {
			return err
		}
	}
}

// changeSignal signals that the server's stream has reported a change.
type changeSignal struct {
	changes chan struct{} // has a value if the stream has reported a change since the last wait
	stop    func()        // closes the stream
}

// listen subscribes to the server's stream of changes of a run; an empty run means all runs. If the
// server refuses the stream, the result never signals a change. The caller still requests the state
// at intervals, because the method wait also returns without a change.
func (f *Fleet) listen(ctx context.Context, run string) changeSignal {
	ctx, cancel := context.WithCancel(ctx)
	b := changeSignal{changes: make(chan struct{}, 1)}
	var all sync.WaitGroup
	all.Go(func() {
		_ = f.client.Stream(ctx, coordinator.StreamQuery{Run: run}, func(coordinator.Change) error {
			select {
			case b.changes <- struct{}{}:
			default: // the channel already holds a signal
			}
			return nil
		})
	})
	b.stop = func() { cancel(); all.Wait() }
	return b
}

// wait waits for a change, but never less than interval or minPoll, whichever is longer. Without a
// change, it returns after ten times that time or after idlePoll, whichever is longer. It returns
// an error only if ctx ends.
func (b changeSignal) wait(ctx context.Context, interval time.Duration) error {
	interval = max(interval, minPoll)
	soonest, latest := time.NewTimer(interval), time.NewTimer(max(10*interval, idlePoll))
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

// outage counts the failed requests since the last success. It prints a notice when the server can
// no longer be reached, and when it answers again.
type outage struct {
	fleet *Fleet
	tries int
}

// wait waits after a failed request: longer after each failure, up to maxRetryWait.
func (a *outage) wait(ctx context.Context, err error) {
	if a.tries++; a.tries == 1 {
		a.fleet.opts.Notice(fmt.Sprintf("the server is unreachable (%v); runs continue, and this command continues when the server is back", cause(err)))
	}
	pause.For(ctx, min(minPoll<<min(a.tries, 10), maxRetryWait))
}

func (a *outage) end() {
	if a.tries > 0 {
		a.fleet.opts.Notice("the server is back")
	}
	a.tries = 0
}

// cause returns the error that err wraps, or err if it wraps none. It removes the method and the
// path of the request, with which the text of a failed request's error begins.
func cause(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// Changes calls notify at once and then after each change on the server, but at most once per
// interval. It returns when notify returns an error or ctx ends. The stream of changes does not
// contain the progress of agents, so notify is also called at intervals, even while the server
// cannot be reached.
func (f *Fleet) Changes(ctx context.Context, interval time.Duration, notify func() error) error {
	changes := f.listen(ctx, "")
	defer changes.stop()
	for {
		if err := notify(); err != nil {
			return err
		}
		if err := changes.wait(ctx, interval); err != nil {
			return err
		}
	}
}
