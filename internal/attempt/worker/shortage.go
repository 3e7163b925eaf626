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

// The start of an attempt may fail because this machine lacks processes, memory, open files or disk
// space. Such a failure does not mean that the task itself is faulty. So the worker keeps the
// attempt and tries to start it again, any number of times: after a pause, and whenever another
// attempt has ended. While an attempt waits for resources, the worker claims no tasks, so that no
// more attempts run at once than the machine can handle.
//
// A shortage also harms attempts that are already running. If the start of an agent used up the
// last process that the system allows, the agent fails as soon as it starts a program. And gaffer
// cannot write its documents without free file descriptors. So the worker starts an attempt only if
// enough processes and descriptors remain free, or if no other attempt is running.

// Shortest and longest pause before the worker tries again to start an attempt.
const (
	firstShortagePause = time.Second
	maxShortagePause   = 30 * time.Second
	// shortageNoticeInterval is the minimum interval between two notices of a shortage.
	shortageNoticeInterval = 10 * time.Minute
)

// reservations counts the attempts for which the worker has reserved resources of this machine,
// such as processes and open files. It also remembers whether the user was notified of a shortage.
type reservations struct {
	mu            sync.Mutex
	reserved      int           // number of attempts that this worker has started and that have not ended
	starting      int           // number of attempts whose processes do not all exist yet
	reportedAt    time.Time     // when the user was last notified of a shortage
	endUnreported bool          // the user was notified of a shortage, but not yet of its end
	retryNow      chan struct{} // wakes a waiting attempt when another attempt has ended or started
}

// reserve reserves resources for the start of one more attempt. If no other attempt has resources
// reserved, it always succeeds. Otherwise it returns an error if too few processes or open files
// would be left on this machine.
func (w *Worker) reserve() error {
	s := &w.reservations
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reserved > 0 {
		for _, q := range w.opts.Quotas() {
			if q.Lacks(s.starting + 1) {
				return fmt.Errorf("%d of at most %d %s are left, too few for another task: %w", max(q.Left, 0), q.Max, q.What, q.Err)
			}
		}
	}
	s.reserved++
	s.starting++
	return nil
}

// startCompleted records that an attempt is no longer starting: all its processes exist now, or the
// start has failed.
func (w *Worker) startCompleted() {
	w.reservations.mu.Lock()
	defer w.reservations.mu.Unlock()
	w.reservations.starting--
}

// releaseReservation releases the resources that were reserved for this attempt, which has ended or
// could not be started. It wakes another attempt that waits for resources.
func (h *heldAttempt) releaseReservation() {
	if !h.reserved {
		return
	}
	h.reserved = false
	s := &h.worker.reservations
	s.mu.Lock()
	s.reserved--
	s.mu.Unlock()
	poke(s.retryNow)
}

// shortages returns the system errors which mean that the machine temporarily lacks a resource.
func shortages() []syscall.Errno {
	return []syscall.Errno{syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.ENOSPC, syscall.EDQUOT}
}

// isShortage reports whether err means that an attempt could not be started because the machine
// lacks a resource. It also searches the text of err, because errors of supervisors and of git
// reach this process only as text.
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
	return strings.Contains(text, "failed to create new os thread") // the Go runtime of a crashing supervisor prints this
}

// startFailure returns err if it is not nil. If err is nil, the result r may still say that the
// agent could not be started. Then startFailure returns the reason as an error.
func startFailure(r runner.Result, err error) error {
	if err == nil && r.Class == failure.NotStarted {
		return errors.New(r.Summary)
	}
	return err
}

// awaitResources waits before the next try to start the attempt. It returns true if the caller
// should try again. It returns false if ctx has ended or if the attempt must stop. If the attempt
// must stop, awaitResources also returns the attempt to the engine or reports its end. The
// parameter why is the error of the last try.
func (h *heldAttempt) awaitResources(ctx context.Context, wait time.Duration, why error) bool {
	w := h.worker
	notStarted := fleet.Progress{Process: fleet.Process{LogFrom: runner.LogSize(w.opts.Workspace.Log(h.Task))}}
	if !h.waitsForResources {
		h.waitsForResources = true
		if w.waitingForResources.Add(1) == 1 && w.reservations.shouldReport(w.opts.Now()) {
			w.opts.Notice(fmt.Sprintf("task %s cannot be started now: %v; it is tried again until it can be, no retry is used up, and no more tasks are claimed meanwhile", h.Task.Task, why))
		}
	}
	retrying := runner.Activity{Progress: notStarted}
	retrying.State, retrying.Doing = string(agent.Retrying), "cannot be started now: "+why.Error()
	events{h, ctx}.Doing(retrying)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-w.reservations.retryNow:
		return true
	case <-ctx.Done(): // the next worker process will start the attempt
		h.stopWaitingForResources(ctx)
		return false
	case <-h.stopping:
	}
	h.stopWaitingForResources(ctx)
	if w.releasing.Load() {
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

// stopWaitingForResources records that the attempt no longer waits for resources. If no other
// attempt waits, the worker claims tasks again. It does nothing if the attempt did not wait.
func (h *heldAttempt) stopWaitingForResources(ctx context.Context) {
	if !h.waitsForResources {
		return
	}
	h.waitsForResources = false
	w := h.worker
	poke(w.reservations.retryNow)
	if w.waitingForResources.Add(-1) == 0 && ctx.Err() == nil {
		if w.reservations.shouldReportEnd() {
			w.opts.Notice("tasks can be started again")
		}
		w.Wake()
	}
}

// shouldReport reports whether to notify the user of a shortage now. It allows one notice per
// shortageNoticeInterval.
func (s *reservations) shouldReport(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.reportedAt.IsZero() && now.Sub(s.reportedAt) < shortageNoticeInterval {
		return false
	}
	s.reportedAt, s.endUnreported = now, true
	return true
}

// shouldReportEnd reports whether to notify the user that a shortage has ended. It returns true
// once for each shortage that was reported.
func (s *reservations) shouldReportEnd() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	report := s.endUnreported
	s.endUnreported = false
	return report
}
