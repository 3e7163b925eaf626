package protocol

import (
	"context"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/api/server"
	"gaffer/internal/engine/store"
)

var _ server.Counter = (*Service)(nil)

// Figures implements [server.Counter] for everything in the store. It takes the numbers
// of unfinished tasks from the rows of their runs, and reads only an index for the
// others.
func (d *Service) Figures(ctx context.Context) (f server.Figures, err error) {
	err = d.store.Read(ctx, func(r store.Reader) error {
		f = server.Figures{Tasks: map[coordinator.TaskStatus]int{}, Writes: &d.writes}
		for _, count := range []func(store.Reader, *server.Figures) error{d.countAgents, countQuestions, countRuns, countEnded, countLanes} {
			if err := count(r, &f); err != nil {
				return err
			}
		}
		return nil
	})
	return f, err
}

func (d *Service) countAgents(r store.Reader, f *server.Figures) error {
	workers, err := r.Workers()
	now := d.now()
	for _, w := range workers {
		if w.Created.IsZero() || !w.Left.IsZero() || now.Sub(w.Seen) >= coordinator.OfflineAfter {
			continue
		}
		f.AgentsOnline++
		if w.Status == coordinator.Waiting {
			asked(f, w.Said)
		}
	}
	return err
}

// asked updates the time since which the oldest question waits.
func asked(f *server.Figures, since time.Time) {
	if f.Waiting.IsZero() || since.Before(f.Waiting) {
		f.Waiting = since
	}
}

func countQuestions(r store.Reader, f *server.Figures) error {
	questions, err := r.Questions(true)
	for _, q := range questions {
		asked(f, q.Asked)
	}
	return err
}

// countRuns does not count the runs of channels and chains, which never end, but counts
// their tasks.
func countRuns(r store.Reader, f *server.Figures) error {
	runs, err := r.RunningRuns()
	for _, run := range runs {
		f.Tasks[coordinator.InProgress] += run.Active
		f.Tasks[coordinator.Queued] += run.Open - run.Active
		if !ours(run.ID) {
			f.Runs++
		}
	}
	return err
}

func countEnded(r store.Reader, f *server.Figures) error {
	counts, err := r.EndedCounts()
	for in, n := range counts {
		f.Tasks[statuses[in]] += n
	}
	return err
}

func countLanes(r store.Reader, f *server.Figures) error {
	lanes, err := r.Lanes()
	for _, l := range lanes {
		if !l.Until.IsZero() {
			f.LanesPaused++
		}
	}
	return err
}
