// Package worker claims tasks, runs them, and reports. It holds no truth: what
// it runs is in the store and in the folders of the attempts, so that after a
// crash another worker with the same name goes on where this one was.
package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"gaffer/internal/agent"
	"gaffer/internal/engine"
	"gaffer/internal/plan"
	"gaffer/internal/runner"
	"gaffer/internal/store"
	"gaffer/internal/supervisor"
)

// Engine is what a worker asks of the engine, here or behind a network.
type Engine interface {
	Claim(context.Context, engine.Claim) (engine.Assignment, error)
	Beat(context.Context, store.Worker, []engine.Held) ([]engine.Order, error)
	Ask(context.Context, engine.Ask) (string, error)
	// Turn is Finish and then Claim, at once.
	Turn(context.Context, engine.Finish, engine.Claim) (engine.Outcome, *engine.Assignment, error)
}

// Options are what a worker needs of the world.
type Options struct {
	ID       string
	Labels   []string
	Slots    int
	Engine   Engine
	Attempts string // the folder of the attempts' folders
	Place    Place
	Agents   func(name string) (agent.Agent, error)
	Now      func() time.Time
	Notice   func(text string) // what a person should know
	// Supervisor says how supervisors are started.
	Supervisor supervisor.Options
	// Terminal returns where people can look at an attempt while it runs, or
	// nil for nowhere.
	Terminal func(t store.Task, spec plan.Task, log string, from int64) *supervisor.Terminal
	// Grace is how long an agent may take to follow each signal; the
	// supervisor's own if zero.
	Grace time.Duration
}

// Place says where a task is worked on.
type Place interface {
	// Log is the file that the output of a task's attempts is appended to.
	Log(t store.Task) string
	// Work returns the folder that a task is worked on in, which it makes if
	// need be.
	Work(ctx context.Context, t store.Task, spec plan.Task) (dir string, err error)
}

// Worker runs attempts. All its state belongs to the goroutine of Run.
type Worker struct {
	opts    Options
	held    map[string]*held
	news    chan func() // from the attempts, for the goroutine of Run
	wake    chan struct{}
	attend  chan struct{}
	running sync.WaitGroup

	pool   *supervisor.Pool
	dirty  bool // there is something to say in the next beat
	asking bool // something may be claimed
	drains bool // takes and starts nothing, and is done when it holds nothing
}

// New returns a worker.
func New(opts Options) *Worker {
	return &Worker{
		opts: opts, pool: supervisor.NewPool(opts.Supervisor, opts.Slots), held: map[string]*held{}, news: make(chan func()), wake: make(chan struct{}, 1), attend: make(chan struct{}, 1), asking: true,
	}
}

// Wake says that there may be tasks to claim. It never waits.
func (w *Worker) Wake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Attend says that there may be answers or orders for what runs. It never waits.
func (w *Worker) Attend() {
	select {
	case w.attend <- struct{}{}:
	default:
	}
}

// beatEvery is how often a worker tells that it is alive; sayEvery how soon it
// tells what is new.
const (
	beatEvery = 15 * time.Second
	sayEvery  = 100 * time.Millisecond
)

// Run claims tasks and runs them until ctx ends; then it lets go of those that
// run, which go on without it. Errors of the engine are told and the request is
// made again.
func (w *Worker) Run(ctx context.Context) error {
	running, letGo := context.WithCancel(ctx)
	defer w.pool.Close()
	defer w.running.Wait()
	defer letGo()
	for _, h := range w.held {
		w.look(running, h)
	}
	last := w.opts.Now()
	beat := time.NewTimer(beatEvery)
	defer beat.Stop()
	for {
		switch {
		case w.drains && len(w.held) == 0:
			return nil
		case w.asking && !w.drains:
			w.claimAll(running)
		}
		beat.Reset(w.untilBeat(last))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case do := <-w.news:
			do()
		case <-w.wake:
			w.asking = true
		case <-w.attend:
			w.dirty = true
		case <-beat.C:
			last, w.dirty = w.opts.Now(), false
			w.beat(ctx)
		}
	}
}

// untilBeat is how long there is nothing to tell, if the last beat was then.
func (w *Worker) untilBeat(last time.Time) time.Duration {
	since := w.opts.Now().Sub(last)
	if w.dirty {
		return max(sayEvery-since, 0)
	}
	return max(beatEvery-since, 0)
}

