// Package workerclient connects a worker to a coordinator, which may be on another machine. It
// sends the worker's requests and the output of the worker's agents over HTTP. If the coordinator
// does not answer, the package itself repeats the worker's first request, the requests with output
// and the requests that wait for changes. It sends all other requests once, and the worker decides
// whether to repeat them. The package reports one event when the coordinator can no longer be
// reached, and another event when the coordinator answers again.
package workerclient

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/pause"
)

// Options configures an Engine.
type Options struct {
	// Connect returns a client with its own connections. timeout limits one try of a request.
	Connect func(timeout time.Duration) (*coordinator.Client, error)
	Worker  coordinator.WorkerInfo // describes the worker; sent with each heartbeat
	// Programs returns which agents this machine can run. If it is nil, heartbeats do not report
	// this.
	Programs func() []fleet.AgentProgram
	Now      func() time.Time
	Rand     func() float64 // returns random numbers in [0, 1), to spread retries
	Report   func(Event)    // called with each event; never nil
	// Logs is the path of the folder with the record files. Each record file says that the log of
	// one attempt must still be sent.
	Logs string
	// LogOf returns the path of the file with the output of a task's current attempt.
	LogOf func(store.Task) string
}

// Engine sends a worker's requests to a coordinator. It is safe for concurrent use. [Engine.Held]
// and [Engine.Listen] repeat requests that the coordinator does not answer. The other methods send
// each request once: to repeat it, the worker must call the method again.
type Engine struct {
	opts       Options
	connection *connection
	work       *coordinator.WorkClient // for claims, ends of attempts and questions
	beats      *coordinator.WorkClient // for heartbeats, which must not wait behind other requests
	polls      *coordinator.WorkClient // for long polls: the server answers them when something has changed
	logs       *logs
	idle       chan struct{} // gets a value when the worker has no attempt and finds no task

	mu   sync.Mutex
	held map[string]heldAttempt // the worker's attempts, by id
}

// heldAttempt is an attempt that the worker is running.
type heldAttempt struct {
	task store.Task
	run  coordinator.WorkRun
}

// Timeouts for one try of a request: for claims and other work, heartbeats, long polls and output.
const (
	workTimeout = 15 * time.Second
	beatTimeout = 8 * time.Second
	pollTimeout = 40 * time.Second // the server answers a long poll after 25 s at the latest
	logTimeout  = 30 * time.Second
)

// New returns an Engine. New itself sends no request to the coordinator.
func New(opts Options) (*Engine, error) {
	e := &Engine{opts: opts, connection: newConnection(opts), held: map[string]heldAttempt{}, idle: make(chan struct{}, 1)}
	var uploads *coordinator.WorkClient
	for to, timeout := range map[**coordinator.WorkClient]time.Duration{&e.work: workTimeout, &e.beats: beatTimeout, &e.polls: pollTimeout, &uploads: logTimeout} {
		client, err := opts.Connect(timeout)
		if err != nil {
			return nil, err
		}
		*to = client.Work
	}
	var err error
	e.logs, err = newLogs(opts, uploads, e.connection)
	return e, err
}

// Failed returns a channel from which the caller gets the first error after which no request can
// succeed. An example is the rejection of the worker's token.
func (e *Engine) Failed() <-chan error { return e.connection.failed }

// Idle returns a channel from which the caller gets a value when a claim has found no task and the
// worker is running no attempt.
func (e *Engine) Idle() <-chan struct{} { return e.idle }

// Run returns what the coordinator has told the worker about the run of an attempt. The result is
// empty if the worker does not have the attempt.
func (e *Engine) Run(attempt string) coordinator.WorkRun {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.held[attempt].run
}

// HeldTasks returns the tasks of the worker's attempts.
func (e *Engine) HeldTasks() (tasks []store.TaskKey) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, h := range e.held {
		tasks = append(tasks, h.task.TaskKey)
	}
	return tasks
}

// Held registers the worker with the coordinator, and returns the attempts that the worker has
// according to the coordinator. It repeats the request until there is an answer. In each returned
// assignment, Lease is the time that is left of the attempt's lease when Held returns.
func (e *Engine) Held(ctx context.Context) ([]engine.Assignment, error) {
	list, sent, err := e.requestHeld(ctx)
	if err != nil {
		return nil, err
	}
	var held []engine.Assignment
	for _, w := range list {
		a, err := e.addHeld(w, true)
		if err != nil {
			return nil, err
		}
		a.Lease = max(a.Lease-e.opts.Now().Sub(sent), time.Millisecond)
		held = append(held, a)
	}
	return held, e.logs.recover(held)
}

