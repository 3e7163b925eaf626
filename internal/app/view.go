package app

import (
	"cmp"
	"context"
	"path/filepath"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine/store"
	"gaffer/internal/flow/teamrun"
	"gaffer/internal/plan"
)

// annotate adds facts about a run that only this machine knows or that the store lacks.
func (a *App) annotate(v *fleet.Run, run store.Run) {
	v.Owner = a.locks.Owner(run.ID)
	v.Owner.Gone = !v.Owner.Alive && !run.Status.Final() && a.locks.WorkedOn(run)
	if run.Conducted {
		if start, err := teamrun.StartOf(run); err == nil && start != nil {
			v.Team = start.Session
		}
	}
	if run.Project == a.opts.Project.Root {
		v.Documents, _ = a.session.Dir(run.ID) // a run's id is always a valid name
	}
}

// annotateTask sets the path of the task's worktree.
func (a *App) annotateTask(v *fleet.Task, spec plan.Task) {
	if spec.Worktree || spec.Branch != "" {
		v.Worktree = filepath.Join(treesIn(a.state), v.Run, cmp.Or(spec.Tree, v.ID))
	}
}

// Run returns the current state of a run.
func (a *App) Run(ctx context.Context, id string) (fleet.Run, error) { return a.query.Run(ctx, id) }

// Runs lists the runs of this project, or of all projects, newest first. Without ended
// it skips runs that have ended.
func (a *App) Runs(ctx context.Context, everywhere, ended bool) ([]fleet.Run, error) {
	return a.query.Runs(ctx, a.projectOr(everywhere), ended)
}

// List returns at most limit runs of this project, or of all projects, without their
// tasks, newest first. It includes runs that have ended.
func (a *App) List(ctx context.Context, everywhere bool, limit int) ([]fleet.Run, error) {
	return a.query.Summaries(ctx, a.projectOr(everywhere), true, limit)
}

// projectOr returns this project, or "" for all projects.
func (a *App) projectOr(everywhere bool) string {
	if everywhere {
		return ""
	}
	return a.opts.Project.Root
}

// runs returns the rows of this project's runs, newest first.
func (a *App) runs(r store.Reader, ended bool) ([]store.Run, error) {
	return a.query.Rows(r, a.opts.Project.Root, ended)
}

// FindRun resolves the user's name for a run of this project to its id. text is the
// whole id, a unique prefix of it or of its last part, or "-" or "" for the latest run.
// With unfinished, only runs that have not ended count.
func (a *App) FindRun(ctx context.Context, text string, unfinished bool) (string, error) {
	return a.query.FindRun(ctx, a.opts.Project.Root, text, unfinished)
}

// FindTask resolves the user's name for a task of this project. text is RUN/TASK, TASK
// in the latest run that has it, or a unique prefix of one.
func (a *App) FindTask(ctx context.Context, text string) (fleet.Task, error) {
	return a.query.FindTask(ctx, a.opts.Project.Root, text)
}

// Follow calls each with the run's state, immediately and then after every change, at
// most once per interval. It stops when the run has ended, each returns an error, or
// ctx ends.
func (a *App) Follow(ctx context.Context, run string, interval time.Duration, each func(fleet.Run) error) error {
	return a.query.Follow(ctx, run, interval, each)
}
