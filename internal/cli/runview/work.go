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

// work is the work on a run beside the view of it. It can be halted, with the
// agents going on, and taken up again. On a server's run others work.
type work struct {
	ctx   context.Context
	app   *app.App // nil if others work on it
	fleet connect.Fleet
	run   string
	ended chan result // has one when the run has ended or cannot be worked on; nil if others work on it

	mu   sync.Mutex
	stop func() // halts and waits; nil if nobody works
}

// result is how work ended.
type result struct {
	run fleet.Run
	err error
}

func newWork(ctx context.Context, t *View, run string) *work {
	w := &work{ctx: ctx, app: t.App, fleet: t.Fleet, run: run}
	if w.app != nil {
		w.ended = make(chan result, 1)
	}
	return w
}

// start takes the work up, if it is not under way.
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
		r := w.until(ctx)
		if ctx.Err() == nil {
			w.ended <- r
		}
	}()
	w.stop = func() { cancel(); <-done }
}

// until works until the end. A panic becomes an error, so that the terminal is
// given back before the process ends of it.
func (w *work) until(ctx context.Context) (r result) {
	defer func() {
		if p := recover(); p != nil {
			r.err = fmt.Errorf("run %s: panic: %v\n%s", w.run, p, debug.Stack())
		}
	}()
	r.run, r.err = w.app.Work(ctx, w.run)
	return r
}

// halt takes no more work and waits for that.
func (w *work) halt() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stop != nil {
		w.stop()
		w.stop = nil
	}
}

// cancel ends the run. Somebody must work on it, so that its agents end.
func (w *work) cancel(ctx context.Context, why string) error {
	err := w.fleet.Cancel(ctx, w.run, "", why)
	var late interface{ Conflict() bool }
	if errors.As(err, &late) && late.Conflict() {
		err = nil // it has ended meanwhile
	}
	w.start()
	return err
}

// follow gives the run as it stands, the latest only, until ctx ends or the run
// has ended, and then closes. Its error is of reading, and comes at most once.
func follow(ctx context.Context, f connect.Fleet, run string, every time.Duration, all *sync.WaitGroup) (<-chan fleet.Run, <-chan error) {
	runs, failed := make(chan fleet.Run, 1), make(chan error, 1)
	all.Go(func() {
		defer close(runs)
		err := f.Follow(ctx, run, every, func(r fleet.Run) error {
			select {
			case <-runs: // an older one that nobody has looked at
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
