package worker

import (
	"context"
	"errors"
	"time"

	"gaffer/internal/engine"
	"gaffer/internal/pause"
)

// claimNext asks the engine for a task if the worker may run one more attempt and no earlier claim
// is unanswered. It does not wait for the answer, so that heartbeats are not delayed.
func (w *Worker) claimNext(ctx context.Context) {
	if !w.mayClaim || w.claiming || w.claimsNothing() {
		return
	}
	if w.mayClaim = false; len(w.held) >= w.opts.Slots {
		return
	}
	w.claiming = true
	w.running.Go(func() {
		a, sent := w.claim(ctx)
		w.runInLoop(ctx, func() {
			if w.claiming = false; a != nil {
				w.mayClaim = true // claim again, because there may be more tasks
				w.holdAndStart(ctx, *a, sent)
			}
		})
	})
}

// claim asks the engine for a task. If a request fails, claim repeats it with the same key, so that
// the engine assigns at most one task. It returns the assignment, and the time at which it sent the
// request that the engine answered. The assignment is nil if there is no task, or if ctx has ended.
func (w *Worker) claim(ctx context.Context) (*engine.Assignment, time.Time) {
	r := w.claimRequest()
	r.Key = w.opts.NewKey()
	for wait := firstRetryPause; ctx.Err() == nil; wait = min(2*wait, maxRetryPause) {
		sent := w.opts.Now()
		a, err := w.opts.Engine.Claim(ctx, r)
		w.noteAnswer(ctx, "claim", err)
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

// claimsNothing reports whether the worker must not take new tasks now.
func (w *Worker) claimsNothing() bool { return w.draining.Load() || w.waitingForResources.Load() > 0 }

// claimRequest returns the request by which this worker asks for a task.
func (w *Worker) claimRequest() engine.Claim {
	r := engine.Claim{Worker: w.opts.ID}
	// A report that an attempt has ended always includes this request, even if the worker must not
	// get a new task. In that case, leave out the labels. A claim without labels gets no task,
	// because every task requires a label, such as the label of its project.
	if !w.claimsNothing() {
		r.Labels, r.Agents = w.opts.Labels, w.opts.Allow
	}
	for _, a := range w.opts.Accounts {
		r.Accounts = append(r.Accounts, engine.WorkerAccount{Agent: a.Agent, Name: a.Name, Reserve: a.Reserve})
	}
	r.Fallbacks = true
	return r
}
