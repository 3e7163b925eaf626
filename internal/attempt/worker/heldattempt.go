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
	"syscall"
	"time"

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
// of [Worker.Run]; what its own goroutine has to say comes as news.
type heldAttempt struct {
	engine.Assignment
	worker *Worker
	spec   func() (plan.Task, error) // the plan's words about the task; for every goroutine

	lease    lease // also for its own goroutine
	unwanted bool  // it was given when nothing was wanted any more; set before it runs

	attempt   *runner.Attempt // nil before it runs and while it cannot be told whether it does
	now       engine.Activity
	endless   bool              // the agent knows of no end of its lease
	questions map[string]string // those that wait for an answer: the engine's id to the agent's
	dropped   []string          // those that the agent has withdrawn last, by its own ids
	waiting   bool              // the engine has said that the agent waits for a person
	stopped   string
	stopping  chan struct{} // closed when it is to stop; for every goroutine
	short     bool          // it waits until it can be started; of its own goroutine
	reserved  bool          // room was reserved for it; of its own goroutine
	doubted   string        // why it cannot be told whether it has ended, as it was last reported; of its own goroutine
}

// run looks after the attempt until its end was reported.
func (h *heldAttempt) run(ctx context.Context) {
	r, err := h.attend(ctx, h.begin)
	for wait := firstShortage; ctx.Err() == nil; {
		mayRun, short := isUnknown(err), isShortage(neverStarted(r, err)) && runner.DoubtOf(err) == ""
		if !mayRun && !short {
			break
		}
		if !short {
			h.doubt(ctx, err)
		} else if !h.awaitRoom(ctx, wait, neverStarted(r, err)) {
			return
		} else {
			wait = min(2*wait, lastShortage)
		}
		again := h.start
		if mayRun { // it must not be started a second time
			again = h.begin
		}
		r, err = h.attend(ctx, again)
	}
	h.started(ctx)
	if err == nil {
		h.outlive(ctx, r.Left)
		if r.Class == failure.Released {
			h.handBack(ctx, r)
			return
		}
		if r.Class == failure.None {
			if gone := h.commit(ctx); gone != nil {
				r.Class, r.Summary = failure.Crashed, gone.Error()
			}
		}
		h.finish(ctx, finishOf(r, h.keeps()))
		return
	}
	if ctx.Err() != nil {
		return
	}
	var failed *supervisor.FailedError
	var start *supervisor.StartError
	from := runner.LogSize(h.worker.opts.Workspace.Log(h.Task))
	switch {
	case errors.Is(err, errReleased):
		h.handBack(ctx, runner.Result{LogFrom: from})
	case errors.As(err, &failed):
		h.finish(ctx, engine.Finish{Class: failure.NotStarted, Summary: failed.Exit.Failed, Exit: -1, LogFrom: from})
	case errors.Is(err, errLost), errors.As(err, &start): // it may fare better the next time
		h.finish(ctx, engine.Finish{Class: failure.Lost, Summary: err.Error(), Exit: -1, LogFrom: from})
	case errors.Is(err, exec.ErrNotFound) && h.endAll(ctx): // such as git, for the worktree
		h.finish(ctx, engine.Finish{Class: failure.NotStarted, Summary: err.Error(), Exit: -1, LogFrom: from})
	case err != nil && h.endAll(ctx):
		summary := err.Error()
		if hint := (interface{ Hint() string })(nil); errors.As(err, &hint) && hint.Hint() != "" {
			summary += "; " + hint.Hint()
		}
		h.finish(ctx, engine.Finish{Class: failure.BadPlan, Summary: summary, Exit: -1, LogFrom: from})
	}
}

// isUnknown reports whether it cannot be told whether an attempt has ended.
func isUnknown(err error) bool {
	unknown := (*supervisor.UnknownError)(nil)
	return errors.As(err, &unknown)
}

// doubtPause is when it is looked again what became of an attempt.
const doubtPause = time.Second

// doubt reports an attempt of which cannot be told whether it has ended, and waits
// before that is looked at again.
func (h *heldAttempt) doubt(ctx context.Context, err error) {
	why := runner.DoubtOf(err)
	if why == "" {
		why = err.Error()
		if hint := (interface{ Hint() string })(nil); errors.As(err, &hint) {
			why += "; " + hint.Hint()
		}
	}
	owner{h, ctx}.Doing(runner.Activity{State: agent.Waiting, Doing: why, Doubt: why, LogFrom: runner.LogSize(h.worker.opts.Workspace.Log(h.Task))})
	pause.For(ctx, doubtPause)
}

