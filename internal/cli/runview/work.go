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
	"gaffer/internal/cli/connect"
)

// work runs the work on a run in the background, while a view shows it. It can be
// halted and started again; the agents keep running meanwhile. For a server's run it
// does nothing.
type work struct {
	ctx   context.Context
	app   *app.App // nil for a server's run
	fleet connect.Fleet
	run   string
	ended chan result // receives one result when the run has ended or the work has failed; nil for a server's run

	mu   sync.Mutex
	stop func() // stops the work and waits; nil if it is not running
}

// result is the outcome of the work.
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

// untilEnd works until the run ends. A panic becomes an error, so that the terminal is
// restored before the process exits.
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

// cancel cancels the run. It also starts the work if it is halted, because only the
// work ends the agents.
func (w *work) cancel(ctx context.Context, why string) error {
	err := w.fleet.Cancel(ctx, w.run, "", why)
	var late interface{ Conflict() bool }
	if errors.As(err, &late) && late.Conflict() {
		err = nil // the run has ended meanwhile
	}
	w.start()
	return err
}

// follow sends the current run whenever it changes, until ctx ends or the run has
// ended, and then closes the channel. A slow reader gets only the latest state. The
// second channel receives at most one error.
func follow(ctx context.Context, f connect.Fleet, run string, every time.Duration, all *sync.WaitGroup) (<-chan fleet.Run, <-chan error) {
	runs, failed := make(chan fleet.Run, 1), make(chan error, 1)
	all.Go(func() {
		defer close(runs)
		err := f.Follow(ctx, run, every, func(r fleet.Run) error {
			select {
			case <-runs: // drop an older state that was not read
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
