// Package worker claims tasks, runs them, and reports. It holds no truth: what
// it runs is in the store and in the folders of the attempts, so that after a
// crash another worker with the same name goes on where this one was.
package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gaffer/fleet"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/runner"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/pause"
	"gaffer/internal/plan"
	"gaffer/internal/plan/secret"
)

// Engine is what a worker asks of the engine, here or behind a network.
type Engine interface {
	Claim(context.Context, engine.Claim) (engine.Assignment, error)
	Beat(context.Context, store.Worker, []engine.Held) ([]engine.Order, error)
	Ask(context.Context, engine.Ask) (string, error)
	// Turn is Finish and then Claim, at once. Made again it is answered as before.
	Turn(context.Context, engine.Finish, engine.Claim) (engine.Outcome, *engine.Assignment, error)
	// Release hands attempts back.
	Release(ctx context.Context, worker string, held []engine.Held) error
}

// Options are what a worker needs of the world.
type Options struct {
	ID        string
	Name      string           // for others to see; without one nobody does
	About     fleet.WorkerMeta // what else others may see; the worker adds what it knows itself
	Labels    []string
	Slots     int
	Allow     []string // the agents whose tasks it takes and runs; without any, all
	Engine    Engine
	Attempts  string // the folder of the attempts' folders
	Root      string // of the project, in which the commands of references run
	Home      string // a folder above that of other workers of the same user too; Attempts if empty
	Workspace Workspace
	Agents    func(name string) (agent.Agent, error)
	Now       func() time.Time  // of this machine
	Notice    func(text string) // what a person should know
	// NewKey returns a key that was never used, for requests whose answer may get
	// lost.
	NewKey func() string
	// NoCommands is why the commands of references are not run; nil if they are.
	NoCommands error
	// Supervisor says how supervisors are started.
	Supervisor supervisor.Options
	// Terminal returns where people can look at an attempt while it runs, or
	// nil for nowhere.
	Terminal func(t store.Task, spec plan.Task, log string, from int64) *supervisor.Terminal
	// Grace is how long an agent may take to follow each signal; the
	// supervisor's own if zero.
	Grace time.Duration
	// Quotas returns the limits within which agents are started; the system's own if
	// nil.
	Quotas func() []supervisor.Quota
}

// secrets resolves what the variables of an agent refer to. Programs run in the folder
// of the project: that of a task may be the work of an agent.
func (w *Worker) secrets() secret.Resolver {
	return secret.Resolver{
		Environ: supervisor.WithoutSecrets(os.Environ()), Dir: w.opts.Root, Find: supervisor.FindProgram, NoCommands: w.opts.NoCommands,
	}
}

// Workspace says where a task is worked on.
type Workspace interface {
	// Log is the file that the output of a task's attempts is appended to.
	Log(t store.Task) string
	// Work returns the folder that a task is worked on in, which it makes if
	// need be.
	Work(ctx context.Context, t store.Task, spec plan.Task) (dir string, err error)
	// Commit commits what a completed task has left uncommitted in its worktree.
	// Done again it changes nothing. No process of the task runs any more.
	Commit(ctx context.Context, t store.Task, spec plan.Task) error
	// Diff is what was changed in the worktree of a task, or nil if it has none.
	// Nobody works in it any more.
	Diff(ctx context.Context, t store.Task, spec plan.Task) (*fleet.Diff, error)
}

// Worker runs attempts. All its state belongs to the goroutine of Run, but for what
// says otherwise.
type Worker struct {
	opts    Options
	held    map[string]*heldAttempt
	news    chan func() // from the attempts, for the goroutine of Run
	wake    chan struct{}
	attend  chan struct{}
	resolve chan struct{} // it is to drain, or to release what it holds
	ended   chan struct{} // closed when Run has ended
	running sync.WaitGroup
	pool    *supervisor.Pool
	contact contact // for all

	drains   atomic.Bool  // takes nothing, and is done when it holds nothing
	releases atomic.Bool  // and hands back what it holds
	short    atomic.Int32 // attempts that wait until they can be started
	starts   startable
	collects bool // starts nothing that has not begun; set before Run

	asking   bool // something may be claimed
	claiming bool // a claim is under way
	beats    beats
}

