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

// heldAttempt is an attempt that this worker is responsible for. The fields Assignment and worker
// never change. Only the goroutine of [Worker.Run] may use the other fields, unless their comments
// say otherwise. The goroutine that runs the attempt changes fields by calling [Worker.runInLoop].
type heldAttempt struct {
	engine.Assignment
	worker *Worker
	spec   func() (plan.Task, error) // returns the task as the plan describes it; safe for concurrent use

	lease lease // safe for concurrent use
	// unwanted says that the engine assigned the attempt while the worker was draining, that is,
	// taking no new tasks. It is set before the attempt starts.
	unwanted bool

	attempt        *runner.Attempt // nil until this worker has started the agent or found it running
	now            fleet.Progress
	endless        bool              // the lease of the agent's supervisor never ends, as far as the worker knows
	questions      map[string]string // open questions: key is the engine's id, value the agent's id
	dropped        []string          // agent's ids of the questions that it has withdrawn recently
	orderedWaiting bool              // according to the engine's last answer, the agent waits for the user
	messages       []fleet.Message   // the user's messages that the agent has not received yet
	interrupt      bool              // the engine orders the agent to end its turn, that is, its work on the last prompt
	ordered        bool              // the engine has answered a heartbeat, so messages and interrupt are known
	// delivered has the ids of messages that the agent has received, but that the engine still
	// lists as not received.
	delivered []string
	// sentBack says that the user has reviewed the agent's change and sent it back: one of the
	// user's messages to the agent contains review comments. It is safe for concurrent use.
	sentBack   atomic.Bool
	stopReason string
	stopping   chan struct{} // closed when the attempt must stop; safe for concurrent use
	// Only the goroutine that runs the attempt uses the following fields. waitsForResources says
	// that the attempt could not start yet because the machine lacks resources.
	waitsForResources bool
	reserved          bool   // resources of this machine are reserved for the attempt
	lastUnproven      string // last reported reason why gaffer cannot tell whether the attempt has ended
}

// run runs the attempt. It returns when the attempt's result was reported to the engine, when the
// attempt was returned to the engine, or when ctx has ended.
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
		if mayRun { // the agent may be running: do not start another one
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
	case errors.Is(err, exec.ErrNotFound) && h.endAll(ctx): // a program that gaffer needs is missing, for example git for the worktree
		failedAs(failure.NotStarted, err.Error())
	case err != nil && h.endAll(ctx):
		summary := err.Error()
		if hint := (interface{ Hint() string })(nil); errors.As(err, &hint) && hint.Hint() != "" {
			summary += "; " + hint.Hint()
		}
		failedAs(failure.BadPlan, summary)
	}
}

// isUnknown reports whether err says that gaffer cannot tell whether the attempt has ended.
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

// endAll ends all processes of the attempt, and returns true when none is left. While it cannot
// prove that none is left, it tries again. During that time the worker keeps the attempt, so that
// no other worker starts the task a second time. endAll returns false if ctx ends first.
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

// awaitLeftProcesses is called after the attempt has ended. It waits until the processes with these
// pids, which the attempt has left behind, have ended too. The task must not be started again while
// one of them is alive.
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

// report returns what the next heartbeat tells the engine about the attempt.
func (h *heldAttempt) report() engine.HeldAttempt {
	r := engine.HeldAttempt{Attempt: h.Attempt.ID, Token: h.Attempt.Token, Now: h.now, Dropped: slices.Clone(h.dropped), Delivered: slices.Clone(h.delivered)}
	for id := range h.questions {
		r.Asking = append(r.Asking, id)
	}
	return r
}

// answerTimeout returns how long a question of the task's agent waits for the user's answer, and
// the default answer that the agent gets after that time.
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
