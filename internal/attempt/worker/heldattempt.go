package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"slices"
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

// heldAttempt is an attempt that the worker holds. Only the goroutine of [Worker.Run] may use its
// fields, unless noted below. The attempt's own goroutine changes them through [Worker.runInLoop].
type heldAttempt struct {
	engine.Assignment
	worker *Worker
	spec   func() (plan.Task, error) // returns the task as the plan describes it; safe for concurrent use

	lease    lease // also used by the attempt's goroutine
	unwanted bool  // the attempt was assigned while the worker was draining; set before the attempt starts

	attempt           *runner.Attempt // nil before the attempt runs, and while gaffer cannot tell whether it runs
	now               fleet.Progress
	endless           bool              // the lease that the agent's supervisor got last has no end
	questions         map[string]string // open questions: maps the engine's id of a question to the agent's id
	dropped           []string          // the agent's ids of questions that it has withdrawn recently
	orderedWaiting    bool              // the engine's last order says that the agent waits for the user
	messages          []fleet.Message   // messages of the user that wait for the agent
	interrupt         bool              // the user wants to interrupt the agent
	ordered           bool              // an order of the engine has set messages and interrupt at least once
	delivered         []string          // ids of messages that the agent has received, but that the engine still lists as waiting
	sentBack          atomic.Bool       // one of the messages sends a review back to the agent; safe for concurrent use
	stopReason        string
	stopping          chan struct{} // closed when the attempt must stop; safe for concurrent use
	waitsForResources bool          // the attempt could not start because the machine lacks resources, and is tried again; used only by the attempt's goroutine
	reserved          bool          // resources are reserved for the attempt; used only by the attempt's goroutine
	lastUnproven      string        // last reported reason why the attempt's end cannot be proved; used only by the attempt's goroutine
}

// run runs the attempt. It returns when the attempt's end was reported to the engine, or when ctx
// has ended.
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
		if mayRun { // do not start it again: the agent may be running
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
	case errors.Is(err, errLost), errors.As(err, &start): // report the attempt as lost: the next attempt may succeed
		failedAs(failure.Lost, err.Error())
	case errors.Is(err, exec.ErrNotFound) && h.endAll(ctx): // a program is missing, for example git for the worktree
		failedAs(failure.NotStarted, err.Error())
	case err != nil && h.endAll(ctx):
		summary := err.Error()
		if hint := (interface{ Hint() string })(nil); errors.As(err, &hint) && hint.Hint() != "" {
			summary += "; " + hint.Hint()
		}
		failedAs(failure.BadPlan, summary)
	}
}

// isUnknown reports whether err says that gaffer cannot tell if an attempt has ended.
func isUnknown(err error) bool {
	unknown := (*supervisor.UnknownError)(nil)
	return errors.As(err, &unknown)
}

// unknownRetryPause is the pause before the next try to find out the state of an attempt.
const unknownRetryPause = time.Second

// reportUnknown shows the user that gaffer cannot tell whether the attempt has ended. Then it waits
// for unknownRetryPause.
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

// endAll ends all processes of the attempt. It returns true when no process is left. As long as
// that is not proved, endAll tries again and the worker keeps the attempt, so that the task is not
// started twice. It returns false only if ctx ends first.
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

// awaitLeftProcesses waits until the processes with these pids have ended, after the attempt itself
// has ended. While one of them is alive, the task must not be started again.
func (h *heldAttempt) awaitLeftProcesses(ctx context.Context, pids []int) {
	for notified := false; slices.ContainsFunc(pids, isAlive) && ctx.Err() == nil; notified = true {
		if !notified {
			h.worker.opts.Notice(fmt.Sprintf("task %s: its processes %v cannot be ended; waiting for them", h.Task.Task, pids))
		}
		pause.For(ctx, time.Second)
	}
}

func isAlive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

var (
	errLost     = errors.New("the agent and its supervisor were killed")
	errReleased = errors.New("the attempt was returned before its agent was started")
)

// report returns what the next heartbeat says about the attempt.
func (h *heldAttempt) report() engine.HeldAttempt {
	r := engine.HeldAttempt{Attempt: h.Attempt.ID, Token: h.Attempt.Token, Now: h.now, Dropped: slices.Clone(h.dropped), Delivered: slices.Clone(h.delivered)}
	for id := range h.questions {
		r.Asking = append(r.Asking, id)
	}
	return r
}

// answerTimeout returns how long a question of the task waits for the user, and the answer that the
// agent gets after that time.
func (h *heldAttempt) answerTimeout() (time.Duration, string) {
	spec, err := h.spec()
	if err != nil {
		return 0, ""
	}
	return spec.AnswerTimeout, spec.AnswerDefault
}

func specOf(t store.Task) (plan.Task, error) {
	spec, err := plan.DecodeTask(t.Spec)
	if err != nil {
		return spec, fmt.Errorf("task %s: %w", t.Task, err)
	}
	return spec, nil
}