// New returns a worker.
func New(opts Options) *Worker {
	if opts.Quotas == nil {
		opts.Quotas = supervisor.Quotas
	}
	opts.Home = cmp.Or(opts.Home, opts.Attempts)
	return &Worker{
		starts: startable{resumed: make(chan struct{}, 1)},
		opts:   opts, pool: supervisor.NewPool(opts.Supervisor, opts.Slots), held: map[string]*heldAttempt{}, news: make(chan func()),
		wake: make(chan struct{}, 1), attend: make(chan struct{}, 1), resolve: make(chan struct{}, 1), ended: make(chan struct{}), asking: true,
		contact: contact{notice: opts.Notice},
	}
}

// Wake says that there may be tasks to claim. It never waits.
func (w *Worker) Wake() { poke(w.wake) }

// Attend says that there may be answers or orders for what runs. It never waits.
func (w *Worker) Attend() { poke(w.attend) }

// Drain has the worker take nothing new. Run returns when what it holds has ended.
// It never waits.
func (w *Worker) Drain() {
	w.drains.Store(true)
	poke(w.resolve)
}

// Release is Drain, and has the agents stopped and handed back: others may take
// their tasks at once, and no retry is used up. What has ended by itself meanwhile
// is reported as ever. It returns when Run has ended, or with ctx's error; what was
// not handed back then is when the worker runs again.
func (w *Worker) Release(ctx context.Context) error {
	w.releases.Store(true)
	w.Drain()
	select {
	case <-w.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // that is known already
	}
}

// Run claims tasks and runs them until ctx ends; then it lets go of those that
// run, which go on without it, as long as their leases are. Errors of the engine
// are told and the request is made again. It is called once.
func (w *Worker) Run(ctx context.Context) error {
	running, letGo := context.WithCancel(ctx)
	defer close(w.ended)
	defer w.pool.Close()
	defer w.running.Wait()
	defer letGo()
	for _, h := range w.held {
		w.look(running, h)
	}
	w.beats.last, w.beats.dirty = w.opts.Now(), w.beats.dirty || w.opts.Name != ""
	beat := time.NewTimer(beatEvery)
	defer beat.Stop()
	for {
		if w.releases.Load() {
			w.stopAll()
		}
		if w.drains.Load() && len(w.held) == 0 && !w.claiming {
			return nil
		}
		w.claimNext(running)
		beat.Reset(w.beats.wait(w.opts.Now(), w.shortest()))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case do := <-w.news:
			do()
		case <-w.wake:
			w.asking = true
		case <-w.attend:
			w.beats.dirty = true
		case <-w.resolve:
		case <-beat.C:
			w.beat(running)
		}
	}
}

// stopAll stops what is to be handed back.
func (w *Worker) stopAll() {
	for _, h := range w.held {
		h.stop(string(failure.Released))
	}
}

// claimNext has a task be claimed if there is a slot for it, one at a time. It does
// not wait for that: a beat must not either.
func (w *Worker) claimNext(ctx context.Context) {
	if !w.asking || w.claiming || w.refuses() {
		return
	}
	if w.asking = false; len(w.held) >= w.opts.Slots {
		return
	}
	w.claiming = true
	w.running.Go(func() {
		a, sent := w.claim(ctx)
		w.tell(ctx, func() {
			if w.claiming = false; a != nil {
				w.asking = true // there may be more
				w.take(ctx, *a, sent)
			}
		})
	})
}

// claim returns nil if there is nothing to start, and when the request was made. A
// request that was not answered is made again with the same key.
func (w *Worker) claim(ctx context.Context) (*engine.Assignment, time.Time) {
	r := w.request()
	r.Key = w.opts.NewKey()
	for wait := firstPause; ctx.Err() == nil; wait = min(2*wait, lastPause) {
		sent := w.opts.Now()
		a, err := w.opts.Engine.Claim(ctx, r)
		w.heard(ctx, "claim", err)
		switch {
		case err == nil:
			return &a, sent
		case errors.Is(err, engine.ErrNothing):
			return nil, sent
		}
		pause.For(ctx, wait)
	}
	return nil, time.Time{}
}

