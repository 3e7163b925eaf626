package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/byhand/caller"
	"gaffer/internal/engine/store"
)

// Unproven is an attempt whose supervisor has died, and which may still have running processes. Its
// task is not retried until gaffer has proof that these processes have ended, or until the user
// declares that they have.
type Unproven struct {
	Attempt   string            `json:"attempt"`
	Run       string            `json:"run,omitempty"`
	Task      string            `json:"task,omitempty"`
	Since     time.Time         `json:"since,omitzero"` // when gaffer first failed to prove that no process is running
	Why       string            `json:"why"`            // which processes may still be running, and what the user can do about them
	Processes []supervisor.Left `json:"processes"`
}

// attemptFolders returns the paths of the folders in which gaffer keeps the data of attempts on
// this machine: one folder for each worker that was started with 'gaffer worker', and one for all
// runs that only this machine executes.
func attemptFolders(state string) []string {
	homes, _ := filepath.Glob(filepath.Join(state, "workers", "*", "attempts")) // ignore the error: the only error would be an invalid pattern
	return append(homes, filepath.Join(state, "attempts"))
}

// findOrphans returns the running processes of attempts that have ended according to the database.
// It skips attempts that are not in the database, because they may belong to another database and
// still be running.
func findOrphans(ctx context.Context, db store.Store) ([]Orphan, error) {
	orphans := []Orphan{}
	processes, err := supervisor.ListMarked()
	if err != nil {
		return orphans, err
	}
	err = db.Read(ctx, func(r store.Reader) error {
		for _, p := range processes {
			attempt, err := r.Attempt(p.Attempt)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			if attempt.Status.Final() {
				orphans = append(orphans, Orphan{p.PID, p.Attempt, p.Command, attempt.Run, attempt.Task})
			}
		}
		return nil
	})
	return orphans, err
}

// endOrphans ends the processes in h.Orphans and empties that list. If a process cannot be ended,
// endOrphans stops, returns an error and leaves the list unchanged.
func (h *Health) endOrphans() error {
	for _, o := range h.Orphans {
		left, err := supervisor.Sweep(o.Attempt)
		if err != nil {
			return err
		}
		if len(left) > 0 {
			return fmt.Errorf("processes %v of attempt %s cannot be ended", left, o.Attempt)
		}
	}
	h.Orphans = []Orphan{}
	return nil
}

// findLeftBehind looks for attempts whose supervisors have died. If repair is true, it first ends
// the processes that certainly belong to these attempts. Then it adds the remaining processes to
// h.Orphans. If it is unknown whether an attempt has processes, it adds the attempt to h.Unproven.
// db is nil if there is no database, or if it cannot be opened. In both cases the new entries have
// no run and no task.
func (h *Health) findLeftBehind(ctx context.Context, db store.Store, state string, repair bool) {
	if repair {
		if err := endLeftBehind(state); err != nil {
			h.addProblem("not everything that attempts have left behind was ended", err)
		}
	}
	add := func(p supervisor.Marked) {
		if slices.ContainsFunc(h.Orphans, func(o Orphan) bool { return o.PID == p.PID }) {
			return
		}
		run, task := taskOf(ctx, db, p.Attempt)
		h.Orphans = append(h.Orphans, Orphan{PID: p.PID, Attempt: p.Attempt, Command: p.Command, Run: run, Task: task})
	}
	for _, home := range attemptFolders(state) {
		for _, p := range supervisor.ListAbandoned(home) {
			add(p)
		}
		for _, o := range supervisor.FindOrphaned(home) {
			switch o.Remains.Proof {
			case supervisor.Remaining:
				for _, p := range o.Remains.Processes {
					add(supervisor.Marked{PID: p.PID, Attempt: o.Attempt, Command: p.Command})
				}
			case supervisor.Unproven:
				run, task := taskOf(ctx, db, o.Attempt)
				why := &supervisor.UnprovenError{Attempt: o.Attempt, Remains: o.Remains}
				h.Unproven = append(h.Unproven, Unproven{
					Attempt: o.Attempt, Run: run, Task: task, Since: o.Since, Why: fmt.Sprintf("%v; %s", why, why.Hint()), Processes: o.Remains.Processes,
				})
			}
		}
	}
}

// endLeftBehind looks for attempts whose supervisors have died, and ends the processes that
// certainly belong to these attempts.
func endLeftBehind(state string) error {
	var errs []error
	for _, home := range attemptFolders(state) {
		left := supervisor.SweepGroups(home)
		for _, o := range supervisor.FindOrphaned(home) {
			if o.Remains.Proof != supervisor.Remaining {
				continue
			}
			some, err := supervisor.EndOrphaned(o)
			left, errs = append(left, some...), append(errs, err)
		}
		if len(left) > 0 {
			errs = append(errs, fmt.Errorf("processes %v cannot be ended", left))
		}
	}
	return errors.Join(errs...)
}

// taskOf returns the run and the task of an attempt, or empty strings if they are unknown.
func taskOf(ctx context.Context, db store.Store, attempt string) (run, task string) {
	if db == nil {
		return "", ""
	}
	_ = db.Read(ctx, func(r store.Reader) error { // only for display, so ignore errors; the attempt's id is shown anyway
		if known, err := r.Attempt(attempt); err == nil {
			run, task = known.Run, known.Task
		}
		return nil
	})
	return run, task
}

// NotUnprovenError reports that [DeclareGone] was refused. Either gaffer knows that processes of
// the attempt are running, or gaffer needs no proof that the attempt has ended.
type NotUnprovenError struct {
	Attempt string
	Alive   []supervisor.Left // processes of the attempt that are known to be running
}

func (e *NotUnprovenError) Error() string {
	if len(e.Alive) > 0 {
		return fmt.Sprintf("attempt %s is not gone: %v is alive", e.Attempt, e.Alive[0])
	}
	return fmt.Sprintf("no attempt %s waits for a proof that it has ended", e.Attempt)
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (*NotUnprovenError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *NotUnprovenError) Hint() string {
	if len(e.Alive) > 0 {
		return "'gaffer doctor --repair' ends it"
	}
	return "'gaffer doctor' lists those that do"
}

// DeclareGone stores the user's statement that no process of an attempt is running any more. Then
// gaffer can retry the attempt's task. DeclareGone returns a [*NotUnprovenError] if the statement
// is false or not needed. It returns a [*caller.RefusedError] if this process runs inside the
// attempt.
func DeclareGone(state, attempt string, now time.Time) error {
	not := &NotUnprovenError{Attempt: attempt}
	declared := false
	for _, home := range attemptFolders(state) {
		for _, o := range supervisor.FindOrphaned(home) {
			switch {
			case o.Attempt != attempt || o.Remains.Proof == supervisor.Gone:
				continue
			case o.Remains.Proof == supervisor.Remaining:
				not.Alive = o.Remains.Processes
				return not
			case o.Remains.ContainsAncestorOf(os.Getpid()): // the command itself runs inside this attempt, so the attempt is alive
				return &caller.RefusedError{What: "gaffer doctor --gone", Agent: "agent of attempt " + attempt}
			}
			if err := supervisor.DeclareGone(o.Dir, now); err != nil {
				return err
			}
			declared = true
		}
	}
	if !declared {
		return not
	}
	return nil
}