// requestHeld requests the worker's attempts from the coordinator, and retries until there is an
// answer. sent is the time at which it began the successful try.
func (e *Engine) requestHeld(ctx context.Context) (list []coordinator.Work, sent time.Time, err error) {
	for n := 1; ; n++ {
		sent = e.opts.Now()
		_, err = e.beats.Heartbeat(ctx, coordinator.WorkBeat{Worker: e.info()})
		if err == nil {
			list, err = e.beats.Held(ctx, e.opts.Worker.ID)
		}
		refused := (*coordinator.Error)(nil)
		if err == nil || errors.As(err, &refused) && refused.Invalid() {
			e.connection.answered()
			return list, sent, err
		}
		e.connection.unanswered(err)
		if pause.For(ctx, e.connection.backoff(n, err)); ctx.Err() != nil {
			return nil, sent, ctx.Err()
		}
	}
}

// addHeld stores an attempt that the worker has got from the coordinator, starts to send the
// attempt's log, and reports an event. adopted means that the worker already had the attempt before
// this process started.
func (e *Engine) addHeld(w coordinator.Work, adopted bool) (engine.Assignment, error) {
	if err := checkWork(w); err != nil {
		return engine.Assignment{}, err
	}
	a := assignment(w, e.opts.Worker.ID, e.opts.Now())
	e.mu.Lock()
	e.held[a.Attempt.ID] = heldAttempt{a.Task, w.Run}
	e.mu.Unlock()
	key := coordinator.WorkKey{Attempt: a.Attempt.ID, Token: a.Attempt.Token}
	if err := e.logs.begin(key, e.opts.LogOf(a.Task), adopted); err != nil {
		e.opts.Report(Event{Kind: "notice", Text: fmt.Sprintf("log of task %s: %v; it will not be sent", a.Task.Task, err)})
	}
	kind := "started"
	if adopted {
		kind = "adopted"
	}
	e.report(a.Attempt.ID, Event{Kind: kind, Number: a.Attempt.Number})
	return a, nil
}

// removeHeld removes an attempt that has ended from the worker's attempts. Output that was not sent
// yet is still sent.
func (e *Engine) removeHeld(attempt string) {
	e.mu.Lock()
	delete(e.held, attempt)
	e.mu.Unlock()
	e.logs.end(attempt)
}

func (e *Engine) wireClaim(c engine.Claim) coordinator.WorkClaim {
	w := coordinator.WorkClaim{Worker: e.opts.Worker.ID, Labels: c.Labels, Agents: c.Agents, Key: c.Key, Fallbacks: c.Fallbacks}
	for _, a := range c.Accounts {
		w.Accounts = append(w.Accounts, coordinator.WorkAccount(a))
	}
	return w
}

// Claim implements [gaffer/internal/attempt/worker.Engine].
func (e *Engine) Claim(ctx context.Context, c engine.Claim) (engine.Assignment, error) {
	if len(c.Labels) == 0 {
		return engine.Assignment{}, engine.ErrNothing
	}
	given, err := e.work.Claim(ctx, e.wireClaim(c))
	if codeOf(err) == coordinator.NoTasks {
		e.connection.answered()
		e.signalIdle()
		return engine.Assignment{}, engine.ErrNothing
	}
	if err := e.requestError(ctx, err); err != nil {
		return engine.Assignment{}, err
	}
	return e.addHeld(given.Work, false)
}

// signalIdle sends a value to e.idle if the worker is running no attempt.
func (e *Engine) signalIdle() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.held) > 0 {
		return
	}
	select {
	case e.idle <- struct{}{}:
	default:
	}
}

// info returns what a heartbeat says about the worker.
func (e *Engine) info() coordinator.WorkerInfo {
	w := e.opts.Worker
	if e.opts.Programs != nil {
		w.Programs = e.opts.Programs()
	}
	return w
}

// Beat implements [gaffer/internal/attempt/worker.Engine]: it sends a heartbeat to the coordinator.
// It takes the data about the worker from the options, and ignores its argument of type
// [store.Worker].
func (e *Engine) Beat(ctx context.Context, _ store.Worker, held []engine.HeldAttempt) ([]engine.Order, error) {
	b := coordinator.WorkBeat{Worker: e.info()}
	for _, h := range held {
		b.Held = append(b.Held, wireHeld(h, e.opts.Now()))
	}
	answer, err := e.beats.Heartbeat(ctx, b)
	if err := e.requestError(ctx, err); err != nil {
		return nil, err
	}
	orders := make([]engine.Order, len(answer.Orders))
	for i, o := range answer.Orders {
		orders[i] = order(o)
	}
	return orders, nil
}

