package runview

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"gaffer/fleet"
	"gaffer/internal/app"
	"gaffer/internal/cli/openfleet"
)

// work executes a run in the background while a view shows the run. The method halt stops the
// execution, and start continues it; the agents keep running in between. If the run is on a server,
// start and halt do nothing, because the server's workers execute the run.
type work struct {
	ctx   context.Context
	app   *app.App // nil if the run is on a server
	fleet openfleet.Fleet
	run   string
	// ended receives a result when the run has ended or the work has failed. It is nil if the run
	// is on a server.
	ended chan result

	mu sync.Mutex
	// stop stops the work and waits until it has stopped. It is nil if the work is not running.
	stop func()
}

// result is how the work on a run ended.
type result struct {
	run fleet.Run
	err error
}

func newWork(ctx context.Context, v *View, run string) *work {
	w := &work{ctx: ctx, app: v.App, fleet: v.Fleet, run: run}
	if w.app != nil {
		w.ended = make(chan result, 1)
	}
	return w
}

// start starts the work if it is not running.
func (w *work) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stop != nil || w.app == nil {
		return
	}
	ctx, cancel := context.WithCancel(w.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r := w.untilEnd(ctx)
		if ctx.Err() == nil {
			w.ended <- r
		}
	}()
	w.stop = func() { cancel(); <-done }
}

// untilEnd executes the run until the run or ctx ends. It turns a panic into an error, so that the
// terminal is restored before the process exits.
func (w *work) untilEnd(ctx context.Context) (r result) {
	defer func() {
		if p := recover(); p != nil {
			r.err = fmt.Errorf("run %s: panic: %v\n%s", w.run, p, debug.Stack())
		}
	}()
	r.run, r.err = w.app.Runs.Work(ctx, w.run)
	return r
}

// halt stops the work and waits until it has stopped.
func (w *work) halt() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stop != nil {
		w.stop()
		w.stop = nil
	}
}

// cancel cancels the run. If the work is halted, cancel starts it again, because only a process
// that executes the run ends the agents.
func (w *work) cancel(ctx context.Context, why string) error {
	err := w.fleet.Cancel(ctx, w.run, "", why)
	var late interface{ Conflict() bool }
	if errors.As(err, &late) && late.Conflict() {
		err = nil // the run has already ended, so there is nothing to cancel
	}
	w.start()
	return err
}

// follow starts a goroutine, in the wait group all, that sends the state of the run to the first
// channel, at the start and after changes. A slow reader gets only the latest state. The goroutine
// closes the first channel when the run has ended, when ctx ends, or when following fails. If
// following fails, it first sends the error to the second channel.
func follow(ctx context.Context, f openfleet.Fleet, run string, every time.Duration, all *sync.WaitGroup) (<-chan fleet.Run, <-chan error) {
	runs, failed := make(chan fleet.Run, 1), make(chan error, 1)
	all.Go(func() {
		defer close(runs)
		err := f.Follow(ctx, run, every, func(r fleet.Run) error {
			select {
			case <-runs: // drop the older state, which was not read
			default:
			}
			runs <- r
			return nil
		})
		if err != nil && ctx.Err() == nil {
			failed <- err
		}
	})
	return runs, failed
}
