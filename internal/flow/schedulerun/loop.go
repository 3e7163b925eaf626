package schedulerun

import (
	"context"
	"fmt"
	"sync"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine/store"
	"gaffer/internal/flow/schedule"
	"gaffer/internal/pause"
)

const (
	lookEvery    = time.Second      // how often the loop checks whether a planned time has come
	processEvery = 30 * time.Second // how often the loop looks for runs that no process works on
	firstRetry   = time.Minute      // how long to wait after the first failed try to start a process for a run
	maxRetry     = time.Hour        // maximum wait between two tries to start a process for a run
)

// retry says when to try again to start a process for a run. The field wait is the time between the
// last try and the next one.
type retry struct {
	at   time.Time
	wait time.Duration
}

// Loop starts the runs of this machine's schedules at their planned times, until ctx ends. A run
// needs a process that works on it, but this process may be missing, for example after the machine
// was off. Loop looks for such runs and starts a process for each of them.
func (s *Schedules) Loop(ctx context.Context) {
	var starts sync.WaitGroup
	defer starts.Wait()
	lastError := ""
	var checked time.Time
	for {
		err := s.Step(ctx, func(work func()) { starts.Go(work) })
		if since := time.Since(checked); err == nil && since >= processEvery {
			checked = time.Now()
			starts.Go(func() { s.ensureProcesses(ctx) })
		}
		switch {
		case err == nil:
			lastError = ""
		case ctx.Err() == nil && err.Error() != lastError:
			lastError = err.Error()
			s.opts.Notice("schedules: " + lastError)
		}
		if !pause.For(ctx, lookEvery) {
			return
		}
	}
}

// Step checks the schedules of this machine and user once, and starts the runs whose time has come.
// It ignores schedules whose runs are started by another program, such as cron. For each run, Step
// calls background with a function that starts the run. background must call this function in a new
// goroutine.
func (s *Schedules) Step(ctx context.Context, background func(work func())) error {
	var all []schedule.Schedule
	err := s.opts.Store.Read(ctx, func(r store.Reader) (err error) {
		all, err = read(r, false)
		return err
	})
	if err != nil {
		return err
	}
	now := s.opts.Now()
	for _, n := range all {
		if !s.mine(n) || n.Exporter != "" || !n.NeedsDecision(now) {
			continue
		}
		decided, start, err := s.decide(ctx, n.Name)
		if err != nil {
			return err
		}
		for _, fire := range start {
			background(func() { s.startInLoop(ctx, decided, fire) })
		}
	}
	return nil
}

func (s *Schedules) startInLoop(ctx context.Context, n schedule.Schedule, fire string) {
	run, err := s.start(ctx, n, fire)
	if err != nil {
		if ctx.Err() == nil {
			s.opts.Notice(fmt.Sprintf("schedule %s: no run was started: %v", n.Name, err))
		}
		return
	}
	if run == "" {
		s.opts.Notice(fmt.Sprintf("schedule %s: nothing to do", n.Name))
		return
	}
	s.opts.Notice(fmt.Sprintf("schedule %s: run %s has started", n.Name, run))
	s.ensureProcess(ctx, n.Name, run)
}

// ensureProcesses starts a process for each run of this machine's schedules that has not ended and
// that no process works on.
func (s *Schedules) ensureProcesses(ctx context.Context) {
	list, err := s.List(ctx, false)
	if err != nil {
		return // ignore the error: Step gets the same error, and Loop reports it
	}
	for _, n := range list {
		if n.Machine != s.opts.Machine || n.User != s.opts.User {
			continue
		}
		for _, f := range n.Fires {
			if f.Run != "" && f.RunStatus == fleet.Running {
				s.ensureProcess(ctx, n.Name, f.Run)
			}
		}
	}
}

// ensureProcess starts a process for a run, unless a process already works on the run. After a
// failure, it does nothing until a waiting time has passed. The waiting time doubles with each
// failure.
func (s *Schedules) ensureProcess(ctx context.Context, name, run string) {
	s.mu.Lock()
	last, failed := s.retries[run]
	s.mu.Unlock()
	if failed && time.Now().Before(last.at) || ctx.Err() != nil {
		return
	}
	err := s.opts.EnsureProcess(ctx, run)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil || ctx.Err() != nil {
		delete(s.retries, run)
		return
	}
	wait := firstRetry
	if failed {
		wait = min(2*last.wait, maxRetry)
	}
	s.retries[run] = retry{time.Now().Add(wait), wait}
	s.opts.Notice(fmt.Sprintf("schedule %s: %v", name, err))
}
