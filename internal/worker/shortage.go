package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"gaffer/internal/agent"
	"gaffer/internal/engine"
	"gaffer/internal/failure"
	"gaffer/internal/runner"
)

// A start that fails because this machine lacks processes, memory, open files or
// room on its disk says nothing about the task. The attempt goes on: its start is
// tried again, however often. While one waits for that, the worker claims nothing,
// so that no more run at once than the machine bears.

// The pauses before an attempt is started again.
const (
	firstShortage = time.Second
	lastShortage  = 30 * time.Second
)

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
func (h *held) awaitRoom(ctx context.Context, wait time.Duration, why error) bool {
	w := h.worker
	from := runner.LogSize(w.opts.Place.Log(h.Task))
	if !h.short {
		h.short = true
		if w.short.Add(1) == 1 {
			w.opts.Notice(fmt.Sprintf("task %s cannot be started now: %v; it is tried again until it can be, no retry is used up, and no more tasks are claimed meanwhile", h.Task.Task, why))
		}
	}
	owner{h, ctx}.Doing(runner.Activity{State: agent.Retrying, Doing: "cannot be started now: " + why.Error(), LogFrom: from})
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
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
func (h *held) started(ctx context.Context) {
	if !h.short {
		return
	}
	h.short = false
	if w := h.worker; w.short.Add(-1) == 0 && ctx.Err() == nil {
		w.opts.Notice("tasks can be started again")
		w.Wake()
	}
}
