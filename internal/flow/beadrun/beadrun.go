// Package beadrun submits beads as the tasks of a run. A bead is a work item of the ledger
// protocol. The package also determines which attempts at beads are still running, and completes
// the ledger's records of attempts that have ended.
package beadrun

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"gaffer/internal/attempt/runlock"
	"gaffer/internal/attempt/tmux"
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/internal/record/recorder"
	"gaffer/ledger"
)

// Options are the settings and dependencies of [Beads].
type Options struct {
	Store     store.Store
	Locks     runlock.Locks
	Project   string        // path of the project's root
	Ledger    *ledger.Store // the project's records
	LedgerDir string
	// Runs returns the project's runs, newest first. If ended is false, it leaves out runs that
	// have ended.
	Runs func(r store.Reader, ended bool) ([]store.Run, error)
	// Submit stores a plan as a run of the project and returns the run's id.
	Submit func(ctx context.Context, p plan.Plan) (run string, err error)
	// End cancels a task and waits until all processes of the task have ended.
	End func(ctx context.Context, run, task, why string) error
	// Collect records in the store how attempts have ended, for a run that no gaffer process
	// executes. It considers only the tasks for which the function want returns true.
	Collect func(ctx context.Context, run string, want func(store.Task) bool) error
	// Recorder returns the recorder that writes the records of a run's attempts to the ledger.
	Recorder func(run store.Run) *recorder.Recorder
	Notice   func(text string) // prints a message to the user
}

// Beads submits the beads of a project as tasks, and determines the state of the attempts at them.
type Beads struct{ opts Options }

// New returns a Beads with these options.
func New(opts Options) *Beads { return &Beads{opts} }

// TerminalMode says whether the agents of tasks from [Beads.Dispatch] run in a tmux terminal.
type TerminalMode int

// Values of TerminalMode.
const (
	PreferTmux  TerminalMode = iota // use tmux if it is installed
	RequireTmux                     // use tmux; fail if it is missing
	Headless                        // use no terminal
)

// Request describes which beads to submit as tasks, and how.
type Request struct {
	Plan     plan.Plan // each task must have the field Dispatch, which names the task's bead
	Terminal TerminalMode
	// If Force is set and one of the beads already has an unfinished task, that task and all its
	// processes are ended first.
	Force bool
}

// Dispatch submits beads as one run and returns the id of the run. If one of the beads already has
// an unfinished task and q.Force is set, Dispatch ends that task and tries again. If q.Force is not
// set, Dispatch submits nothing and returns an [*engine.BeadHeldError].
func (b *Beads) Dispatch(ctx context.Context, q Request) (string, error) {
	inTmux := false
	if q.Terminal != Headless {
		err := tmux.Available(ctx)
		switch {
		case err != nil && q.Terminal == RequireTmux:
			return "", err
		case err != nil:
			b.opts.Notice(fmt.Sprintf("%v; agents run without a terminal, and 'gaffer logs BEAD -f' shows them", err))
		}
		inTmux = err == nil
	}
	for i := range q.Plan.Tasks {
		if err := b.prepare(ctx, &q.Plan.Tasks[i], inTmux); err != nil {
			return "", err
		}
	}
	for {
		run, err := b.opts.Submit(ctx, q.Plan)
		held := (*engine.BeadHeldError)(nil)
		if !errors.As(err, &held) || !q.Force {
			return run, err
		}
		b.opts.Notice(fmt.Sprintf("%v: ending it", held))
		if err := b.opts.End(ctx, held.By.Run, held.By.Task, "dispatched again with --force"); err != nil {
			return "", fmt.Errorf("end bead %s of run %s: %w", held.Bead, held.By.Run, err)
		}
	}
}

// Prepare completes the field Dispatch of tasks for beads, so that the tasks can be submitted as a
// part of any run. It changes the tasks in place, and returns the given slice. The agents of the
// tasks run without a terminal.
func (b *Beads) Prepare(ctx context.Context, tasks []plan.Task) ([]plan.Task, error) {
	for i := range tasks {
		if err := b.prepare(ctx, &tasks[i], false); err != nil {
			return nil, err
		}
	}
	return tasks, nil
}

// prepare sets the ledger, repository, number of earlier attempts and tmux session in t.Dispatch.
// It returns an error if the task needs a worktree but none can be created in its repository.
func (b *Beads) prepare(ctx context.Context, t *plan.Task, inTmux bool) (err error) {
	d := *t.Dispatch
	d.Ledger = b.opts.LedgerDir
	if d.Repo == "" {
		d.Repo = b.opts.Project
	}
	if d.Repo, err = filepath.Abs(d.Repo); err != nil {
		return err
	}
	if d.Earlier, err = b.opts.Ledger.Latest(d.Bead); err != nil {
		return err
	}
	d.Session = ""
	if inTmux {
		d.Session = tmux.SessionName(d.Bead)
	}
	t.Dispatch = &d
	if !t.Worktree && t.Branch == "" {
		return nil
	}
	repo, err := worktree.Open(ctx, d.Repo)
	if err == nil {
		_, err = repo.Base(ctx, "")
	}
	if err != nil {
		return fmt.Errorf("bead %s: %w", t.ID, err)
	}
	return nil
}
