// Package worker claims tasks, runs them, and reports their results. It keeps no state
// of its own: all state is in the store and in the folders of the attempts. So after a
// crash another worker with the same id continues.
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

// Engine is the part of the engine that a worker uses, locally or over a network.
type Engine interface {
	Claim(context.Context, engine.Claim) (engine.Assignment, error)
	Beat(context.Context, store.Worker, []engine.Held) ([]engine.Order, error)
	Ask(context.Context, engine.Ask) (string, error)
	// Turn is Finish followed by Claim, in one transaction. A repeated request gets
	// the same answer.
	Turn(context.Context, engine.Finish, engine.Claim) (engine.Outcome, *engine.Assignment, error)
	// Release hands attempts back to the engine.
	Release(ctx context.Context, worker string, held []engine.Held) error
}

// Options are the settings and dependencies of a worker.
type Options struct {
	ID        string
	Name      string           // shown to users; without a name the worker is not shown
	About     fleet.WorkerMeta // more information to show; the worker adds what it knows itself
	Labels    []string
	Slots     int
	Allow     []string // the agents whose tasks it takes; empty means all
	Engine    Engine
	Attempts  string // the folder that contains the attempts' folders
	Root      string // the project's root, in which commands of secret references run
	Home      string // a folder shared with other workers of the same user; empty means Attempts
	Workspace Workspace
	Agents    func(name string) (agent.Agent, error)
	Now       func() time.Time  // the clock of this machine
	Notice    func(text string) // shows a message to the user
	// NewKey returns a new unique key, for requests whose answer may get lost.
	NewKey func() string
	// NoCommands is why commands of secret references are not run; nil means that they
	// are.
	NoCommands error
	// Supervisor configures how supervisors are started.
	Supervisor supervisor.Options
	// Terminal returns a terminal in which users can watch an attempt, or nil.
	Terminal func(t store.Task, spec plan.Task, log string, from int64) *supervisor.Terminal
	// Grace is how long an agent may take to exit after each signal. Zero means the
	// supervisor's default.
	Grace time.Duration
	// Quotas returns the limits within which agents are started. Nil means the limits
	// of the system.
	Quotas func() []supervisor.Quota
}

// secrets returns the resolver for references in an agent's variables. Its commands
// run in the project's folder, because the task's folder may contain programs that an
// agent wrote.
func (w *Worker) secrets() secret.Resolver {
	return secret.Resolver{
		Environ: supervisor.WithoutSecrets(os.Environ()), Dir: w.opts.Root, Find: supervisor.FindProgram, NoCommands: w.opts.NoCommands,
	}
}

// Workspace provides the folders and logs of tasks.
type Workspace interface {
	// Log returns the file to which the output of a task's attempts is appended.
	Log(t store.Task) string
	// Work returns the folder in which to work on a task. It creates the folder if
	// needed.
	Work(ctx context.Context, t store.Task, spec plan.Task) (dir string, err error)
	// Commit commits what a completed task has left uncommitted in its worktree. It is
	// idempotent. No process of the task is running.
	Commit(ctx context.Context, t store.Task, spec plan.Task) error
	// Diff returns what was changed in the worktree of a task, or nil if it has none.
	// No process of the task is running.
	Diff(ctx context.Context, t store.Task, spec plan.Task) (*fleet.Diff, error)
}

// Worker runs attempts. Its fields belong to the goroutine of Run unless noted
// otherwise.
type Worker struct {
	opts    Options
	held    map[string]*heldAttempt
	news    chan func() // functions that the goroutine of Run executes for other goroutines
	wake    chan struct{}
	attend  chan struct{}
	resolve chan struct{} // wakes Run after Drain or Release
	ended   chan struct{} // closed when Run has returned
	running sync.WaitGroup
	pool    *supervisor.Pool
	contact contact // safe for every goroutine

	drains   atomic.Bool  // claims nothing, and returns when it holds nothing
	releases atomic.Bool  // also hands back the attempts that it holds
	short    atomic.Int32 // number of attempts that wait for resources to start
	starts   startable
	collects bool // starts no attempt that was not started before; set before Run

	asking   bool // there may be a task to claim
	claiming bool // a claim is in flight
	beats    beats
}

// New returns a worker. Call Run to start it.
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

// Wake signals that there may be tasks to claim. It does not block.
func (w *Worker) Wake() { poke(w.wake) }

// Attend signals that there may be answers or orders for running attempts. It does not
// block.
func (w *Worker) Attend() { poke(w.attend) }

// Drain makes the worker claim nothing new. Run returns when all held attempts have
// ended. Drain does not block.
func (w *Worker) Drain() {
	w.drains.Store(true)
	poke(w.resolve)
}

