package app

import (
	"context"
	"errors"
	"sync"

	"gaffer/internal/engine/store"
	"gaffer/internal/flow/build"
	"gaffer/internal/flow/buildrun"
	"gaffer/internal/flow/teamrun"
	"gaffer/statefile/jsontree"
)

// ours finds the runs in the store that documents of this machine's projects belong to.
type ours struct{ app *App }

// at returns a function that reports whether a run belongs to the project at root. Runs
// that are bound to a machine carry the project's folder, others its name.
func (o ours) at(root string) func(store.Run) bool {
	name := sync.OnceValue(func() string {
		place, err := o.app.locate(root)
		if err != nil {
			return root
		}
		return place.Name
	})
	return func(run store.Run) bool { return run.Project == root || run.Project == name() }
}

// Sessions implements [viewers.Ours]. The session of a run has the run's id.
func (o ours) Sessions(ctx context.Context, root string, ids []string) (runs map[string]string, err error) {
	of := o.at(root)
	err = o.app.store.Read(ctx, func(r store.Reader) error {
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

// Team implements [viewers.Ours].
func (o ours) Team(ctx context.Context, root, session string) (id string, err error) {
	err = o.app.store.Read(ctx, func(r store.Reader) (err error) {
		id, err = o.team(r, root, session)
		return err
	})
	return id, err
}

func (o ours) team(r store.Reader, root, session string) (string, error) {
	const most = 10_000
	rows, err := o.app.query.Latest(r, "", true, most)
	if err != nil {
		return "", err
	}
	of := o.at(root)
	for _, row := range rows {
		if !row.Conducted || !of(row) {
			continue
		}
		run, err := r.Run(row.ID) // rows of the list have no plan
		if err != nil {
			return "", err
		}
		if start, err := teamrun.StartOf(run); err == nil && start != nil && start.Session == session {
			return run.ID, nil
		}
	}
	return "", nil
}

// Build implements [viewers.Ours].
func (o ours) Build(ctx context.Context, root string, state jsontree.Value) (id string, working bool, err error) {
	told, _ := build.Cursor(state)
	if told == "" {
		return "", false, nil
	}
	err = o.app.store.Read(ctx, func(r store.Reader) error {
		run, err := r.Run(told)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		b, err := buildrun.BuildOf(run)
		if err != nil || b == nil || !o.at(root)(run) || b.Run.RunID != state.Get("buildRun").Get("runId").Text() {
			return nil // the state describes another build
		}
		id, working = run.ID, o.app.locks.Owner(run.ID).Alive
		return nil
	})
	return id, working, err
}
