package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"gaffer/internal/attempt/runlock"
	"gaffer/internal/attempt/tmux"
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/pause"
	"gaffer/internal/plan"
)

// Way says whether dispatched agents run in a terminal.
type Way int

// Values of Way.
const (
	BestWay  Way = iota // in tmux if tmux is installed
	InTmux              // in tmux; fail if tmux is missing
	Headless            // never in a terminal
)

// Dispatch is a request to run a set of beads.
type Dispatch struct {
	Plan  plan.Plan // each task has a Dispatch that names its bead
	Way   Way
	Force bool // first end the agent that holds a bead, with all its processes
}

// Dispatch submits beads as one run and returns its id. If a bead already has an agent
// it returns an [*engine.HeldError] and submits nothing, unless d.Force is set.
func (a *App) Dispatch(ctx context.Context, d Dispatch) (string, error) {
	terminal, err := a.way(ctx, d.Way)
	if err != nil {
		return "", err
	}
	for i := range d.Plan.Tasks {
		if d.Plan.Tasks[i], err = a.bead(d.Plan.Tasks[i], terminal); err != nil {
			return "", err
		}
		if err := canBranch(ctx, d.Plan.Tasks[i]); err != nil {
			return "", fmt.Errorf("bead %s: %w", d.Plan.Tasks[i].ID, err)
		}
	}
	for {
		run, err := a.Submit(ctx, d.Plan)
		held := (*engine.HeldError)(nil)
		if !errors.As(err, &held) || !d.Force {
			return run, err
		}
		a.opts.Notice(fmt.Sprintf("%v: ending it", held))
		if err := a.end(ctx, held.By.Run, held.By.Task, "dispatched again with --force"); err != nil {
			return "", fmt.Errorf("end bead %s of run %s: %w", held.Bead, held.By.Run, err)
		}
	}
}

// way reports whether agents get a terminal.
func (a *App) way(ctx context.Context, w Way) (terminal bool, err error) {
	if w == Headless {
		return false, nil
	}
	err = tmux.Available(ctx)
	if err != nil && w == BestWay {
		a.opts.Notice(fmt.Sprintf("%v; agents run without a terminal, and 'gaffer logs BEAD -f' shows them", err))
		return false, nil
	}
	return err == nil, err
}

// bead fills in the fields of a task's Dispatch: ledger, repository, number of earlier
// attempts and tmux session.
func (a *App) bead(t plan.Task, terminal bool) (_ plan.Task, err error) {
	d := *t.Dispatch
	d.Ledger = a.ledgerDir()
	if d.Repo == "" {
		d.Repo = a.opts.Project.Root
	}
	if d.Repo, err = filepath.Abs(d.Repo); err != nil {
		return t, err
	}
	if d.Earlier, err = a.ledger.Latest(d.Bead); err != nil {
		return t, err
	}
	d.Session = ""
	if terminal {
		d.Session = tmux.SessionName(d.Bead)
	}
	t.Dispatch = &d
	return t, nil
}

// canBranch returns an error if no worktree can be created in the bead's repository, so
// that the user learns it before anything starts.
func canBranch(ctx context.Context, t plan.Task) error {
	if !t.Worktree && t.Branch == "" {
		return nil
	}
	repo, err := worktree.Open(ctx, t.Dispatch.Repo)
	if err != nil {
		return err
	}
	_, err = repo.Base(ctx, "")
	return err
}

// endWithin is the time limit for ending an agent with all its processes.
const endWithin = 2 * time.Minute

// end cancels a task of a run, or the whole run if task is empty. It returns when none
// of its processes runs any more. If no gaffer works on the run, it ends the attempts
// itself.
func (a *App) end(ctx context.Context, run, task, why string) error {
	ctx, cancel := context.WithTimeout(ctx, endWithin)
	defer cancel()
	err := a.Fleet.Cancel(ctx, run, task, why)
	if late := (*engine.ConflictError)(nil); err != nil && !errors.As(err, &late) {
		return err
	}
	for {
		ended, err := a.hasEnded(ctx, run, task)
		if ended || err != nil {
			return err
		}
		err = a.collect(ctx, run, func(t store.Task) bool { return task == "" || t.Task == task })
		owned, owed := (*runlock.OwnedError)(nil), (*OwedError)(nil) // owed documents were reported and keep nothing from ending
		if err != nil && !errors.As(err, &owned) && !errors.As(err, &owed) {
			return err
		}
		pause.For(ctx, watchEvery)
	}
}

// hasEnded reports whether a task of a run has ended, or the run if task is empty.
func (a *App) hasEnded(ctx context.Context, run, task string) (ended bool, err error) {
	err = a.store.Read(ctx, func(r store.Reader) error {
		if task == "" {
			row, err := r.Run(run)
			ended = row.Status.Final()
			return err
		}
		row, err := r.Task(store.TaskKey{Run: run, Task: task})
		ended = row.Status.Final()
		return err
	})
	return ended, err
}

// endRun cancels a run and waits until it has ended.
func (a *App) endRun(ctx context.Context, run, why string) error { return a.end(ctx, run, "", why) }

// collect waits for the running attempts of a run that want selects, and records how
// they ended. It starts nothing. It returns an [*runlock.OwnedError] if another gaffer works on
// the run. It returns an [*OwedError] if everything was recorded in the store but
// documents could not be written.
func (a *App) collect(ctx context.Context, run string, want func(store.Task) bool) error {
	release, err := a.locks.Lock(ctx, run)
	if err != nil {
		return err
	}
	defer release()
	s, running, err := a.look(ctx, run)
	if err != nil {
		return err
	}
	var wanted []engine.Assignment
	for _, r := range running {
		if want(r.Task) {
			wanted = append(wanted, r)
		}
	}
	if err := a.owe(ctx, run, ""); err != nil {
		return err
	}
	if err := s.worker.Collect(ctx, wanted); err != nil {
		return err
	}
	flushed := s.flush(ctx)
	a.concluded(ctx, run, flushed)
	if flushed == nil {
		return nil
	}
	r, err := a.Fleet.Run(ctx, run)
	if err != nil {
		return err
	}
	return &OwedError{Owed{Run: run, Project: r.Project, Since: r.Ended, Why: oneLine(flushed)}}
}

// writeDocuments writes the documents of a run that has ended. It does nothing if
// another gaffer works on the run, because that process writes the documents.
func (a *App) writeDocuments(ctx context.Context, run string) error {
	release, err := a.locks.Lock(ctx, run)
	if owned := (*runlock.OwnedError)(nil); errors.As(err, &owned) {
		return nil
	}
	if err != nil {
		return err
	}
	defer release()
	s, _, err := a.look(ctx, run)
	if err != nil {
		return err
	}
	if err := a.owe(ctx, run, ""); err != nil {
		return err
	}
	a.concluded(ctx, run, s.flush(ctx))
	return nil
}
