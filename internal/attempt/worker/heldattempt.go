package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
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
)

// heldAttempt is an attempt that the worker holds. Its fields belong to the goroutine
// of [Worker.Run] unless noted otherwise. The attempt's own goroutine changes them
// through [Worker.runInLoop].
type heldAttempt struct {
	engine.Assignment
	worker *Worker
	spec   func() (plan.Task, error) // the task as the plan describes it; safe for every goroutine

	lease    lease // also used by the attempt's own goroutine
	unwanted bool  // the attempt was assigned while the worker was draining; set before the attempt starts

	attempt           *runner.Attempt // nil before the attempt runs, and while we cannot tell whether it runs
	now               fleet.Progress
	endless           bool              // the agent has a lease without end
	questions         map[string]string // open questions: the engine's id to the agent's id
	dropped           []string          // questions that the agent has withdrawn recently, by the agent's ids
	orderedWaiting    bool              // the engine's last order says that the agent waits for the user
	messages          []fleet.Message   // messages of the user that wait for the agent
	interrupt         bool              // the user interrupts the agent
	ordered           bool              // messages and interrupt are known
	delivered         []string          // ids of messages that the agent has received and the engine still lists as waiting
	sentBack          atomic.Bool       // one of the messages sends a review back; safe for every goroutine
	stopReason        string
	stopping          chan struct{} // closed when the attempt must stop; safe for every goroutine
	waitsForResources bool          // the attempt waits for resources to start; only its own goroutine
	reserved          bool          // resources are reserved for the attempt; only its own goroutine
	lastUnproven      string        // last reported reason why the end cannot be proved; only the attempt's goroutine
}

// run runs the attempt until its end was reported.
func (h *heldAttempt) run(ctx context.Context) {
	r, err := h.runAttempt(ctx, h.startOrAdopt)
	for wait := firstShortagePause; ctx.Err() == nil; {
		mayRun, short := isUnknown(err), isShortage(startFailure(r, err)) && runner.UnprovenText(err) == ""
		if !mayRun && !short {
			break
		}
		if !short {
			h.reportUnknown(ctx, err)
		} else if !h.awaitResources(ctx, wait, startFailure(r, err)) {
			return
		} else {
			wait = min(2*wait, maxShortagePause)
		}
		again := h.start
		if mayRun { // the agent may be running and must not be started twice
			again = h.startOrAdopt
		}
		r, err = h.runAttempt(ctx, again)
	}
	h.stopWaitingForResources(ctx)
	if err == nil {
		h.awaitLeftProcesses(ctx, r.Left)
		if r.Class == failure.Released {
			h.handBack(ctx, r)
			return
		}
		if r.Class == failure.None {
			if gone := h.commit(ctx); gone != nil {
				r.Class, r.Summary = failure.Crashed, gone.Error()
			}
		}
		h.finish(ctx, finishOf(r, h.keepsAnswer()))
		return
	}
	if ctx.Err() != nil {
		return
	}
	var failed *supervisor.FailedError
	var start *supervisor.StartError
	notStarted := fleet.Progress{Process: fleet.Process{LogFrom: runner.LogSize(h.worker.opts.Workspace.Log(h.Task))}}
	failedAs := func(class failure.Class, summary string) {
		h.finish(ctx, engine.Finish{Progress: notStarted, Ending: fleet.Ending{Class: class, Summary: summary, Exit: -1}})
	}
	switch {
	case errors.Is(err, errReleased):
		h.handBack(ctx, runner.Result{Progress: notStarted})
	case errors.As(err, &failed):
		failedAs(failure.NotStarted, failed.Exit.Failed)
	case errors.Is(err, errLost), errors.As(err, &start): // the next attempt may succeed
		failedAs(failure.Lost, err.Error())
	case errors.Is(err, exec.ErrNotFound) && h.endAll(ctx): // for example git is missing, needed for the worktree
		failedAs(failure.NotStarted, err.Error())
	case err != nil && h.endAll(ctx):
		summary := err.Error()
		if hint := (interface{ Hint() string })(nil); errors.As(err, &hint) && hint.Hint() != "" {
			summary += "; " + hint.Hint()
		}
		failedAs(failure.BadPlan, summary)
	}
}

