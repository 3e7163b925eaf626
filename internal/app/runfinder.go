package app

import (
	"context"
	"errors"
	"sync"

	"gaffer/internal/api/viewers"
	"gaffer/internal/attempt/runlock"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
	"gaffer/internal/flow/build"
	"gaffer/internal/flow/buildrun"
	"gaffer/internal/flow/teamrun"
	"gaffer/statefile/jsontree"
)

// runFinder finds the run that wrote a given document. The document is in a project on this
// machine.
type runFinder struct {
	store     store.Store
	query     *runquery.Querier
	locks     runlock.Locks
	foldersOf func(root string) (viewers.ProjectFolders, error)
}

// belongsTo returns a function that reports whether a run belongs to the project at root. The
// stored run names its project in one of two ways. A run that only this machine may execute has the
// path of its project. Other runs have the name of their project.
func (f runFinder) belongsTo(root string) func(store.Run) bool {
	name := sync.OnceValue(func() string {
		folders, err := f.foldersOf(root)
		if err != nil {
			return root
		}
		return folders.Name
	})
	return func(run store.Run) bool { return run.Project == root || run.Project == name() }
}

// Sessions implements [viewers.RunFinder]. A run's session document has the same id as the run.
func (f runFinder) Sessions(ctx context.Context, root string, ids []string) (runs map[string]string, err error) {
	of := f.belongsTo(root)
	err = f.store.Read(ctx, func(r store.Reader) error {
		runs = map[string]string{}
		for _, id := range ids {
			run, err := r.Run(id)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			if of(run) {
				runs[id] = id
			}
		}
		return nil
	})
	return runs, err
}

// Team implements [viewers.RunFinder].
func (f runFinder) Team(ctx context.Context, root, session string) (id string, err error) {
	err = f.store.Read(ctx, func(r store.Reader) (err error) {
		id, err = f.teamRun(r, root, session)
		return err
	})
	return id, err
}

func (f runFinder) teamRun(r store.Reader, root, session string) (string, error) {
	const most = 10_000
	rows, err := f.query.Latest(r, "", true, most)
	if err != nil {
		return "", err
	}
	of := f.belongsTo(root)
	for _, row := range rows {
		if !row.Conducted || !of(row) {
			continue
		}
		run, err := r.Run(row.ID) // read the full row, because the rows in the list have no plan
		if err != nil {
			return "", err
		}
		if start, err := teamrun.StartOf(run); err == nil && start != nil && start.Session == session {
			return run.ID, nil
		}
	}
	return "", nil
}

// Build implements [viewers.RunFinder].
func (f runFinder) Build(ctx context.Context, root string, state jsontree.Value) (id string, working bool, err error) {
	named, _ := build.Cursor(state)
	if named == "" {
		return "", false, nil
	}
	err = f.store.Read(ctx, func(r store.Reader) error {
		run, err := r.Run(named)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		b, err := buildrun.BuildOf(run)
		if err != nil || b == nil || !f.belongsTo(root)(run) || b.Run.RunID != state.Get("buildRun").Get("runId").Text() {
			return nil // the run is not the build that the parameter state describes
		}
		id, working = run.ID, f.locks.Owner(run.ID).Alive
		return nil
	})
	return id, working, err
}
