package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"gaffer/internal/attempt/runner"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/engine"
	"gaffer/internal/pause"
	"gaffer/internal/plan"
)

// runAttempt calls the function start, which starts the attempt or takes over one that is running.
// Then it follows the attempt until it has ended, and returns the result.
func (h *heldAttempt) runAttempt(ctx context.Context, start func(context.Context) (*runner.Attempt, error)) (runner.Result, error) {
	defer h.releaseReservation()
	a, err := start(ctx)
	if err != nil {
		return runner.Result{}, err
	}
	h.stopWaitingForResources(ctx)
	h.worker.runInLoop(ctx, func() { h.attempt = a; h.passStop(); h.passLease(); h.passMessages(); h.orderedWaiting = false })
	return a.Run(ctx)
}

// options returns the options with which package runner runs this attempt. It does not set the
// options Until and Terminal, which are needed only to start an agent.
func (h *heldAttempt) options(ctx context.Context) runner.Options {
	w := h.worker
	return runner.Options{Now: w.opts.Now, Supervisor: w.opts.Supervisor, Home: w.opts.Home, Pool: w.pool, Owner: events{h, ctx}, Abandon: h.lease.abandon(), Secrets: w.secrets(), Machine: w.opts.Machine}
}

// startOrAdopt starts the agent, or takes it over if it was started before, for example by an
// earlier process of this worker. If the agent was started, but it and its supervisor have been
// killed, the error is errLost.
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
	if h.Attempt.Limit.Limits() { // the limit may have changed after the agent was started
		job.Limit = h.Attempt.Limit
	}
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
	name, _ := engine.AgentOfAttempt(spec, h.Attempt.Fallback)
	if len(w.opts.Allow) > 0 && !slices.Contains(w.opts.Allow, name) {
		return nil, &notAllowedError{agent: name, allowed: w.opts.Allow}
	}
	with, err := w.opts.Agents(name)
	if err != nil {
		return nil, err
	}
	own, ok := w.account(name, h.Attempt.Account)
	if !ok {
		// This worker does not have the account that the engine chose. Return the attempt to the
		// engine, so that the next attempt uses another account.
		return nil, errReleased
	}
	work, err := w.opts.Workspace.Work(ctx, h.Task, spec)
	if err != nil {
		return nil, err
	}
	job := jobOf(h.Assignment, spec, h.conversation(spec, own))
	job.Account = own
	job.Work, job.Log, job.Grace = work, w.opts.Workspace.Log(h.Task), w.opts.Grace
	job.Env, job.Secrets = environ(h.Assignment, spec), secretsOf(spec)
	if job.Request.Fork != nil {
		if err := h.bringConversation(spec, job); err != nil {
			return nil, err
		}
		completeFork(with, &job)
	}
	if w.opts.Sandbox != nil {
		if job.Sandbox, err = w.opts.Sandbox(sandboxedTask(spec, job)); err != nil {
			return nil, err
		}
		setSandbox(&job.Request, job.Sandbox, work)
	}
	if w.opts.Terminal != nil {
		shown := spec
		// Show the agent that works on this attempt. It may be a fallback: another agent that the
		// plan names in case the task's own agent cannot work, for example because of a rate limit.
		shown.Agent = name
		opts.Terminal = func(from int64) *supervisor.Terminal { return w.opts.Terminal(h.Task, shown, job.Log, from) }
	}
	if err := h.awaitLease(ctx); err != nil {
		return nil, err
	}
	if err := w.reserve(); err != nil {
		return nil, err
	}
	h.reserved = true
	defer w.startCompleted()
	opts.Until = h.lease.freezeAt()
	return runner.Start(ctx, dir, with, job, opts)
}

// sandboxedTask returns spec with the agent and the permission rules of this attempt, which may
// differ from those in the plan. The function Options.Sandbox needs them to choose the sandbox.
func sandboxedTask(spec plan.Task, job runner.Job) plan.Task {
	spec.Agent = job.Agent
	spec.Permissions.Allow, spec.Permissions.Deny, spec.Permissions.Ask = job.Request.Permissions.Allow, job.Request.Permissions.Deny, job.Request.Permissions.Ask
	return spec
}

// notAllowedError reports that the engine has assigned a task for an agent that this worker does
// not run. Only a gaffer server of an older version does this, because it does not know that
// workers may restrict their agents.
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

// awaitLease waits until the attempt has a valid lease. The lease may have ended while the worker
// was preparing the start of the agent. The next heartbeat can renew it.
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
