package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"gaffer/fleet"
	"gaffer/internal/api/changes"
	"gaffer/internal/api/protocol"
	"gaffer/internal/attempt/snapshot"
	"gaffer/internal/attempt/workspace"
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/git"
	"gaffer/internal/plan"
)

// newChanges returns the service that shows users what tasks have changed. It reads the changes
// from the git repositories on this machine.
func (a *App) newChanges() *changes.Service {
	return changes.New(changes.Options{
		Store:     a.store,
		Reviews:   &syncedReviews{Engine: a.engine, app: a, lastSync: map[string]time.Time{}},
		Worktrees: a.worktreesOf, Hide: func(run store.Run) bool { return protocol.OwnsRun(run.ID) },
		Overview: func(ctx context.Context, run string) (fleet.Changes, error) { return a.Landing.Overview(ctx, run) },
	})
}

// syncedReviews returns the reviews of a run's tasks. A review records what the user has decided
// about a task's change, and whether the change was merged. At most once per syncEvery,
// syncedReviews first updates the stored reviews from the git repository. This is needed because a
// process that died during a merge may have moved a branch without recording the merge in the
// review.
type syncedReviews struct {
	*engine.Engine
	app *App

	mu       sync.Mutex
	lastSync map[string]time.Time // when each run's reviews were last synchronized, by run id
}

// syncEvery is the minimum time between two synchronizations of the same run's reviews.
const syncEvery = 30 * time.Second

// Review synchronizes the run's reviews with the repository and returns the review of a task.
func (s *syncedReviews) Review(ctx context.Context, key store.TaskKey) (fleet.Review, error) {
	s.sync(ctx, key.Run)
	return s.Engine.Review(ctx, key)
}

// Reviews synchronizes the run's reviews with the repository and returns them.
func (s *syncedReviews) Reviews(ctx context.Context, run string) ([]fleet.Review, error) {
	s.sync(ctx, run)
	return s.Engine.Reviews(ctx, run)
}

func (s *syncedReviews) sync(ctx context.Context, run string) {
	now := s.app.opts.Now()
	s.mu.Lock()
	due := now.Sub(s.lastSync[run]) >= syncEvery
	if due {
		s.lastSync[run] = now
	}
	s.mu.Unlock()
	if due {
		// Ignore the error: then the caller returns the reviews as they are stored, and the next
		// merge reports the error.
		_ = s.app.Landing.Sync(ctx, run)
	}
}

// worktreesOf returns a function that finds the worktree of a task of the run. Worktrees exist only
// on the machine that works on the run. If this is another machine, the returned function fails
// with a [*changes.ElsewhereError] for each started task that has a worktree.
func (a *App) worktreesOf(run store.Run) (changes.Locate, error) {
	header, err := plan.DecodeHeader(run.Plan)
	if err != nil {
		return nil, fmt.Errorf("plan of run %s: %w", run.ID, err)
	}
	w := workspace.Workspace{Root: run.Project, Base: run.Base, Workflow: header.Workflow}
	here := a.locks.WorkedOn(run)
	where := "the machine that works on run " + run.ID
	if run.OnlyWorker != run.ID && run.OnlyWorker != "" {
		where = "worker " + run.OnlyWorker
	}
	return func(t store.Task) (repo, name string, ok bool, err error) {
		spec, err := plan.DecodeTask(t.Spec)
		if err != nil {
			return "", "", false, fmt.Errorf("task %s: %w", t.Task, err)
		}
		repo, name, ok = w.Worktree(t.TaskKey, spec)
		if ok && !here && t.Tries > 0 {
			return "", "", true, &changes.ElsewhereError{Task: t.Task, Where: where}
		}
		return repo, name, ok, nil
	}, nil
}

// deleteKeptChanges deletes the git refs that protect the changes of deleted runs from garbage
// collection. It does nothing if the project has no repository.
func deleteKeptChanges(ctx context.Context, project string, runs []string) error {
	if !filepath.IsAbs(project) {
		return nil
	}
	repo, err := worktree.Open(ctx, project)
	if noRepo := (*git.OpenError)(nil); errors.Is(err, fs.ErrNotExist) || errors.As(err, &noRepo) {
		return nil
	}
	if err != nil {
		return err
	}
	return snapshot.Forget(ctx, repo, runs)
}
