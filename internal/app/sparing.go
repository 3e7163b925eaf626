package app

import (
	"errors"
	"slices"
	"time"

	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/engine/store"
	"gaffer/internal/flow/buildrun"
	"gaffer/internal/flow/teamrun"
)

// look finds live processes of attempts that this store knows.
func (s *sparing) look(r store.Reader) error {
	if s.alive != nil {
		return nil
	}
	s.alive = map[string]int{}
	for _, p := range supervisor.Living() {
		attempt, err := r.Attempt(p.Attempt)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		s.alive[attempt.Run] = p.PID
	}
	return nil
}

// resumableAs returns the kind ("team" or "build") of a run that a user can continue
// from the project's documents even after it has ended. A project has one of each kind
// at a time. It returns "" for other runs.
func resumableAs(run store.Run) (kind string, err error) {
	if run.Conducted {
		start, err := teamrun.StartOf(run)
		if err != nil || start == nil {
			return "", err
		}
		return "team", nil
	}
	b, err := buildrun.BuildOf(run)
	if err != nil || b == nil {
		return "", err
	}
	return "build", nil
}

// latest returns the latest run of that kind in the run's project.
func (s *sparing) latest(r store.Reader, of store.Run, kind string) (string, error) {
	key := kind + " " + of.Project
	if id, known := s.resumable[key]; known {
		return id, nil
	}
	all, err := r.RunsBefore(endOfTime)
	if err != nil {
		return "", err
	}
	for _, run := range slices.Backward(all) {
		if run.Project != of.Project {
			continue
		}
		if run, err = r.Run(run.ID); err != nil {
			return "", err
		}
		if as, err := resumableAs(run); err != nil || as != kind {
			continue // an unreadable run cannot be resumed
		}
		s.resumable[key] = run.ID
		return run.ID, nil
	}
	return "", nil
}

// endOfTime is later than the end of every run.
var endOfTime = time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC)