// isUnknown reports whether we cannot tell if an attempt has ended.
func isUnknown(err error) bool {
	unknown := (*supervisor.UnknownError)(nil)
	return errors.As(err, &unknown)
}

// unknownRetryPause is the pause before the next try to find out the state of an attempt.
const unknownRetryPause = time.Second

// reportUnknown reports that we cannot tell whether the attempt has ended, and waits for
// unknownRetryPause.
func (h *heldAttempt) reportUnknown(ctx context.Context, err error) {
	why := runner.UnprovenText(err)
	if why == "" {
		why = err.Error()
		if hint := (interface{ Hint() string })(nil); errors.As(err, &hint) {
			why += "; " + hint.Hint()
		}
	}
	events{h, ctx}.Doing(runner.Activity{Unproven: why, Progress: fleet.Progress{
		Activity: fleet.Activity{State: string(agent.Waiting), Doing: why},
		Process:  fleet.Process{LogFrom: runner.LogSize(h.worker.opts.Workspace.Log(h.Task))},
	}})
	pause.For(ctx, unknownRetryPause)
}

// endAll ends all processes of the attempt. It returns true when none is left. While it
// cannot prove that, it tries again, and the worker keeps the attempt so that the task is
// not started twice. It returns false only if ctx ends first.
func (h *heldAttempt) endAll(ctx context.Context) bool {
	w := h.worker
	for ctx.Err() == nil {
		err := runner.End(ctx, w.folder(h.Attempt.ID), h.Attempt.ID, runner.Options{Now: w.opts.Now, Supervisor: w.opts.Supervisor})
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return true
		}
		if ctx.Err() == nil {
			h.reportUnknown(ctx, err)
		}
	}
	return false
}

// awaitLeftProcesses waits for processes that could not be ended. While one of them is
// alive, the task must not be started again.
func (h *heldAttempt) awaitLeftProcesses(ctx context.Context, left []int) {
	for told := false; slices.ContainsFunc(left, isAlive) && ctx.Err() == nil; told = true {
		if !told {
			h.worker.opts.Notice(fmt.Sprintf("task %s: its processes %v cannot be ended; waiting for them", h.Task.Task, left))
		}
		pause.For(ctx, time.Second)
	}
}

func isAlive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

var (
	errLost     = errors.New("the agent and its supervisor were killed")
	errReleased = errors.New("the attempt was returned before its agent was started")
)

// runAttempt starts or adopts the attempt and runs it until its end.
func (h *heldAttempt) runAttempt(ctx context.Context, begin func(context.Context) (*runner.Attempt, error)) (runner.Result, error) {
	defer h.releaseReservation()
	a, err := begin(ctx)
	if err != nil {
		return runner.Result{}, err
	}
	h.stopWaitingForResources(ctx)
	h.worker.runInLoop(ctx, func() { h.attempt = a; h.passStop(); h.passLease(); h.passMessages(); h.orderedWaiting = false })
	return a.Run(ctx)
}

// options returns the options of the attempt's runner.
func (h *heldAttempt) options(ctx context.Context) runner.Options {
	w := h.worker
	return runner.Options{Now: w.opts.Now, Supervisor: w.opts.Supervisor, Home: w.opts.Home, Pool: w.pool, Owner: events{h, ctx}, Abandon: h.lease.abandon(), Secrets: w.secrets()}
}

