package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"gaffer/internal/attempt/tmux"
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/pause"
	"gaffer/internal/plan"
)

// Way is where dispatched agents run.
type Way int

// The ways.
const (
	BestWay  Way = iota // in tmux if that is there
	InTmux              // in tmux, or not at all
	Headless            // without a terminal
)

// Dispatch is a set of beads to be run.
type Dispatch struct {
	Plan  plan.Plan // each of its tasks with a Dispatch that names the bead
	Way   Way
	Force bool // end who has a bead, with all its processes, before the run begins
}

// Dispatch submits beads as one run and returns its id. A bead that has an agent
// already is an [*engine.HeldError], and nothing is submitted.
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
		if err := a.end(ctx, held.By, "dispatched again with --force"); err != nil {
			return "", fmt.Errorf("end bead %s of run %s: %w", held.Bead, held.By.Run, err)
		}
	}
}

// way tells whether agents get a terminal.
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

// bead completes what a task says of its bead.
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

// canBranch tells before anything runs of a repository that a bead's worktree
// cannot be made in.
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

// endWithin is how long it may take to end an agent with all that it started.
const endWithin = 2 * time.Minute

// end cancels a task and returns when nothing of it runs any more.
func (a *App) end(ctx context.Context, key store.TaskKey, why string) error {
	ctx, cancel := context.WithTimeout(ctx, endWithin)
	defer cancel()
	err := a.Cancel(ctx, key.Run, key.Task, why)
	if late := (*engine.ConflictError)(nil); err != nil && !errors.As(err, &late) {
		return err
	}
	for {
		over, err := a.over(ctx, key)
		if over || err != nil {
			return err
		}
		// Nobody may look after it: then it is ours to end.
		err = a.collect(ctx, key.Run, func(t store.Task) bool { return t.TaskKey == key })
		owned, owed := (*OwnedError)(nil), (*OwedError)(nil) // what is owed was reported, and does not keep the bead
		if err != nil && !errors.As(err, &owned) && !errors.As(err, &owed) {
			return err
		}
		pause.For(ctx, watchEvery)
	}
}

func (a *App) over(ctx context.Context, key store.TaskKey) (over bool, err error) {
	err = a.store.Read(ctx, func(r store.Reader) error {
		t, err := r.Task(key)
		over = t.Status.Final()
		return err
	})
	return over, err
}

// collect reports how those attempts of a run ended that are wanted, waits for
// them if they still run, and records that. Nothing is started. A run that
// another gaffer works on is an [*OwnedError]. An [*OwedError] says that all was done
// and that documents are not written.
func (a *App) collect(ctx context.Context, run string, want func(store.Task) bool) error {
	release, err := a.own(ctx, run)
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
	r, err := a.Run(ctx, run)
	if err != nil {
		return err
	}
	return &OwedError{Owed{Run: run, Project: r.Project, Since: r.Ended, Why: oneLine(flushed)}}
}
