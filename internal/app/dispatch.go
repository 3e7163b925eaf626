package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"gaffer/internal/attempt/tmux"
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/engine"
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
		if err := a.Runs.End(ctx, held.By.Run, held.By.Task, "dispatched again with --force"); err != nil {
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
	d.Ledger = a.opts.Config.Path("paths.ledger")
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