// startOrAdopt starts the agent, or adopts it if it was started before.
func (h *heldAttempt) startOrAdopt(ctx context.Context) (*runner.Attempt, error) {
	w := h.worker
	dir := w.folder(h.Attempt.ID)
	opts := h.options(ctx)
	job, err := runner.ReadJob(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return h.start(ctx)
	}
	if err != nil {
		return nil, err
	}
	with, err := w.opts.Agents(job.Agent)
	if err != nil {
		return nil, err
	}
	spec, err := h.spec()
	if err != nil {
		return nil, err
	}
	job.Env, job.Secrets = environ(h.Assignment, spec), secretsOf(spec)
	a, state, err := runner.Adopt(ctx, dir, with, job, opts)
	if err != nil || state != supervisor.Lost {
		return a, err
	}
	if !a.NeverStarted() {
		return nil, errLost
	}
	return h.start(ctx) // the agent was never started
}

func (h *heldAttempt) start(ctx context.Context) (*runner.Attempt, error) {
	w := h.worker
	dir, opts := w.folder(h.Attempt.ID), h.options(ctx)
	switch {
	case w.collecting:
		return nil, errLost
	case h.unwanted || w.releasing.Load():
		return nil, errReleased
	}
	spec, err := h.spec()
	if err != nil {
		return nil, err
	}
	if name := engine.AgentOf(spec); len(w.opts.Allow) > 0 && !slices.Contains(w.opts.Allow, name) {
		return nil, &notAllowedError{agent: name, allowed: w.opts.Allow}
	}
	with, err := w.opts.Agents(engine.AgentOf(spec))
	if err != nil {
		return nil, err
	}
	work, err := w.opts.Workspace.Work(ctx, h.Task, spec)
	if err != nil {
		return nil, err
	}
	job := jobOf(h.Assignment, spec)
	job.Work, job.Log, job.Grace = work, w.opts.Workspace.Log(h.Task), w.opts.Grace
	job.Env, job.Secrets = environ(h.Assignment, spec), secretsOf(spec)
	if w.opts.Terminal != nil {
		opts.Terminal = func(from int64) *supervisor.Terminal { return w.opts.Terminal(h.Task, spec, job.Log, from) }
	}
	if err := h.awaitLease(ctx); err != nil {
		return nil, err
	}
	if err := w.reserve(); err != nil {
		return nil, err
	}
	h.reserved = true
	defer w.startCompleted()
	opts.Until = h.lease.ends()
	return runner.Start(ctx, dir, with, job, opts)
}

// notAllowedError reports a task for an agent that this worker does not run. The
// coordinator is too old to know that workers may restrict their agents.
type notAllowedError struct {
	agent   string
	allowed []string
}

func (e *notAllowedError) Error() string {
	return fmt.Sprintf("this worker does not run agent %s: it was started for %s", e.agent, strings.Join(e.allowed, ", "))
}

// Hint returns what the user can do next.
func (*notAllowedError) Hint() string {
	return "the coordinator is of an older version than the worker: upgrade it, then retry"
}

// awaitLease waits while the attempt's lease is over. The lease may end before there
// is an agent that could be frozen.
func (h *heldAttempt) awaitLease(ctx context.Context) error {
	for h.lease.over(h.worker.opts.Now()) {
		switch {
		case h.lease.lost():
			return errLost
		case h.worker.releasing.Load():
			return errReleased
		case ctx.Err() != nil:
			return ctx.Err()
		}
		pause.For(ctx, minBeatInterval)
	}
	return nil
}

// finish reports the end of the attempt. It repeats the request until the engine
// acknowledges it, or says that the attempt is no longer ours. The same request claims
// the next task for the free slot.
func (h *heldAttempt) finish(ctx context.Context, f engine.Finish) {
	w := h.worker
	f.Attempt, f.Token, f.Log = h.Attempt.ID, h.Attempt.Token, w.opts.Workspace.Log(h.Task)
	f.Diff = h.diff(ctx)
	var next *engine.Assignment
	var sent time.Time
	r := w.claimRequest()
	h.retryUntilAnswered(ctx, "finish "+h.Task.Task, func() (err error) {
		sent = w.opts.Now()
		_, next, err = w.opts.Engine.Turn(ctx, f, r)
		return err
	})
	h.removeReported(ctx, next, sent)
}