// Ask implements [gaffer/internal/attempt/worker.Engine].
func (e *Engine) Ask(ctx context.Context, a engine.Ask) (string, error) {
	id, err := e.work.Ask(ctx, wireQuestion(a))
	if err := e.requestError(ctx, err); err != nil {
		return "", err
	}
	e.report(a.Attempt, Event{Kind: "asked", Question: id, Text: a.Text})
	return id, nil
}

// FinishAndClaim implements [gaffer/internal/attempt/worker.Engine].
func (e *Engine) FinishAndClaim(ctx context.Context, f engine.Finish, c engine.Claim) (engine.FinishResult, *engine.Assignment, error) {
	t := coordinator.WorkTurn{Finish: wireFinish(f, e.opts.Now())}
	if len(c.Labels) > 0 {
		claim := e.wireClaim(c)
		t.Claim = &claim
	}
	done, err := e.work.Turn(ctx, t)
	if err := e.requestError(ctx, err); err != nil {
		if errors.As(err, new(*engine.ConflictError)) {
			e.report(f.Attempt, Event{Kind: "gone", Text: err.Error()})
			e.removeHeld(f.Attempt)
		}
		return engine.FinishResult{}, nil, err
	}
	e.report(f.Attempt, Event{Kind: "ended", Class: string(f.Class), Text: f.Summary, Status: done.Outcome.Status})
	e.removeHeld(f.Attempt)
	return outcome(done.Outcome, e.opts.Now()), e.nextAssignment(done.Work), nil
}

// nextAssignment returns the next task from the coordinator's answer to [Engine.FinishAndClaim]. It
// returns nil if the answer contains no task, or an invalid one.
func (e *Engine) nextAssignment(w *coordinator.Work) *engine.Assignment {
	if w == nil {
		return nil
	}
	a, err := e.addHeld(*w, false)
	// If the task is invalid, do not run it. When the lease of the attempt expires, the coordinator
	// ends the attempt as lost.
	if err != nil {
		e.opts.Report(Event{Kind: "notice", Text: err.Error()})
		return nil
	}
	return &a
}

// Release implements [gaffer/internal/attempt/worker.Engine].
func (e *Engine) Release(ctx context.Context, _ string, held []engine.HeldAttempt) error {
	r := coordinator.WorkRelease{Worker: e.opts.Worker.ID}
	for _, h := range held {
		r.Attempts = append(r.Attempts, wireHeld(h, e.opts.Now()))
	}
	if err := e.requestError(ctx, e.work.Release(ctx, r)); err != nil {
		return err
	}
	for _, h := range held {
		e.report(h.Attempt, Event{Kind: "released"})
		e.removeHeld(h.Attempt)
	}
	return nil
}

// requestError converts the error of a request to the error for the worker. If the caller cancelled
// the request, requestError returns the error of ctx. If the coordinator permanently refuses this
// request, but still accepts other requests of the worker, it returns an [*engine.ConflictError].
// Every other error becomes an [*UnreachableError].
func (e *Engine) requestError(ctx context.Context, err error) error {
	refused := (*coordinator.Error)(nil)
	switch {
	case err == nil:
		e.connection.answered()
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case errors.As(err, &refused) && !refused.Temporary() && !stopsWorker(refused):
		e.connection.answered()
		return &engine.ConflictError{What: "coordinator", Why: refused.Message}
	}
	e.connection.unanswered(err)
	return &UnreachableError{err}
}

// Listen sends logs, and waits for changes on the coordinator, until ctx ends. It calls the
// function wake when there may be a task to claim. It calls the function attend when the
// coordinator may have orders for running attempts, or answers to their agents' questions.
func (e *Engine) Listen(ctx context.Context, wake, attend func()) {
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { e.logs.run(ctx) })
	// Each request sends the sequence number of the last change that the worker knows. If the
	// worker knows none yet, or a request has failed, it sends -1. The coordinator then answers at
	// once that the worker must check everything.
	const now = -1
	after, failures := int64(now), 0
	for ctx.Err() == nil {
		news, err := e.polls.Wait(ctx, e.opts.Worker.ID, after)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			after, failures = now, failures+1
			e.connection.unanswered(err)
			pause.For(ctx, e.connection.backoff(failures, err))
			continue
		}
		e.connection.answered()
		after, failures = news.Seq, 0
		if news.Wake {
			wake()
		}
		if news.Attend {
			attend()
		}
	}
}

// Flush waits until the logs of ended attempts are sent, or ctx ends.
func (e *Engine) Flush(ctx context.Context) { e.logs.flush(ctx) }

// ReportStopping tells the coordinator that the worker has no attempts and stops. If the request
// fails, the coordinator notices later, by the missing heartbeats, that the worker is offline.
func (e *Engine) ReportStopping(ctx context.Context) {
	_, _ = e.beats.Heartbeat(ctx, coordinator.WorkBeat{Worker: e.opts.Worker, Gone: true})
}
