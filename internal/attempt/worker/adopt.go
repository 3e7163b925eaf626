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

// Adopt makes this worker responsible for the attempts in assigned. According to the store, these
// attempts belong to this worker. An earlier process of the worker may have started them. Before
// Adopt returns, it ends all other attempts that have a folder in Options.Attempts. The caller must
// call Adopt before Run, and in only one process at a time. It must do so immediately after it has
// read assigned from the store, because Adopt counts the remaining time of each lease from the time
// of the call.
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

// Collect waits until the attempts in running have ended, and reports their results to the engine.
// It is called instead of Run, for attempts that no gaffer process works on any more. It claims no
// tasks. If the engine orders it to stop an attempt, it does so. It reports an attempt as lost if
// the attempt's agent was never started.
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