// commit commits the changes that the task has left uncommitted. If that fails, the
// task is complete all the same: the work is in its worktree, and a task that starts
// from it reports the problem. If the worktree is gone, the work is lost, and commit
// returns that error.
func (h *heldAttempt) commit(ctx context.Context) (gone error) {
	spec, err := h.spec()
	if err == nil {
		err = h.worker.opts.Workspace.Commit(ctx, h.Task, spec)
	}
	if lost := (interface{ Lost() bool })(nil); errors.As(err, &lost) && lost.Lost() {
		return err
	}
	if err != nil && ctx.Err() == nil {
		h.worker.opts.Notice(fmt.Sprintf("task %s: what it left uncommitted is not on its branch: %v", h.Task.Task, err))
	}
	return nil
}

// diffWithin limits how long computing the diff may delay the report that an attempt
// has ended.
const diffWithin = 10 * time.Second

// diff returns what the attempt has changed, before later steps change the files
// further. If it fails, the end is reported without a diff.
func (h *heldAttempt) diff(ctx context.Context) json.RawMessage {
	spec, err := h.spec()
	if err != nil {
		return nil
	}
	within, cancel := context.WithTimeout(ctx, diffWithin)
	defer cancel()
	d, err := h.worker.opts.Workspace.Diff(within, h.Task, spec)
	if err != nil && ctx.Err() == nil {
		h.worker.opts.Notice(fmt.Sprintf("task %s: what it has changed is not known: %v", h.Task.Task, err))
	}
	if err != nil || d == nil {
		return nil
	}
	text, _ := json.Marshal(d) // cannot fail: only strings and numbers
	return text
}

// handBack returns an attempt to the engine, so that other workers can claim its task. No
// process of the attempt is running.
func (h *heldAttempt) handBack(ctx context.Context, r runner.Result) {
	w := h.worker
	back := engine.HeldAttempt{Attempt: h.Attempt.ID, Token: h.Attempt.Token, Now: r.Progress, Delivered: r.Delivered}
	back.Now.Activity = fleet.Activity{State: string(agent.Running), Said: w.opts.Now()}
	back.Now.Log = w.opts.Workspace.Log(h.Task)
	h.retryUntilAnswered(ctx, "release "+h.Task.Task, func() error {
		return w.opts.Engine.Release(ctx, w.opts.ID, []engine.HeldAttempt{back})
	})
	h.removeReported(ctx, nil, time.Time{})
}

// retryUntilAnswered repeats a request until it is acknowledged or refused. If the
// coordinator does not understand the request, retryUntilAnswered notifies the user and
// still tries again, because the coordinator may be upgraded.
func (h *heldAttempt) retryUntilAnswered(ctx context.Context, what string, request func() error) {
	told := false
	for wait := firstRetryPause; ctx.Err() == nil; wait = min(2*wait, maxRetryPause) {
		err := request()
		h.worker.noteAnswer(ctx, what, err)
		if err == nil || isRefusal(err) {
			return
		}
		if isAnswer(err) && !told {
			told = true
			h.worker.opts.Notice(fmt.Sprintf("%s: %v; trying again", what, err))
		}
		pause.For(ctx, wait)
	}
}

// removeReported removes an attempt whose end was reported, and its folder, from the worker.
// It starts the next attempt if one was claimed with the report.
func (h *heldAttempt) removeReported(ctx context.Context, next *engine.Assignment, asked time.Time) {
	w := h.worker
	if ctx.Err() != nil {
		return // the next process that adopts the attempt reports its end
	}
	w.discardFolder(w.folder(h.Attempt.ID))
	w.runInLoop(ctx, func() { w.removeReported(ctx, h, next, asked) })
}

// report returns what the next heartbeat says about the attempt.
func (h *heldAttempt) report() engine.HeldAttempt {
	r := engine.HeldAttempt{Attempt: h.Attempt.ID, Token: h.Attempt.Token, Now: h.now, Dropped: slices.Clone(h.dropped), Delivered: slices.Clone(h.delivered)}
	for id := range h.questions {
		r.Asking = append(r.Asking, id)
	}
	return r
}

