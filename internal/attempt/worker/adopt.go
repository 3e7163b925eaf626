package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"gaffer/internal/attempt/runner"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/engine"
)

// Adopt takes over the attempts in assigned, which belong to this worker according to the store.
// Before it returns, it ends all other attempts whose folders are in Options.Attempts. It must be
// called before Run, by one process at a time, and immediately after assigned was read from the
// store, because leases are counted from this call.
func (w *Worker) Adopt(ctx context.Context, assigned []engine.Assignment) error {
	asked := w.opts.Now()
	known := map[string]bool{}
	for _, a := range assigned {
		known[a.Attempt.ID] = true
	}
	if left := supervisor.SweepGroups(w.opts.Home); len(left) > 0 {
		w.opts.Notice(fmt.Sprintf("processes %v of an attempt that is over cannot be ended", left))
	}
	entries, err := os.ReadDir(w.opts.Attempts)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if known[e.Name()] || strings.HasSuffix(e.Name(), doneSuffix) {
			continue
		}
		if err := endStale(ctx, w.folder(e.Name()), e.Name(), w.opts); err != nil {
			return err
		}
	}
	for _, a := range assigned {
		w.hold(a, asked)
	}
	w.beatTimer.dirty = len(assigned) > 0
	return nil
}

// Collect reports the ends of attempts that no gaffer process works on. It is called instead of
// Run, and claims nothing. It reports attempts that were never started as lost. It waits for
// attempts that are still running, and stops them if the engine orders it.
func (w *Worker) Collect(ctx context.Context, running []engine.Assignment) error {
	asked := w.opts.Now()
	for _, a := range running {
		w.hold(a, asked)
	}
	w.collecting, w.beatTimer.dirty = true, true
	w.draining.Store(true)
	return w.Run(ctx)
}

// endStale ends the processes of an attempt that is over according to the store. Then it appends
// doneSuffix to the name of the attempt's folder.
func endStale(ctx context.Context, dir, attempt string, opts Options) error {
	if err := runner.End(ctx, dir, attempt, runner.Options{Now: opts.Now, Supervisor: opts.Supervisor}); err != nil {
		return fmt.Errorf("end attempt %s, which is over: %w", attempt, err)
	}
	return os.Rename(dir, dir+doneSuffix)
}
