// Package worker claims tasks from the engine, runs them, and reports their results. All of its
// state is in the store and in the attempts' folders. So after a crash, another worker process with
// the same id can continue.
package worker

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"gaffer/fleet"
	"gaffer/internal/attempt/account"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/sandbox"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/internal/plan/secret"
)

// Engine has the methods that a worker needs of the engine, which stores the tasks and assigns them
// to workers. The engine may be in this process or on a server.
type Engine interface {
	Claim(context.Context, engine.Claim) (engine.Assignment, error)
	Beat(context.Context, store.Worker, []engine.HeldAttempt) ([]engine.Order, error)
	Ask(context.Context, engine.Ask) (string, error)
	// FinishAndClaim reports the end of an attempt and then claims a task, in one transaction. If
	// the request is repeated, the engine returns the same answer.
	FinishAndClaim(context.Context, engine.Finish, engine.Claim) (engine.FinishResult, *engine.Assignment, error)
	// Release returns attempts to the engine, so that other workers can claim their tasks.
	Release(ctx context.Context, worker string, held []engine.HeldAttempt) error
}

// Options are the settings and dependencies of a worker.
type Options struct {
	ID     string
	Name   string           // name that users see; a worker without a name is not shown
	About  fleet.WorkerMeta // more information about the worker for users; the worker itself sets Slots, Labels, Held and Source
	Labels []string
	Slots  int
	Allow  []string // the worker claims only tasks for these agents; empty means all agents
	// Accounts are the user's accounts of agent programs. For each agent, the accounts are used in
	// this order.
	Accounts []account.Account
	Engine   Engine
	Attempts string // path of the folder that contains the attempts' folders
	// Root is the path of the project's root folder. If a command must be run to look up a secret,
	// the command runs there.
	Root string
	// Home is the path of Attempts, or of a folder above it. [Worker.Adopt] kills the leftover
	// processes of ended attempts below Home. Empty means Attempts.
	Home      string
	Workspace Workspace
	Agents    func(name string) (agent.Agent, error)
	Now       func() time.Time  // returns this machine's time
	Notice    func(text string) // shows a message to the user
	// NewKey returns a new unique key for a request. If the answer to a request is lost, the
	// request is repeated with the same key.
	NewKey func() string
	// NoCommands is the error with which the lookup of a secret fails if it needs a command. Nil
	// means that this worker may run such commands.
	NoCommands error
	// Supervisor configures the supervisors. A supervisor is a process that runs one agent.
	Supervisor supervisor.Options
	// Terminal returns a terminal in which users can watch an attempt, or nil if the attempt gets
	// none. from is the offset in the log at which the attempt's output begins, in bytes.
	Terminal func(t store.Task, spec plan.Task, log string, from int64) *supervisor.Terminal
	// Grace is how long an agent may take to exit after each stop signal. Zero means the
	// supervisor's default.
	Grace time.Duration
	// Sandbox returns the sandbox for a task. Nil means that no task has one.
	Sandbox func(spec plan.Task) (sandbox.Spec, error)
	// Machine runs programs in sandboxes. It must be set if Sandbox is not nil.
	Machine *sandbox.Machine
	// Quotas returns the limits on processes and open files. The worker starts another attempt only
	// if it fits within them. Nil means the limits of the operating system.
	Quotas func() []supervisor.ResourceLimit
}

// secrets returns the resolver for references to secrets in an agent's environment variables. The
// resolver runs commands in the project's folder. It does not use the task's folder, because that
// may contain programs that an agent wrote.
func (w *Worker) secrets() secret.Resolver {
	return secret.Resolver{
		Environ: supervisor.WithoutSecrets(os.Environ()), Dir: w.opts.Root, Find: supervisor.FindProgram, NoCommands: w.opts.NoCommands,
	}
}

