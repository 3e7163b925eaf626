package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gaffer/fleet"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/runner"
	"gaffer/internal/engine"
	"gaffer/internal/pause"
)

// finish reports to the engine how the attempt has ended. It repeats the request until the engine
// acknowledges it, or says that the attempt no longer belongs to this worker. The same request
// claims the worker's next task.
func (h *heldAttempt) finish(ctx context.Context, f engine.Finish) {
	w := h.worker
	f.Attempt, f.Token, f.Log = h.Attempt.ID, h.Attempt.Token, w.opts.Workspace.Log(h.Task)
	f.Diff = h.diff(ctx)
	var next *engine.Assignment
	var sent time.Time
	r := w.claimRequest()
	h.retryUntilAnswered(ctx, "finish "+h.Task.Task, func() (err error) {
		sent = w.opts.Now()
		_, next, err = w.opts.Engine.FinishAndClaim(ctx, f, r)
		return err
	})
	h.removeReported(ctx, next, sent)
}

// commit commits the changes that the task has left uncommitted. If the worktree is gone, the work
// is lost, and commit returns an error. It shows any other failure to the user and returns nil: the
// task is complete, and its work is still in the worktree.
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

// diffWithin is the time limit for computing the diff, which delays the report that the attempt has
// ended.
const diffWithin = 10 * time.Second

// diff returns what the attempt has changed in its worktree. It returns nil if the attempt has no
// worktree or if the diff cannot be computed. finish calls diff before it reports the end of the
// attempt, because the files may change after that.
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
	text, _ := json.Marshal(d) // cannot fail: a diff contains only strings and numbers
	return text
}

// handBack returns an attempt to the engine, so that other workers can claim its task. The caller
// must make sure that no process of the attempt is running.
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

// retryUntilAnswered repeats a request until the engine acknowledges or refuses it. The parameter
// what is the name of the request in messages to the user. If the gaffer server rejects the request
// as invalid, retryUntilAnswered notifies the user and still tries again, because the server may be
// upgraded in the meantime.
func (h *heldAttempt) retryUntilAnswered(ctx context.Context, what string, request func() error) {
	notified := false
	for wait := firstRetryPause; ctx.Err() == nil; wait = min(2*wait, maxRetryPause) {
		err := request()
		h.worker.noteAnswer(ctx, what, err)
		if err == nil || isRefusal(err) {
			return
		}
		if isAnswer(err) && !notified {
			notified = true
			h.worker.opts.Notice(fmt.Sprintf("%s: %v; trying again", what, err))
		}
		pause.For(ctx, wait)
	}
}

// removeReported discards the attempt's folder and removes the attempt from the worker's attempts.
// The caller must already have reported the end of the attempt, or returned the attempt to the
// engine. If the worker has claimed another task with that report, next is the new attempt, and
// removeReported starts it. asked is when the report was sent.
func (h *heldAttempt) removeReported(ctx context.Context, next *engine.Assignment, asked time.Time) {
	w := h.worker
	if ctx.Err() != nil {
		return // do not discard the folder: the next process of this worker will report the end of the attempt
	}
	w.discardFolder(w.folder(h.Attempt.ID))
	w.runInLoop(ctx, func() { w.removeReported(ctx, h, next, asked) })
}

// keepsAnswer reports whether the agent's complete last message must be stored. That is the case if
// the task asks for it. It is also the case if the comments of a review were sent to the agent,
// because the message may contain the agent's answers to the comments.
func (h *heldAttempt) keepsAnswer() bool {
	spec, err := h.spec()
	return err == nil && (spec.KeepMessage || h.Task.SentBack || h.sentBack.Load())
}
