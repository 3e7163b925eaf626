package app

import (
	"cmp"
	"path/filepath"

	"gaffer/fleet"
	"gaffer/internal/app/localrun"
	"gaffer/internal/engine/store"
	"gaffer/internal/flow/teamrun"
	"gaffer/internal/plan"
)

// annotate sets the fields of v that are not in the run's database row: the process that works on
// the run, the id of the run's team session, and the folder of the run's documents.
func (a *App) annotate(v *fleet.Run, run store.Run) {
	v.Owner = a.locks.Owner(run.ID)
	v.Owner.Gone = !v.Owner.Alive && !run.Status.Final() && a.locks.WorkedOn(run)
	if run.Conducted {
		if start, err := teamrun.StartOf(run); err == nil && start != nil {
			v.Team = start.Session
		}
	}
	if run.Project == a.opts.Project.Root {
		v.Documents, _ = a.session.Dir(run.ID) // no error is possible: a run's id is a valid folder name
	}
}

// annotateTask sets the path of the task's worktree, if the task has one.
func (a *App) annotateTask(v *fleet.Task, spec plan.Task) {
	if spec.Worktree || spec.Branch != "" {
		v.Worktree = filepath.Join(localrun.WorktreesFolder(a.state), v.Run, cmp.Or(spec.SharedWorktree, v.ID))
	}
}

// runs returns the rows of this project's runs, newest first. If ended is false, it returns only
// runs that have not ended.
func (a *App) runs(r store.Reader, ended bool) ([]store.Run, error) {
	return a.query.Rows(r, a.opts.Project.Root, ended)
}