// Workspace provides the folders and logs of tasks.
type Workspace interface {
	// Log returns the path of the file to which the output of the task's current attempt is
	// appended. Several attempts of a task may share a file.
	Log(t store.Task) string
	// Work returns the folder in which to work on a task. It creates the folder if
	// needed.
	Work(ctx context.Context, t store.Task, spec plan.Task) (dir string, err error)
	// Commit commits what a completed task has left uncommitted in its worktree. It may be called
	// repeatedly. The caller must make sure that no process of the task is running.
	Commit(ctx context.Context, t store.Task, spec plan.Task) error
	// Diff returns what was changed in a task's worktree, or nil if the task has no worktree. The
	// caller must make sure that no process of the task is running.
	Diff(ctx context.Context, t store.Task, spec plan.Task) (*fleet.Diff, error)
}

// Worker claims tasks and runs their attempts. The field opts never changes, and the field
// collecting does not change while Run runs. Only the goroutine of Run may use the other fields,
// except for channels and for fields that are safe for concurrent use.
type Worker struct {
	opts         Options
	held         map[string]*heldAttempt
	calls        chan func() // functions that the goroutine of Run executes for other goroutines
	wake         chan struct{}
	checkOrders  chan struct{}
	drainChanged chan struct{} // wakes Run after a call of Drain or Release
	ended        chan struct{} // closed when Run has returned
	running      sync.WaitGroup
	pool         *supervisor.Pool
	outages      outageNotices // safe for concurrent use

	draining            atomic.Bool  // Run claims no more tasks, and returns when the worker has no attempts left
	releasing           atomic.Bool  // set by Release: the worker stops its attempts and returns them to the engine
	waitingForResources atomic.Int32 // number of attempts that wait because the machine lacks resources
	reservations        reservations
	collecting          bool // the worker only waits for attempts to end, and starts no agent; set by Collect before Run

	mayClaim  bool // there may be a task to claim
	claiming  bool // a claim was sent and not answered yet
	beatTimer beatTimer
}

// New returns a worker. Call Run to start it.
func New(opts Options) *Worker {
	if opts.Quotas == nil {
		opts.Quotas = supervisor.ResourceLimits
	}
	opts.Home = cmp.Or(opts.Home, opts.Attempts)
	return &Worker{
		reservations: reservations{retryNow: make(chan struct{}, 1)},
		opts:         opts, pool: supervisor.NewPool(opts.Supervisor, opts.Slots), held: map[string]*heldAttempt{}, calls: make(chan func()),
		wake: make(chan struct{}, 1), checkOrders: make(chan struct{}, 1), drainChanged: make(chan struct{}, 1), ended: make(chan struct{}), mayClaim: true,
		outages: outageNotices{notice: opts.Notice},
	}
}

// Wake tells the worker that there may be tasks to claim. It does not block.
func (w *Worker) Wake() { poke(w.wake) }

// CheckOrders makes the worker send a heartbeat soon, because the engine may have answers
// or orders for running attempts. It does not block.
func (w *Worker) CheckOrders() { poke(w.checkOrders) }

// Drain makes the worker claim no more tasks. Run then returns when all attempts of the worker have
// ended. Drain does not block.
func (w *Worker) Drain() {
	w.draining.Store(true)
	poke(w.drainChanged)
}

// Release makes the worker claim no more tasks, stops its agents and returns their attempts to the
// engine. Other workers can claim the tasks at once, and the stop does not count as a retry of the
// task. Attempts that have already ended by themselves are reported as usual. Release returns when
// Run has returned. If ctx ends before that, Release returns ctx's error. The remaining attempts
// are then returned later, by Run or by the next process of this worker.
func (w *Worker) Release(ctx context.Context) error {
	w.releasing.Store(true)
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
	default: // the channel already contains a wake-up that was not read yet
	}
}