// refuses reports whether the worker takes nothing new.
func (w *Worker) refuses() bool { return w.drains.Load() || w.short.Load() > 0 }

// request asks for a task.
func (w *Worker) request() engine.Claim {
	r := engine.Claim{Worker: w.opts.ID}
	if !w.refuses() { // no task of a place can be had without its label
		r.Labels, r.Agents = w.opts.Labels, w.opts.Allow
	}
	return r
}

// take holds an attempt that the worker was given when it asked then, and looks
// after it.
func (w *Worker) take(ctx context.Context, a engine.Assignment, asked time.Time) {
	h := w.hold(a, asked)
	h.unwanted = w.drains.Load()
	w.beats.dirty = w.beats.dirty || w.heeded(h)
	w.look(ctx, h)
}

// heeded reports whether anybody cares when an attempt is held and when not: who
// gave it, or those who see the worker.
func (w *Worker) heeded(h *heldAttempt) bool { return !h.endless || w.opts.Name != "" }

func (w *Worker) hold(a engine.Assignment, asked time.Time) *heldAttempt {
	h := &heldAttempt{worker: w, Assignment: a, questions: map[string]string{}, stopping: make(chan struct{})}
	h.spec = sync.OnceValues(func() (plan.Task, error) { return specOf(a.Task) })
	h.lease.renew(a.Lease, asked)
	h.endless = h.lease.ends().IsZero()
	w.held[a.Attempt.ID] = h
	return h
}

// look starts the goroutine that looks after an attempt.
func (w *Worker) look(ctx context.Context, h *heldAttempt) {
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
func (w *Worker) done(ctx context.Context, h *heldAttempt, next *engine.Assignment, asked time.Time) {
	delete(w.held, h.Attempt.ID)
	w.beats.dirty = w.beats.dirty || w.heeded(h)
	if next == nil {
		w.asking = true // there may be something by now
		return
	}
	w.take(ctx, *next, asked)
}

// doneSuffix ends the name of the folder of an attempt that was reported. They
// are not removed one by one: some file systems are slow to make files where
// many have just been removed.
const doneSuffix = supervisor.DoneSuffix

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
// must be called before Run, by one process at a time, and at once when it was asked
// what runs: leases are counted from then on.
func (w *Worker) Adopt(ctx context.Context, running []engine.Assignment) error {
	asked := w.opts.Now()
	known := map[string]bool{}
	for _, a := range running {
		known[a.Attempt.ID] = true
	}
	if left := supervisor.SweepGroups(w.opts.Home); len(left) > 0 {
		w.opts.Notice(fmt.Sprintf("processes %v of an attempt that is over cannot be ended", left))
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
		w.hold(a, asked)
	}
	w.beats.dirty = len(running) > 0
	return nil
}

// Collect reports how attempts ended that nobody looks after any more, and does
// nothing else: no task is claimed, and what never began is lost. It waits for
// those that still run, and stops them if the engine says so. It is instead of
// Run.
func (w *Worker) Collect(ctx context.Context, running []engine.Assignment) error {
	asked := w.opts.Now()
	for _, a := range running {
		w.hold(a, asked)
	}
	w.collects, w.beats.dirty = true, true
	w.drains.Store(true)
	return w.Run(ctx)
}

// endStale ends an attempt that is over for the store, if it is not over.
func endStale(ctx context.Context, dir, attempt string, opts Options) error {
	if err := runner.End(ctx, dir, attempt, runner.Options{Now: opts.Now, Supervisor: opts.Supervisor}); err != nil {
		return fmt.Errorf("end attempt %s, which is over: %w", attempt, err)
	}
	return os.Rename(dir, dir+doneSuffix)
}