// endAll ends what may still run of the attempt, and tells whether nothing does. While
// that cannot be told the attempt stays ours, since it must not be started a second
// time, and endAll tries again.
func (h *heldAttempt) endAll(ctx context.Context) bool {
	w := h.worker
	for ctx.Err() == nil {
		err := runner.End(ctx, w.folder(h.Attempt.ID), h.Attempt.ID, runner.Options{Now: w.opts.Now, Supervisor: w.opts.Supervisor})
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return true
		}
		if ctx.Err() == nil {
			h.doubt(ctx, err)
		}
	}
	return false
}

// outlive waits for processes that could not be ended: while one lives, nobody
// may try the task again.
func (h *heldAttempt) outlive(ctx context.Context, left []int) {
	for told := false; slices.ContainsFunc(left, isThere) && ctx.Err() == nil; told = true {
		if !told {
			h.worker.opts.Notice(fmt.Sprintf("task %s: its processes %v cannot be ended; waiting for them", h.Task.Task, left))
		}
		pause.For(ctx, time.Second)
	}
}

func isThere(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

var (
	errLost     = errors.New("the agent and its supervisor were killed")
	errReleased = errors.New("it is handed back before it has begun")
)

// attend begins the attempt and sees it to its end.
func (h *heldAttempt) attend(ctx context.Context, begin func(context.Context) (*runner.Attempt, error)) (runner.Result, error) {
	defer h.giveBack()
	a, err := begin(ctx)
	if err != nil {
		return runner.Result{}, err
	}
	h.started(ctx)
	h.worker.tell(ctx, func() { h.attempt = a; h.stopAgain(); h.extendAgain(); h.waiting = false })
	return a.Run(ctx)
}

// options are those of the attempt's runner.
func (h *heldAttempt) options(ctx context.Context) runner.Options {
	w := h.worker
	return runner.Options{Now: w.opts.Now, Supervisor: w.opts.Supervisor, Home: w.opts.Home, Pool: w.pool, Owner: owner{h, ctx}, Abandon: h.lease.abandon(), Secrets: w.secrets()}
}

// begin starts the agent, or takes it over if it was started before.
func (h *heldAttempt) begin(ctx context.Context) (*runner.Attempt, error) {
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
	if !a.Never() {
		return nil, errLost
	}
	return h.start(ctx) // it never came to that
}

func (h *heldAttempt) start(ctx context.Context) (*runner.Attempt, error) {
	w := h.worker
	dir, opts := w.folder(h.Attempt.ID), h.options(ctx)
	switch {
	case w.collects:
		return nil, errLost
	case h.unwanted || w.releases.Load():
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
	defer w.appeared()
	opts.Until = h.lease.ends()
	return runner.Start(ctx, dir, with, job, opts)
}

// notAllowedError is a task that this worker was given although it does not run the
// agent: the coordinator does not know that workers may choose.
type notAllowedError struct {
	agent   string
	allowed []string
}

func (e *notAllowedError) Error() string {
	return fmt.Sprintf("this worker does not run agent %s: it was started for %s", e.agent, strings.Join(e.allowed, ", "))
}

// Hint says what to do next.
func (*notAllowedError) Hint() string {
	return "the coordinator is of an older version than the worker: upgrade it, then retry"
}

// awaitLease waits until the attempt may run. Its lease may have ended before there
// was anything to freeze.
func (h *heldAttempt) awaitLease(ctx context.Context) error {
	for h.lease.over(h.worker.opts.Now()) {
		switch {
		case h.lease.lost():
			return errLost
		case h.worker.releases.Load():
			return errReleased
		case ctx.Err() != nil:
			return ctx.Err()
		}
		pause.For(ctx, sayEvery)
	}
	return nil
}

// finish reports the end of the attempt until that is acknowledged, or until
// the engine says that it is not ours any more. The slot that becomes free takes
// the next task.
func (h *heldAttempt) finish(ctx context.Context, f engine.Finish) {
	w := h.worker
	f.Attempt, f.Token, f.Log = h.Attempt.ID, h.Attempt.Token, w.opts.Workspace.Log(h.Task)
	f.Diff = h.diff(ctx)
	var next *engine.Assignment
	var sent time.Time
	r := w.request()
	h.insist(ctx, "finish "+h.Task.Task, func() (err error) {
		sent = w.opts.Now()
		_, next, err = w.opts.Engine.Turn(ctx, f, r)
		return err
	})
	h.retire(ctx, next, sent)
}

// commit commits what the task has left uncommitted. If that fails the task is
// complete all the same: its worktree has the work, and a task that starts from it
// says what is in the way. If the worktree is gone, so is the work: that is returned.
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

// diffWithin bounds how long the end of an attempt may wait for what it has
// changed to be counted.
const diffWithin = 10 * time.Second

// diff is what the attempt has changed, before whatever follows from its end can
// change it further. That it cannot be told is no reason not to report the end.
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
	text, _ := json.Marshal(d) // texts and numbers can always be JSON
	return text
}

// handBack is finish for an attempt that the worker gives up, and others may have.
// Nothing of it runs any more.
func (h *heldAttempt) handBack(ctx context.Context, r runner.Result) {
	w := h.worker
	back := engine.Held{Attempt: h.Attempt.ID, Token: h.Attempt.Token}
	back.Now = engine.Activity{State: string(agent.Running), At: w.opts.Now(), Log: w.opts.Workspace.Log(h.Task), LogFrom: r.LogFrom, Thread: r.Thread, Spent: amountOf(r.Usage)}
	h.insist(ctx, "release "+h.Task.Task, func() error {
		return w.opts.Engine.Release(ctx, w.opts.ID, []engine.Held{back})
	})
	h.retire(ctx, nil, time.Time{})
}

// insist makes a request until it is acknowledged or refused. One that is not
// understood is told of: another version of the coordinator may understand it.
func (h *heldAttempt) insist(ctx context.Context, what string, request func() error) {
	told := false
	for wait := firstPause; ctx.Err() == nil; wait = min(2*wait, lastPause) {
		err := request()
		h.worker.heard(ctx, what, err)
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

// retire is for an attempt that was reported.
func (h *heldAttempt) retire(ctx context.Context, next *engine.Assignment, asked time.Time) {
	w := h.worker
	if ctx.Err() != nil {
		return // whoever takes over reports it
	}
	w.retire(w.folder(h.Attempt.ID))
	w.tell(ctx, func() { w.done(ctx, h, next, asked) })
}

// report is what the next beat says about the attempt.
func (h *heldAttempt) report() engine.Held {
	r := engine.Held{Attempt: h.Attempt.ID, Token: h.Attempt.Token, Now: h.now, Dropped: slices.Clone(h.dropped)}
	for id := range h.questions {
		r.Asking = append(r.Asking, id)
	}
	return r
}

// follow does what the engine orders in answer to a beat that was sent then. What is
// to stop is stopped at once if its lease is over: it goes on no more.
func (h *heldAttempt) follow(o engine.Order, sent time.Time) {
	switch {
	case o.Gone:
		h.lease.lose()
		h.stop(string(failure.Cancelled))
	case o.Stop != "":
		h.stop(o.Stop)
	}
	if o.Lease > 0 && h.lease.renew(o.Lease, sent) {
		h.extendAgain()
	}
	if o.Waits != h.waiting {
		h.waiting = o.Waits
		h.order(func(a *runner.Attempt) { a.Wait(o.Waits) })
	}
	for _, q := range o.Answers {
		asked, waiting := h.questions[q.ID]
		if !waiting {
			continue
		}
		delete(h.questions, q.ID)
		h.order(func(a *runner.Attempt) { a.Answer(asked, answerOf(q)) })
	}
}

func (h *heldAttempt) stop(why string) {
	if h.stopped == "" {
		h.stopped = why
		close(h.stopping)
		h.stopAgain()
	}
}

// stopAgain stops an attempt that was to be stopped before it ran.
func (h *heldAttempt) stopAgain() {
	if h.stopped != "" {
		why := h.stopped
		h.order(func(a *runner.Attempt) { a.Stop(why, false) })
	}
}

// extendAgain has the agent go on as long as its lease, if that ever ends.
func (h *heldAttempt) extendAgain() {
	until := h.lease.ends()
	if h.endless && until.IsZero() {
		return
	}
	h.endless = until.IsZero()
	h.order(func(a *runner.Attempt) {
		if err := a.Extend(until); err != nil {
			h.worker.opts.Notice(fmt.Sprintf("task %s: %v", h.Task.Task, err))
		}
	})
}

// order gives an order to the attempt without waiting until it is followed.
func (h *heldAttempt) order(give func(*runner.Attempt)) {
	if a := h.attempt; a != nil {
		h.worker.running.Go(func() { give(a) })
	}
}

// patience is how long a task's questions wait for a person.
func (h *heldAttempt) patience() (time.Duration, string) {
	spec, err := h.spec()
	if err != nil {
		return 0, ""
	}
	return spec.AnswerTimeout, spec.AnswerDefault
}

// keeps says whether all that a task's agent says last is kept.
func (h *heldAttempt) keeps() bool {
	spec, err := h.spec()
	return err == nil && spec.Keep
}

func specOf(t store.Task) (spec plan.Task, err error) {
	if err := json.Unmarshal(t.Spec, &spec); err != nil {
		return spec, fmt.Errorf("task %s: %w", t.Task, err)
	}
	return spec, nil
}
