package retention

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"gaffer/internal/attempt/runlock"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/engine/store"
	"gaffer/internal/flow/buildrun"
	"gaffer/internal/flow/teamrun"
	"gaffer/internal/record/pending"
)

// keeper decides which old runs must not be deleted.
type keeper struct {
	locks    runlock.Locks
	livePIDs map[string]int    // process id of a live process of each run, by run id; nil until findProcesses runs
	latest   map[string]string // id of the latest run that can be resumed, by kind (team or build) and project
}

// reasonToKeep returns why a run must not be deleted, or "" if it may be deleted.
func (k *keeper) reasonToKeep(r store.Reader, run store.Run) (string, error) {
	if o := k.locks.Owner(run.ID); o.Alive {
		return fmt.Sprintf("gaffer with pid %d works on it", o.PID), nil
	}
	switch _, err := r.Item(pending.Key(run.ID)); {
	case err == nil:
		return "its documents are not written: 'gaffer doctor'", nil
	case !errors.Is(err, store.ErrNotFound):
		return "", err
	}
	if err := k.findProcesses(r); err != nil {
		return "", err
	}
	if pid := k.livePIDs[run.ID]; pid > 0 {
		return fmt.Sprintf("process %d of it is alive: 'gaffer doctor --repair'", pid), nil
	}
	if run.Status == store.Complete {
		return "", nil
	}
	kind, err := resumableAs(run)
	if err != nil || kind == "" {
		return "", err
	}
	latest, err := k.latestOf(r, run, kind)
	if err != nil || latest != run.ID {
		return "", err
	}
	return fmt.Sprintf("it is the latest %s of its project, and can be resumed", kind), nil
}

// findProcesses fills k.livePIDs at its first call. It ignores processes of attempts that are not
// in this store.
func (k *keeper) findProcesses(r store.Reader) error {
	if k.livePIDs != nil {
		return nil
	}
	processes, err := supervisor.ListMarked()
	if err != nil {
		return fmt.Errorf("which agents are alive: %w", err)
	}
	k.livePIDs = map[string]int{}
	for _, p := range processes {
		attempt, err := r.Attempt(p.Attempt)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		k.livePIDs[attempt.Run] = p.PID
	}
	return nil
}

// resumableAs returns "team" for the run of a team, "build" for a build, and "" for any other run.
// Users can resume the latest team run and the latest build of a project from the project's
// documents, even after the run has ended.
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

// latestOf returns the id of the latest run of this kind, or "" if there is none. It considers only
// runs in the same project as the run in the parameter like.
func (k *keeper) latestOf(r store.Reader, like store.Run, kind string) (string, error) {
	key := kind + " " + like.Project
	if id, known := k.latest[key]; known {
		return id, nil
	}
	all, err := r.RunsBefore(endOfTime)
	if err != nil {
		return "", err
	}
	for _, run := range slices.Backward(all) {
		if run.Project != like.Project {
			continue
		}
		if run, err = r.Run(run.ID); err != nil {
			return "", err
		}
		if as, err := resumableAs(run); err != nil || as != kind {
			continue // skip other kinds of runs, and runs whose plan cannot be read
		}
		k.latest[key] = run.ID
		return run.ID, nil
	}
	return "", nil
}

// endOfTime is a time after the end of every run.
var endOfTime = time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC)
