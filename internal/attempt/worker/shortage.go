package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"

	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/runner"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
)

// A start that fails because this machine lacks processes, memory, open files or
// room on its disk says nothing about the task. The attempt goes on: its start is
// tried again, however often, after a pause and whenever another attempt has ended.
// While one waits for that, the worker claims nothing, so that no more run at once
// than the machine bears.
//
// That does not help what was started already: an agent that was started with the
// last process fails as soon as it starts a program, and a gaffer without open files
// cannot write documents. So an attempt is only started with processes and files to
// spare, unless it is the only one.

// The pauses before an attempt is started again.
const (
	firstShortage = time.Second
	lastShortage  = 30 * time.Second
	// tellShortageEvery is how soon a shortage is reported again.
	tellShortageEvery = 10 * time.Minute
)

// startable keeps account of what is started.
type startable struct {
	mu       sync.Mutex
	begun    int           // attempts that this worker has started and that have not ended
	starting int           // those of them whose processes are not all there yet
	told     time.Time     // when a shortage was last reported
	tells    bool          // and its end was not
	resumed  chan struct{} // an attempt has ended or was started: one that waits tries again
}

// reserve makes sure that the limits of this machine leave room for one more attempt.
func (w *Worker) reserve() error {
	s := &w.starts
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun > 0 {
		for _, q := range w.opts.Quotas() {
			if q.Lacks(s.starting + 1) {
				return fmt.Errorf("%d of at most %d %s are left, too few for another task: %w", max(q.Left, 0), q.Max, q.What, q.Err)
			}
		}
	}
	s.begun++
	s.starting++
	return nil
}

// appeared says that what was reserved for an attempt is in use.
func (w *Worker) appeared() {
	w.starts.mu.Lock()
	defer w.starts.mu.Unlock()
	w.starts.starting--
}

// giveBack says that an attempt has ended for which room was reserved.
func (h *heldAttempt) giveBack() {
	if !h.reserved {
		return
	}
	h.reserved = false
	s := &h.worker.starts
	s.mu.Lock()
	s.begun--
	s.mu.Unlock()
	poke(s.resumed)
}

// shortages are the errors of a machine that lacks something now.
func shortages() []syscall.Errno {
	return []syscall.Errno{syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.ENOSPC, syscall.EDQUOT}
}

// isShortage reports whether a start failed because the machine lacks something. The
// reasons of a supervisor, and of git, come as texts.
func isShortage(err error) bool {
	if err == nil {
		return false
	}
	text := strings.ToLower(err.Error())
	for _, e := range shortages() {
		if errors.Is(err, e) || strings.Contains(text, strings.ToLower(e.Error())) {
			return true
		}
	}
	return strings.Contains(text, "failed to create new os thread") // a supervisor's last words
}

// neverStarted is the result of an agent that could not be started, as an error.
func neverStarted(r runner.Result, err error) error {
	if err == nil && r.Class == failure.NotStarted {
		return errors.New(r.Summary)
	}
	return err
}

// awaitRoom waits before the attempt is started again, and reports whether it is to
// be: otherwise its end was reported.
func (h *heldAttempt) awaitRoom(ctx context.Context, wait time.Duration, why error) bool {
	w := h.worker
	from := runner.LogSize(w.opts.Workspace.Log(h.Task))
	if !h.short {
		h.short = true
		if w.short.Add(1) == 1 && w.starts.tell(w.opts.Now()) {
			w.opts.Notice(fmt.Sprintf("task %s cannot be started now: %v; it is tried again until it can be, no retry is used up, and no more tasks are claimed meanwhile", h.Task.Task, why))
		}
	}
	owner{h, ctx}.Doing(runner.Activity{State: agent.Retrying, Doing: "cannot be started now: " + why.Error(), LogFrom: from})
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-w.starts.resumed:
		return true
	case <-ctx.Done(): // another worker starts it
		h.started(ctx)
		return false
	case <-h.stopping:
	}
	h.started(ctx)
	if w.releases.Load() {
		h.handBack(ctx, runner.Result{LogFrom: from})
		return false
	}
	if h.endAll(ctx) {
		h.finish(ctx, engine.Finish{Class: failure.Cancelled, Summary: "it was ended before it could be started: " + why.Error(), Exit: -1, LogFrom: from})
	}
	return false
}

// started says that the attempt does not wait for room any more.
func (h *heldAttempt) started(ctx context.Context) {
	if !h.short {
		return
	}
	h.short = false
	w := h.worker
	poke(w.starts.resumed)
	if w.short.Add(-1) == 0 && ctx.Err() == nil {
		if w.starts.over() {
			w.opts.Notice("tasks can be started again")
		}
		w.Wake()
	}
}

// tell reports whether a shortage is to be reported: not again within a short time.
func (s *startable) tell(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.told.IsZero() && now.Sub(s.told) < tellShortageEvery {
		return false
	}
	s.told, s.tells = now, true
	return true
}

// over reports whether the end of a shortage is to be reported: once for each
// shortage that was.
func (s *startable) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	tells := s.tells
	s.tells = false
	return tells
}
