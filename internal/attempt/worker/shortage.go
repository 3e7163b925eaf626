package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"

	"gaffer/fleet"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/runner"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
)

// A start that fails because this machine lacks processes, memory, open files or disk
// space says nothing about the task. So the worker keeps the attempt and tries to
// start it again, without a limit: after a pause, and whenever another attempt has
// ended. While an attempt waits for resources, the worker claims nothing, so that no
// more attempts run at once than the machine can handle.
//
// That does not help attempts that are already running. An agent that was started with
// the last free process fails as soon as it starts a program, and a gaffer without
// free descriptors cannot write documents. So an attempt is only started if processes
// and descriptors to spare remain, unless it is the only one.

// The pauses before an attempt is started again.
const (
	firstShortage = time.Second
	lastShortage  = 30 * time.Second
	// tellShortageEvery is the minimum interval between two notices of a shortage.
	tellShortageEvery = 10 * time.Minute
)

// startable counts the attempts that were started.
type startable struct {
	mu       sync.Mutex
	begun    int           // attempts that this worker has started and that have not ended
	starting int           // those of them whose processes do not all exist yet
	told     time.Time     // when a shortage was last reported
	tells    bool          // a shortage was reported, and its end was not
	resumed  chan struct{} // signals a waiting attempt that another one has ended or started
}

// reserve reserves resources for one more attempt. It fails if the limits of this
// machine leave too little. The only attempt is never refused.
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

// appeared records that the processes of a starting attempt exist.
func (w *Worker) appeared() {
	w.starts.mu.Lock()
	defer w.starts.mu.Unlock()
	w.starts.starting--
}

// giveBack releases the reservation of an attempt that has ended.
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

// shortages lists the errors of a machine that temporarily lacks a resource.
func shortages() []syscall.Errno {
	return []syscall.Errno{syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.ENOSPC, syscall.EDQUOT}
}

// isShortage reports whether a start failed because the machine lacks a resource. It
// also compares texts, because the errors of supervisors and of git are only texts.
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
	return strings.Contains(text, "failed to create new os thread") // from the crash report of a supervisor
}

// neverStarted returns an error also for a result that says that the agent could not
// be started.
func neverStarted(r runner.Result, err error) error {
	if err == nil && r.Class == failure.NotStarted {
		return errors.New(r.Summary)
	}
	return err
}

// awaitRoom waits before the attempt is started again, and reports whether to start
// it. If not, its end was reported, or ctx has ended.
func (h *heldAttempt) awaitRoom(ctx context.Context, wait time.Duration, why error) bool {
	w := h.worker
	notStarted := fleet.Progress{Process: fleet.Process{LogFrom: runner.LogSize(w.opts.Workspace.Log(h.Task))}}
	if !h.short {
		h.short = true
		if w.short.Add(1) == 1 && w.starts.tell(w.opts.Now()) {
			w.opts.Notice(fmt.Sprintf("task %s cannot be started now: %v; it is tried again until it can be, no retry is used up, and no more tasks are claimed meanwhile", h.Task.Task, why))
		}
	}
	retrying := runner.Activity{Progress: notStarted}
	retrying.State, retrying.Doing = string(agent.Retrying), "cannot be started now: "+why.Error()
	owner{h, ctx}.Doing(retrying)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-w.starts.resumed:
		return true
	case <-ctx.Done(): // another worker process will start it
		h.started(ctx)
		return false
	case <-h.stopping:
	}
	h.started(ctx)
	if w.releases.Load() {
		h.handBack(ctx, runner.Result{Progress: notStarted})
		return false
	}
	if h.endAll(ctx) {
		h.finish(ctx, engine.Finish{Progress: notStarted, Ending: fleet.Ending{
			Class: failure.Cancelled, Summary: "it was ended before it could be started: " + why.Error(), Exit: -1,
		}})
	}
	return false
}

// started records that the attempt no longer waits for resources.
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

// tell reports whether to notify the user of a shortage: at most once in
// tellShortageEvery.
func (s *startable) tell(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.told.IsZero() && now.Sub(s.told) < tellShortageEvery {
		return false
	}
	s.told, s.tells = now, true
	return true
}

// over reports whether to notify the user that the shortage has ended: once for each
// reported shortage.
func (s *startable) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	tells := s.tells
	s.tells = false
	return tells
}