// Run claims tasks and runs them. It returns when ctx ends, or when the worker was told to claim no
// more tasks and its last attempt has ended. When ctx ends, running agents continue without the
// worker until their leases end. If a request to the engine fails, Run notifies the user and
// repeats the request. Run must be called only once.
func (w *Worker) Run(ctx context.Context) error {
	running, letGo := context.WithCancel(ctx)
	defer close(w.ended)
	defer w.pool.Close()
	defer w.running.Wait()
	defer letGo()
	for _, h := range w.held {
		w.startAttempt(running, h)
	}
	w.beatTimer.last, w.beatTimer.dirty = w.opts.Now(), w.beatTimer.dirty || w.opts.Name != ""
	beat := time.NewTimer(maxBeatInterval)
	defer beat.Stop()
	for {
		if w.releasing.Load() {
			w.stopAll()
		}
		if w.draining.Load() && len(w.held) == 0 && !w.claiming {
			return nil
		}
		w.claimNext(running)
		beat.Reset(w.beatTimer.wait(w.opts.Now(), w.shortestLease()))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case do := <-w.calls:
			do()
		case <-w.wake:
			w.mayClaim = true
		case <-w.checkOrders:
			w.beatTimer.dirty = true
		case <-w.drainChanged:
		case <-beat.C:
			w.beat(running)
		}
	}
}

// stopAll stops all attempts of the worker, so that they can be returned to the engine.
func (w *Worker) stopAll() {
	for _, h := range w.held {
		h.stop(string(failure.Released))
	}
}

// holdAndStart adds a new attempt to w.held and starts it. requested is when the worker sent the
// request with which it got the attempt.
func (w *Worker) holdAndStart(ctx context.Context, a engine.Assignment, requested time.Time) {
	h := w.hold(a, requested)
	h.unwanted = w.draining.Load()
	w.beatTimer.dirty = w.beatTimer.dirty || w.needsBeat(h)
	w.startAttempt(ctx, h)
}

// needsBeat reports whether the worker must send a heartbeat when this attempt starts or ends. It
// must do so if the attempt's lease can end, or if users can see the worker.
func (w *Worker) needsBeat(h *heldAttempt) bool { return !h.endless || w.opts.Name != "" }

func (w *Worker) hold(a engine.Assignment, asked time.Time) *heldAttempt {
	h := &heldAttempt{worker: w, Assignment: a, questions: map[string]string{}, stopping: make(chan struct{})}
	h.spec = sync.OnceValues(func() (plan.Task, error) { return specOf(a.Task) })
	h.lease.renew(a.Lease, asked)
	h.endless = h.lease.freezeAt().IsZero()
	w.held[a.Attempt.ID] = h
	return h
}

// startAttempt starts the goroutine of an attempt.
func (w *Worker) startAttempt(ctx context.Context, h *heldAttempt) {
	w.running.Go(func() { h.run(ctx) })
}

// runInLoop passes fn to the goroutine of Run, which calls fn. If ctx ends first, fn is not called.
func (w *Worker) runInLoop(ctx context.Context, fn func()) {
	select {
	case w.calls <- fn:
	case <-ctx.Done():
	}
}

// removeReported removes an attempt whose end was reported to the engine, or which was returned to
// the engine. If the worker has claimed another task with that report, next is the new attempt, and
// removeReported starts it. requested is when the report was sent.
func (w *Worker) removeReported(ctx context.Context, h *heldAttempt, next *engine.Assignment, requested time.Time) {
	delete(w.held, h.Attempt.ID)
	w.beatTimer.dirty = w.beatTimer.dirty || w.needsBeat(h)
	if next == nil {
		w.mayClaim = true // claim again, because a task may be ready now
		return
	}
	w.holdAndStart(ctx, *next, requested)
}

// doneSuffix is appended to the name of an attempt's folder after the attempt's end was reported.
// The worker does not delete the folder itself: the program that uses the worker deletes it later.
const doneSuffix = supervisor.DoneSuffix

// discardFolder offers the folder of a reported attempt to the worker's pool of supervisors, which
// can reuse the folder for another attempt. If the pool does not take it, discardFolder appends
// doneSuffix to the folder's name.
func (w *Worker) discardFolder(dir string) {
	if w.pool.Recycle(dir) {
		return
	}
	if err := os.Rename(dir, dir+doneSuffix); err != nil && !errors.Is(err, os.ErrNotExist) {
		w.opts.Notice(err.Error())
	}
}

// folder returns the path of an attempt's folder.
func (w *Worker) folder(attempt string) string { return filepath.Join(w.opts.Attempts, attempt) }
