package protocol

import (
	"context"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/api/server"
	"gaffer/internal/engine/store"
)

// Metrics implements [server.Protocol] for all runs in the store. To avoid reading all tasks, it
// takes the counts of unfinished tasks from the rows of their runs, and lets the store count the
// ended tasks.
func (d *Service) Metrics(ctx context.Context) (f server.ServiceMetrics, err error) {
	now := d.agentService.now()
	err = d.db.store.Read(ctx, func(r store.Reader) error {
		f = server.ServiceMetrics{Tasks: map[coordinator.TaskStatus]int{}, Writes: &d.db.writes}
		// The function waits sets f.Waiting to since if f.Waiting is not set yet or is later. So
		// f.Waiting becomes the earliest of all these times.
		waits := func(since time.Time) {
			if f.Waiting.IsZero() || since.Before(f.Waiting) {
				f.Waiting = since
			}
		}
		workers, err := r.Workers()
		if err != nil {
			return err
		}
		for _, w := range workers {
			if w.Created.IsZero() || !w.Left.IsZero() || now.Sub(w.Seen) >= coordinator.OfflineAfter {
				continue
			}
			f.AgentsOnline++
			if w.Status == coordinator.Waiting {
				waits(w.StatusReported)
			}
		}
		questions, err := r.Questions(true)
		if err != nil {
			return err
		}
		for _, q := range questions {
			waits(q.Asked)
		}
		runs, err := r.RunningRuns()
		if err != nil {
			return err
		}
		for _, run := range runs {
			f.Tasks[coordinator.InProgress] += run.Active
			f.Tasks[coordinator.Queued] += run.Open - run.Active
			// Count only the runs that users submitted, not those of channels and chains.
			if !OwnsRun(run.ID) {
				f.Runs++
			}
		}
		ended, err := r.EndedTaskCounts()
		if err != nil {
			return err
		}
		for status, n := range ended {
			f.Tasks[statuses[status]] += n
		}
		lanes, err := r.Accounts()
		for _, l := range lanes {
			if !l.Until.IsZero() {
				f.LanesPaused++
			}
		}
		return err
	})
	return f, err
}
