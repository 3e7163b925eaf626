package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"gaffer/coordinator"
	"gaffer/internal/attempt/runlock"
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/statefile/host"
)

// TakenError reports that another process is the worker of that name.
type TakenError struct {
	Name string
	PID  int
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("worker %s: gaffer with pid %d is it", e.Name, e.PID)
}

// Conflict marks the error as a conflict with another process.
func (e *TakenError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *TakenError) Hint() string {
	return "one more worker on this machine needs a name of its own: --name NAME"
}

const opStation host.Op = "take the worker's name"

// occupy locks the worker's name. The kernel releases the lock if the process dies.
func (s *ServerWorker) occupy(ctx context.Context) (release func(), err error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, runlock.Within)
	defer cancel()
	lock, err := host.OS().Lock(within, opStation, s.folder("lock"))
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, &TakenError{s.opts.Name, occupant(s.folder("pid"))}
	}
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(host.OS().Self())
	if err == nil {
		err = os.WriteFile(s.folder("pid"), text, 0o600)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return func() { _ = lock.Unlock() }, nil // the lock ends with the process at the latest
}

func occupant(file string) int {
	var p host.Process
	data, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(data, &p) != nil {
		return 0
	}
	return p.PID
}

// ElsewhereError reports a task that only the machine of its run can do.
type ElsewhereError struct{ Task, Needs string }

func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("task %s needs %s, and its run is not bound to this worker: run the plan with --on WORKER", e.Task, e.Needs)
}

// Work implements [worker.Workspace]. It returns the project's root, or a worktree if
// the run is bound to this worker.
func (s *ServerWorker) Work(ctx context.Context, t store.Task, spec plan.Task) (string, error) {
	run := s.engine.Run(t.Attempt)
	p, err := s.placeOf(run)
	if err != nil {
		return "", err
	}
	switch {
	case spec.Dispatch != nil:
		return "", &ElsewhereError{t.Task, "the repository of its bead"}
	case run.Place != s.opts.Name && p.tree(t.TaskKey, spec) != nil:
		return "", &ElsewhereError{t.Task, "a worktree"}
	}
	if err := os.MkdirAll(s.logsOf(t.Run), 0o700); err != nil {
		return "", err
	}
	if err := s.branch(ctx, p, run); err != nil {
		return "", err
	}
	return p.Work(ctx, t, spec)
}

// placeOf returns the workspace of a run on this machine.
func (s *ServerWorker) placeOf(run coordinator.WorkRun) (workspace, error) {
	p := workspace{root: s.opts.Project.Root, trees: treesIn(s.state), log: s.Log, base: run.Base}
	if len(run.Workflow) > 0 {
		if err := json.Unmarshal(run.Workflow, &p.flow); err != nil {
			return p, fmt.Errorf("workflow of run %s: %w", run.ID, err)
		}
	}
	return p, nil
}

// branch creates the branch of a workflow, which exists only on this machine.
func (s *ServerWorker) branch(ctx context.Context, p workspace, run coordinator.WorkRun) error {
	if p.flow == nil {
		return nil
	}
	repo, err := worktree.Open(ctx, p.root)
	if err != nil {
		return err
	}
	name := run.Base
	if name == "" {
		name = p.flow.Base
	}
	base, err := repo.Base(ctx, name)
	if err != nil {
		return err
	}
	_, err = repo.Branch(ctx, p.flow.Branch, base)
	return err
}