// Release drains the worker, stops its agents and hands their attempts back. Other
// workers can take the tasks at once, and no retry is used up. Attempts that have
// ended by themselves are reported as usual. Release returns when Run has returned, or
// with ctx's error. In that case the remaining attempts are handed back when the
// worker runs again.
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
	default: // a signal is already pending
	}
}

// Run claims tasks and runs them until ctx ends. Then it detaches: running agents
// continue until their leases end. If a request to the engine fails, Run notifies the
// user and repeats the request. Run must be called only once.
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

// stopAll stops the attempts that are to be handed back.
func (w *Worker) stopAll() {
	for _, h := range w.held {
		h.stop(string(failure.Released))
	}
}

// claimNext starts to claim a task if a slot is free, one claim at a time. It does not
// wait for the answer, because heartbeats must not be delayed.
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

// claim returns an assignment, or nil if there is none, and when the request was sent.
// It repeats an unanswered request with the same key.
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

// refuses reports whether the worker claims nothing new.
func (w *Worker) refuses() bool { return w.drains.Load() || w.short.Load() > 0 }

// request returns the claim of this worker.
func (w *Worker) request() engine.Claim {
	r := engine.Claim{Worker: w.opts.ID}
	if !w.refuses() { // without its labels the worker gets no task of a run that has a place
		r.Labels, r.Agents = w.opts.Labels, w.opts.Allow
	}
	return r
}

// take holds and runs an attempt. asked is when the worker sent the request that
// returned it.
func (w *Worker) take(ctx context.Context, a engine.Assignment, asked time.Time) {
	h := w.hold(a, asked)
	h.unwanted = w.drains.Load()
	w.beats.dirty = w.beats.dirty || w.heeded(h)
	w.look(ctx, h)
}

// heeded reports whether a heartbeat is needed when an attempt is taken or ends: its
// lease can end, or the worker is shown to users.
func (w *Worker) heeded(h *heldAttempt) bool { return !h.endless || w.opts.Name != "" }

func (w *Worker) hold(a engine.Assignment, asked time.Time) *heldAttempt {
	h := &heldAttempt{worker: w, Assignment: a, questions: map[string]string{}, stopping: make(chan struct{})}
	h.spec = sync.OnceValues(func() (plan.Task, error) { return specOf(a.Task) })
	h.lease.renew(a.Lease, asked)
	h.endless = h.lease.ends().IsZero()
	w.held[a.Attempt.ID] = h
	return h
}

// look starts the goroutine of an attempt.
func (w *Worker) look(ctx context.Context, h *heldAttempt) {
	w.running.Go(func() { h.run(ctx) })
}

// tell executes do in the goroutine of Run, unless ctx has ended.
func (w *Worker) tell(ctx context.Context, do func()) {
	select {
	case w.news <- do:
	case <-ctx.Done():
	}
}

// done removes an attempt that was reported, and takes the attempt that was claimed
// with the report, if any.
func (w *Worker) done(ctx context.Context, h *heldAttempt, next *engine.Assignment, asked time.Time) {
	delete(w.held, h.Attempt.ID)
	w.beats.dirty = w.beats.dirty || w.heeded(h)
	if next == nil {
		w.asking = true // there may be something by now
		return
	}
	w.take(ctx, *next, asked)
}

// doneSuffix ends the folder name of an attempt that was reported. These folders are
// not deleted one by one: some file systems are slow to create files in a folder from
// which many were just deleted.
const doneSuffix = supervisor.DoneSuffix

// retire recycles or renames the folder of an attempt that was reported.
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

// Adopt takes over the attempts that the store assigns to this worker. Before it
// returns, it has ended all attempts that are not in running. It must be called before
// Run, by one process at a time, and immediately after running was queried, because
// leases are counted from this call.
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

// Collect reports how attempts have ended that no gaffer process works on, and is
// called instead of Run. It claims nothing, and reports attempts that were never
// started as lost. It waits for attempts that are still running, and stops them if the
// engine orders it.
func (w *Worker) Collect(ctx context.Context, running []engine.Assignment) error {
	asked := w.opts.Now()
	for _, a := range running {
		w.hold(a, asked)
	}
	w.collects, w.beats.dirty = true, true
	w.drains.Store(true)
	return w.Run(ctx)
}

// endStale ends an attempt that the store considers over.
func endStale(ctx context.Context, dir, attempt string, opts Options) error {
	if err := runner.End(ctx, dir, attempt, runner.Options{Now: opts.Now, Supervisor: opts.Supervisor}); err != nil {
		return fmt.Errorf("end attempt %s, which is over: %w", attempt, err)
	}
	return os.Rename(dir, dir+doneSuffix)
}
