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

// adorn adds what the store does not say of a run, or only this machine knows.
func (a *App) adorn(v *fleet.Run, run store.Run) {
	v.Owner = a.owner(run.ID)
	v.Owner.Gone = !v.Owner.Alive && !run.Status.Final() && a.worked(run)
	if run.Conducted {
		if start, err := teamrun.StartOf(run); err == nil && start != nil {
			v.Team = start.Session
		}
	}
	if run.Project == a.opts.Project.Root {
		v.Documents, _ = a.session.Dir(run.ID) // an id is always a name
	}
}

// adornTask says where the worktree of a task is.
func (a *App) adornTask(v *fleet.Task, spec plan.Task) {
	if spec.Worktree || spec.Branch != "" {
		v.Worktree = filepath.Join(a.state, "worktrees", v.Run, cmp.Or(spec.Tree, v.ID))
	}
}

// Run returns a run as it stands.
func (a *App) Run(ctx context.Context, id string) (fleet.Run, error) { return a.lookout.Run(ctx, id) }

// Runs lists the runs of this project, or of all projects, the latest first:
// those that are not final, or all.
func (a *App) Runs(ctx context.Context, everywhere, ended bool) ([]fleet.Run, error) {
	return a.lookout.Runs(ctx, a.projectOr(everywhere), ended)
}

// List are the runs of this project, or of all projects, without their tasks, the
// latest first: at most so many, also those that have ended.
func (a *App) List(ctx context.Context, everywhere bool, limit int) ([]fleet.Run, error) {
	return a.lookout.Summaries(ctx, a.projectOr(everywhere), true, limit)
}

// projectOr is this project, or none for everywhere.
func (a *App) projectOr(everywhere bool) string {
	if everywhere {
		return ""
	}
	return a.opts.Project.Root
}

// runs lists rows of runs of this project, the latest first.
func (a *App) runs(r store.Reader, ended bool) ([]store.Run, error) {
	return a.lookout.Rows(r, a.opts.Project.Root, ended)
}

// FindRun returns the id of the run of this project that a person means: the
// whole id, a unique prefix of it or of its last part, or "-" or "" for the
// latest. With unfinished, only runs that have not ended count.
func (a *App) FindRun(ctx context.Context, text string, unfinished bool) (string, error) {
	return a.lookout.FindRun(ctx, a.opts.Project.Root, text, unfinished)
}

// FindTask returns the task of this project that a person means: RUN/TASK,
// TASK in the latest run that has it, or else a unique prefix of one.
func (a *App) FindTask(ctx context.Context, text string) (fleet.Task, error) {
	return a.lookout.FindTask(ctx, a.opts.Project.Root, text)
}

// Follow calls each with the run as it stands, at once and then whenever it has
// changed, but not more often than every interval, until the run has ended or
// each returns an error or ctx ends.
func (a *App) Follow(ctx context.Context, run string, interval time.Duration, each func(fleet.Run) error) error {
	return a.lookout.Follow(ctx, run, interval, each)
}