// claimAll takes tasks as long as there are slots and tasks.
func (w *Worker) claimAll(ctx context.Context) {
	w.asking = false
	for len(w.held) < w.opts.Slots && ctx.Err() == nil {
		a, err := w.opts.Engine.Claim(ctx, w.claim())
		if errors.Is(err, engine.ErrNothing) {
			return
		}
		if err != nil {
			w.trouble(ctx, "claim", err)
			return
		}
		h := w.hold(a)
		w.look(ctx, h)
	}
}

func (w *Worker) claim() engine.Claim {
	if w.drains {
		return engine.Claim{Worker: w.opts.ID} // no task of a place can be had without its label
	}
	return engine.Claim{Worker: w.opts.ID, Labels: w.opts.Labels}
}

func (w *Worker) hold(a engine.Assignment) *held {
	h := &held{worker: w, Assignment: a, questions: map[string]string{}}
	w.held[a.Attempt.ID] = h
	return h
}

// look starts the goroutine that looks after an attempt.
func (w *Worker) look(ctx context.Context, h *held) {
	w.running.Go(func() { h.run(ctx) })
}

// tell hands news to the goroutine of Run, unless that has ended.
func (w *Worker) tell(ctx context.Context, do func()) {
	select {
	case w.news <- do:
	case <-ctx.Done():
	}
}

// done forgets an attempt that was reported, and begins the one that was
// claimed with the report.
func (w *Worker) done(ctx context.Context, h *held, next *engine.Assignment) {
	delete(w.held, h.Attempt.ID)
	if next == nil {
		w.asking = true // there may be something by now
		return
	}
	w.look(ctx, w.hold(*next))
}

// beat tells that the worker is alive and what its attempts do, and does what
// it is told.
func (w *Worker) beat(ctx context.Context) {
	var list []engine.Held
	for _, h := range w.held {
		list = append(list, h.report())
	}
	orders, err := w.opts.Engine.Beat(ctx, store.Worker{ID: w.opts.ID, Slots: w.opts.Slots}, list)
	if err != nil {
		w.trouble(ctx, "beat", err)
		w.dirty = true
		return
	}
	for _, o := range orders {
		if h := w.held[o.Attempt]; h != nil {
			h.follow(o)
		}
	}
}

// trouble tells a person of an error, unless it is ours to end.
func (w *Worker) trouble(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		w.opts.Notice(fmt.Sprintf("%s: %v; trying again", what, err))
	}
}

// doneSuffix ends the name of the folder of an attempt that was reported. They
// are not removed one by one: some file systems are slow to make files where
// many have just been removed.
const doneSuffix = ".done"

// retire is for the folder of an attempt that was reported.
func (w *Worker) retire(dir string) {
	if w.pool.Recycle(dir) {
		return
	}
	if err := os.Rename(dir, dir+doneSuffix); err != nil && !errors.Is(err, os.ErrNotExist) {
		w.opts.Notice(err.Error())
	}
}

// folder returns the folder of an attempt.
func (w *Worker) folder(attempt string) string { return filepath.Join(w.opts.Attempts, attempt) }

// Adopt takes over the attempts that the store says this worker runs. Before it
// returns, every attempt that the store does not know as running is ended. It
// must be called before Run, and by one process at a time.
func (w *Worker) Adopt(ctx context.Context, running []engine.Assignment) error {
	known := map[string]bool{}
	for _, a := range running {
		known[a.Attempt.ID] = true
	}
	entries, err := os.ReadDir(w.opts.Attempts)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if known[e.Name()] || strings.HasSuffix(e.Name(), doneSuffix) {
			continue
		}
		if err := endStale(ctx, w.folder(e.Name()), e.Name(), w.opts); err != nil {
			return err
		}
	}
	for _, a := range running {
		w.hold(a)
	}
	return nil
}

// Collect reports how attempts ended that nobody looks after any more, and does
// nothing else: no task is claimed, and what never began is lost. It waits for
// those that still run, and stops them if the engine says so. It is instead of
// Run.
func (w *Worker) Collect(ctx context.Context, running []engine.Assignment) error {
	for _, a := range running {
		w.hold(a)
	}
	w.drains, w.dirty = true, true
	return w.Run(ctx)
}

// endStale ends an attempt that is over for the store, if it is not over.
func endStale(ctx context.Context, dir, attempt string, opts Options) error {
	if err := runner.End(ctx, dir, attempt, runner.Options{Now: opts.Now, Supervisor: opts.Supervisor}); err != nil {
		return fmt.Errorf("end attempt %s, which is over: %w", attempt, err)
	}
	return os.Rename(dir, dir+doneSuffix)
}
