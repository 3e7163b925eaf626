package app

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/app/localrun"
	"gaffer/internal/attempt/workspace"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// ElsewhereError reports that this worker cannot execute a task, because the worker does not
// provide something that the task needs. The field Needs names it, for example "a worktree".
type ElsewhereError struct{ Task, Needs string }

func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("task %s needs %s, and its run is not bound to this worker: run the plan with --on WORKER", e.Task, e.Needs)
}

// Work implements [worker.Workspace]. It returns the path of the folder in which the task works:
// the task's worktree, which it creates if necessary, or the project's root if the task has no
// worktree. It returns an [*ElsewhereError] in two cases:
//   - The task works on a bead, which is a work item of the ledger protocol.
//   - The task has a worktree, and its run is not bound to this worker. Other workers may execute
//     tasks of such a run, but the worktree exists only on one machine.
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
	// If the run's plan is a workflow, its tasks share a git branch. Create this branch, because it
	// exists only in the repository of this machine.
	if flow := p.Workflow; flow != nil {
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

// workspaceOf returns the workspace on this machine for the tasks of a run.
func (s *ServerWorker) workspaceOf(run coordinator.WorkRun) (workspace.Workspace, error) {
	p := workspace.Workspace{Root: s.opts.Project.Root, Trees: localrun.WorktreesFolder(s.state), LogFile: s.Log, Base: run.Base}
	if len(run.Workflow) > 0 {
		if err := json.Unmarshal(run.Workflow, &p.Workflow); err != nil {
			return p, fmt.Errorf("workflow of run %s: %w", run.ID, err)
		}
	}
	return p, nil
}
