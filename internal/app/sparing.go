package app

import (
	"errors"
	"slices"
	"time"

	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/engine/store"
	"gaffer/internal/flow/teamrun"
)

// look finds processes of attempts that this store knows.
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

// resumableAs says what a run is that a person can go on with from a project's
// documents, although it has ended: there is one of each kind at a time.
func resumableAs(run store.Run) (kind string, err error) {
	if run.Conducted {
		start, err := teamrun.StartOf(run)
		if err != nil || start == nil {
			return "", err
		}
		return "team", nil
	}
	b, err := buildOf(run)
	if err != nil || b == nil {
		return "", err
	}
	return "build", nil
}

// latest is the latest run of that kind in a run's project.
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
			continue // what cannot be read cannot be resumed
		}
		s.resumable[key] = run.ID
		return run.ID, nil
	}
	return "", nil
}

// endOfTime is after every run's end.
var endOfTime = time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC)
