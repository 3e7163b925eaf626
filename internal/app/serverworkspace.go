package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/app/localrun"
	"gaffer/internal/attempt/runlock"
	"gaffer/internal/attempt/workspace"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/statefile/host"
)

// NameTakenError reports that another process is the worker of that name.
type NameTakenError struct {
	Name string
	PID  int
}

func (e *NameTakenError) Error() string {
	return fmt.Sprintf("worker %s: gaffer with pid %d is it", e.Name, e.PID)
}

// Conflict marks the error as a conflict with another process.
func (e *NameTakenError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *NameTakenError) Hint() string {
	return "one more worker on this machine needs a name of its own: --name NAME"
}

const opLockName host.Op = "take the worker's name"

// lockName locks the worker's name. The kernel releases the lock if the process dies.
func (s *ServerWorker) lockName(ctx context.Context) (release func(), err error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, runlock.Within)
	defer cancel()
	lock, err := host.OS().Lock(within, opLockName, s.folder("lock"))
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, &NameTakenError{s.opts.Name, ownerOf(s.folder("pid"))}
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

// ownerOf returns the pid that a file records, or 0.
func ownerOf(file string) int {
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
	run := s.engine.Run(t.RunningAttempt)
	p, err := s.workspaceOf(run)
	if err != nil {
		return "", err
	}
	switch {
	case spec.Dispatch != nil:
		return "", &ElsewhereError{t.Task, "the repository of its bead"}
	case run.Place != s.opts.Name && p.HasWorktree(t.TaskKey, spec):
		return "", &ElsewhereError{t.Task, "a worktree"}
	}
	if err := os.MkdirAll(s.logsOf(t.Run), 0o700); err != nil {
		return "", err
	}
	if flow := p.Workflow; flow != nil { // its branch exists only on this machine
		if _, err := workspace.CreateBranch(ctx, p.Root, cmp.Or(run.Base, flow.Base), flow.Branch); err != nil {
			return "", err
		}
	}
	return p.Work(ctx, t, spec)
}

// Diff implements [worker.Workspace].
func (s *ServerWorker) Diff(ctx context.Context, t store.Task, spec plan.Task) (*fleet.Diff, error) {
	p, err := s.workspaceOf(s.engine.Run(t.RunningAttempt))
	if err != nil {
		return nil, err
	}
	return p.Diff(ctx, t, spec)
}

// Commit implements [worker.Workspace].
func (s *ServerWorker) Commit(ctx context.Context, t store.Task, spec plan.Task) error {
	p, err := s.workspaceOf(s.engine.Run(t.RunningAttempt))
	if err != nil {
		return err
	}
	return p.Commit(ctx, t, spec)
}

// workspaceOf returns the workspace of a run on this machine.
func (s *ServerWorker) workspaceOf(run coordinator.WorkRun) (workspace.Workspace, error) {
	p := workspace.Workspace{Root: s.opts.Project.Root, Trees: localrun.WorktreesFolder(s.state), LogFile: s.Log, Base: run.Base}
	if len(run.Workflow) > 0 {
		if err := json.Unmarshal(run.Workflow, &p.Workflow); err != nil {
			return p, fmt.Errorf("workflow of run %s: %w", run.ID, err)
		}
	}
	return p, nil
}