// follow executes the engine's orders from the answer to a heartbeat. sent is when the
// heartbeat was sent.
func (h *heldAttempt) follow(o engine.Order, sent time.Time) {
	switch {
	case o.Gone:
		h.lease.lose()
		h.stop(string(failure.Cancelled))
	case o.Stop != "" && (!o.Interrupt || h.attempt == nil):
		h.stop(o.Stop)
	}
	// The engine no longer lists messages that this heartbeat has reported as delivered.
	h.delivered = slices.DeleteFunc(h.delivered, func(id string) bool {
		return !slices.ContainsFunc(o.Messages, func(m fleet.Message) bool { return m.ID == id })
	})
	if slices.ContainsFunc(o.Messages, func(m fleet.Message) bool { return m.Round > 0 }) {
		h.sentBack.Store(true)
	}
	h.messages, h.interrupt, h.ordered = o.Messages, o.Interrupt, true
	h.passMessages()
	if o.Lease > 0 && h.lease.renew(o.Lease, sent) {
		h.passLease()
	}
	if o.Waits != h.orderedWaiting {
		h.orderedWaiting = o.Waits
		h.inBackground(func(a *runner.Attempt) { a.Wait(o.Waits) })
	}
	for _, q := range o.Answers {
		asked, waiting := h.questions[q.ID]
		if !waiting {
			continue
		}
		delete(h.questions, q.ID)
		h.inBackground(func(a *runner.Attempt) { a.Answer(asked, answerOf(q)) })
	}
}

func (h *heldAttempt) stop(why string) {
	if h.stopReason == "" {
		h.stopReason = why
		close(h.stopping)
		h.passStop()
	}
}

// passStop passes the stop order to the running attempt. It is called again when the
// attempt starts to run after the order.
func (h *heldAttempt) passStop() {
	if h.stopReason != "" {
		why := h.stopReason
		h.inBackground(func(a *runner.Attempt) { a.Stop(why, false) })
	}
}

// passMessages passes the user's messages and an interrupt to the agent. It does nothing
// before the first order, because the waiting messages are not known yet.
func (h *heldAttempt) passMessages() {
	if h.attempt != nil && h.ordered {
		h.attempt.Steer(h.messages, h.interrupt)
	}
}

// passLease passes the end of the lease to the agent. It does nothing if the agent
// already has a lease without end.
func (h *heldAttempt) passLease() {
	until := h.lease.ends()
	if h.endless && until.IsZero() {
		return
	}
	h.endless = until.IsZero()
	h.inBackground(func(a *runner.Attempt) {
		if err := a.Extend(until); err != nil {
			h.worker.opts.Notice(fmt.Sprintf("task %s: %v", h.Task.Task, err))
		}
	})
}

// inBackground calls give in a goroutine, so that it need not wait for the attempt.
func (h *heldAttempt) inBackground(give func(*runner.Attempt)) {
	if a := h.attempt; a != nil {
		h.worker.running.Go(func() { give(a) })
	}
}

// answerTimeout returns how long a task's questions wait for the user, and the default
// answer.
func (h *heldAttempt) answerTimeout() (time.Duration, string) {
	spec, err := h.spec()
	if err != nil {
		return 0, ""
	}
	return spec.AnswerTimeout, spec.AnswerDefault
}

// keepsAnswer reports whether the agent's complete last message is kept: the task wants it, or
// it has the answers to a review.
func (h *heldAttempt) keepsAnswer() bool {
	spec, err := h.spec()
	return err == nil && (spec.KeepMessage || h.Task.SentBack || h.sentBack.Load())
}

func specOf(t store.Task) (plan.Task, error) {
	spec, err := plan.DecodeTask(t.Spec)
	if err != nil {
		return spec, fmt.Errorf("task %s: %w", t.Task, err)
	}
	return spec, nil
}
