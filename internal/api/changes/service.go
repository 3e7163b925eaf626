// Package changes answers requests about the changes of tasks: the files that a task has changed,
// their diffs, and their reviews.
//
// A change is read from the git repository on the machine that worked on the run. The service
// caches the latest lists of changed files, because a page requests the diffs of these files one
// after the other. The cache is never out of date: a cached list belongs to the id of a git tree,
// and the content of a git tree never changes.
package changes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"gaffer/fleet"
	"gaffer/internal/api/protocol"
	"gaffer/internal/api/server"
	"gaffer/internal/change"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// Reviews reads the reviews of changes, and the messages to agents.
type Reviews interface {
	// Review returns the review of a task. If the task has none yet, the result is an empty review
	// with the state open.
	Review(ctx context.Context, key store.TaskKey) (fleet.Review, error)
	// Reviews returns the reviews of a run's tasks. It leaves out tasks that have no review yet.
	Reviews(ctx context.Context, run string) ([]fleet.Review, error)
	Messages(ctx context.Context, key store.TaskKey) ([]fleet.Message, error)
}

// Options configures a Service.
type Options struct {
	Store   store.Store
	Reviews Reviews
	// Hide reports whether a run is internal. Requests for such a run get the answer that it does
	// not exist. If Hide is nil, no run is internal.
	Hide func(run store.Run) bool
	// Worktrees returns a function that finds the worktrees of the run's tasks.
	Worktrees func(run store.Run) (Locate, error)
	// Overview counts the changes of a run that conflict with their target branch. If it is nil, no
	// conflicts are counted.
	Overview func(ctx context.Context, run string) (fleet.Changes, error)
}

// Locate returns the path of the repository that has the worktree of a task, and the name of the
// worktree. The result ok is false if the task has no worktree. The error is an [*ElsewhereError]
// if the worktree is on another machine.
type Locate func(t store.Task) (repo, name string, ok bool, err error)

// Service answers requests about the changes of tasks. It is safe for concurrent use.
type Service struct {
	opts  Options
	slots chan struct{} // holds one value for each request that runs git

	mu    sync.Mutex
	cache []cachedChange // changes that were read from repositories, in the order in which they were read
}

var _ server.Changes = (*Service)(nil)

// cachedChange is a change of a task, with the reader that can read its files.
type cachedChange struct {
	key    store.TaskKey
	reader *change.Reader
	// change.Task is the name of the task's worktree, not the id of the task.
	change fleet.Change
}

const (
	maxParallel = 4  // maximum number of requests that run git at the same time
	maxCached   = 16 // maximum number of changes in the cache
)

// New returns a service.
func New(opts Options) *Service {
	if opts.Hide == nil {
		opts.Hide = func(store.Run) bool { return false }
	}
	return &Service{opts: opts, slots: make(chan struct{}, maxParallel)}
}

// ElsewhereError reports that the worktree of a task is on another machine.
type ElsewhereError struct{ Task, Where string }

func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("task %s: the change is on %s, and only that machine can read it", e.Task, e.Where)
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *ElsewhereError) Conflict() bool { return true }

// Code returns the error code that clients get.
func (e *ElsewhereError) Code() string { return "change_elsewhere" }

// Hint returns advice for the user.
func (e *ElsewhereError) Hint() string { return "run this command there, in the project's folder" }

// NoChangeError reports that a task has no change, because it has no worktree or was not started.
type NoChangeError struct{ Task, Why string }

func (e *NoChangeError) Error() string {
	return fmt.Sprintf("task %s has no change: %s", e.Task, e.Why)
}

// NotFound returns true, so that commands exit with code 3 and the server answers with status 404.
func (e *NoChangeError) NotFound() bool { return true }

// Code returns the error code that clients get.
func (e *NoChangeError) Code() string { return "no_change" }

// Change returns the change of a task with its review, messages and checks. If q.Attempt is set, it
// returns the change as it was at the end of that attempt. If q.Since is set, it returns only the
// files that differ from that git tree.
func (s *Service) Change(ctx context.Context, run, task string, q fleet.ChangeQuery) (fleet.TaskChange, error) {
	key := store.TaskKey{Run: run, Task: task}
	var v fleet.TaskChange
	where, err := s.locate(ctx, key)
	if err != nil {
		return v, err
	}
	if v.Review, err = s.opts.Reviews.Review(ctx, key); err != nil {
		return v, err
	}
	messages, err := s.opts.Reviews.Messages(ctx, key)
	if err != nil {
		return v, err
	}
	// Use empty lists instead of nil, so that the lists are never null in JSON.
	v.Messages, v.Checks = append([]fleet.Message{}, messages...), append([]fleet.Check{}, where.checks...)
	if err := s.acquireSlot(ctx); err != nil {
		return v, err
	}
	defer s.releaseSlot()
	reader, err := change.Open(ctx, where.repo)
	if err != nil {
		return v, unreadable(err)
	}
	if q.Attempt > 0 {
		v.Change, err = reader.Attempt(ctx, run, where.name, q.Attempt)
	} else {
		v.Change, err = reader.Change(ctx, run, where.name)
	}
	if err != nil {
		return v, unreadable(err)
	}
	s.addToCache(cachedChange{key, reader, v.Change})
	if v.Anchors, err = reader.Anchors(ctx, v.Change, v.Review.Comments); err != nil {
		return v, unreadable(err)
	}
	trees := []string{v.Review.Seen}
	for _, c := range v.Review.Comments {
		trees = append(trees, c.Tree)
	}
	if err := reader.Release(ctx, run, where.name, trees); err != nil {
		return v, unreadable(err)
	}
	if q.Since != "" {
		if err := reader.Keeps(ctx, run, where.name, q.Since); err != nil {
			return v, unreadable(err)
		}
		if v.Change, err = reader.Since(ctx, v.Change, q.Since); err != nil {
			return v, unreadable(err)
		}
	}
	v.Change.Task = task
	return v, nil
}

// File returns the diff between two versions of one file. The new version is the one in the git
// tree q.Tree, which must be a stored tree of the task's change. The old version is the one in the
// git tree q.From or, if q.From is empty, in the commit that the change is compared with.
func (s *Service) File(ctx context.Context, run, task string, q fleet.FileQuery) (fleet.FileChange, error) {
	found, err := s.changeWithTree(ctx, store.TaskKey{Run: run, Task: task}, q.Tree)
	if err != nil {
		return fleet.FileChange{}, err
	}
	if err := s.acquireSlot(ctx); err != nil {
		return fleet.FileChange{}, err
	}
	defer s.releaseSlot()
	// A client may read only the task's change, not the rest of the repository. So q.From must be a
	// tree of this change.
	if q.From != "" {
		if err := found.reader.Keeps(ctx, run, found.change.Task, q.From); err != nil {
			return fleet.FileChange{}, unreadable(err)
		}
	}
	f, err := found.reader.File(ctx, found.change, q.Path, change.Options{Context: q.Context, From: q.From})
	return f, unreadable(err)
}

// Blob returns the content of a git blob, which must be the old or the new version of a file that
// the task has changed. For all other blobs of the repository it returns an error, because clients
// may read only the changes of tasks.
func (s *Service) Blob(ctx context.Context, run, task, blob string) ([]byte, error) {
	key := store.TaskKey{Run: run, Task: task}
	where, err := s.locate(ctx, key)
	if err != nil {
		return nil, err
	}
	if err := s.acquireSlot(ctx); err != nil {
		return nil, err
	}
	defer s.releaseSlot()
	reader, err := change.Open(ctx, where.repo)
	if err != nil {
		return nil, unreadable(err)
	}
	has, err := reader.Has(ctx, run, where.name, blob)
	if err != nil {
		return nil, unreadable(err)
	}
	if !has {
		return nil, protocol.NothingFound("blob_not_found", fmt.Sprintf("task %s: its change has no such file", task))
	}
	data, err := reader.Blob(ctx, blob)
	return data, unreadable(err)
}

// Reviews returns the reviews of those tasks of a run that work in a worktree. It leaves out tasks
// that changed nothing and were not reviewed. It also leaves out candidates, which are tasks that
// do the same work so that the best result can be picked, and the tasks that judge them. It
// includes the task that picks a result.
func (s *Service) Reviews(ctx context.Context, id string) (fleet.RunReviews, error) {
	all := fleet.RunReviews{Reviews: []fleet.Review{}}
	tasks, err := s.tasksWithWorktrees(ctx, id)
	if err != nil {
		return all, err
	}
	reviews, err := s.opts.Reviews.Reviews(ctx, id)
	if err != nil {
		return all, err
	}
	for _, t := range tasks {
		v := fleet.Review{Run: t.Run, Task: t.Task.Task, State: fleet.ReviewOpen}
		if i := slices.IndexFunc(reviews, func(v fleet.Review) bool { return v.Task == t.Task.Task }); i >= 0 {
			v = reviews[i]
		} else if t.unchanged {
			continue
		}
		all.Reviews = append(all.Reviews, v)
		count(&all, v.State, t.Status)
	}
	if all.Ready == 0 || s.opts.Overview == nil {
		return all, nil
	}
	if err := s.acquireSlot(ctx); err != nil {
		return all, err
	}
	defer s.releaseSlot()
	sum, err := s.opts.Overview(ctx, id)
	// If the conflicts cannot be counted, return the reviews anyway, with 0 as the number of
	// conflicts.
	if err != nil {
		return all, nil
	}
	all.Conflicts, all.Into = min(sum.Conflicts, all.Ready), sum.Into
	all.Ready -= all.Conflicts
	return all, nil
}

// count adds one change to the counts in all. The parameter state is the state of the review of the
// change, and status is the status of the task that made the change.
func count(all *fleet.RunReviews, state fleet.ReviewState, status store.Status) {
	all.Changes++
	switch state {
	case fleet.ReviewCommented:
		all.Commented++
	case fleet.ReviewSentBack:
		all.SentBack++
	case fleet.ReviewMerged:
		all.Merged++
	case fleet.ReviewDiscarded:
		all.Discarded++
	default:
		if status == store.Complete {
			all.Ready++
		}
	}
}

// taskWithWorktree is a task that has been started in a worktree.
type taskWithWorktree struct {
	store.Task
	unchanged bool // the last attempt has ended, and the task has changed no file
}

// tasksWithWorktrees returns the tasks of a run that have been started in a worktree, in the order
// of the plan. It leaves out candidates and the tasks that judge them.
func (s *Service) tasksWithWorktrees(ctx context.Context, id string) (tasks []taskWithWorktree, err error) {
	err = s.opts.Store.Read(ctx, func(r store.Reader) error {
		tasks = nil
		run, err := s.find(r, id)
		if err != nil {
			return err
		}
		locate, err := s.opts.Worktrees(run)
		if err != nil {
			return err
		}
		list, err := r.Tasks(id)
		if err != nil {
			return err
		}
		for _, row := range list {
			spec, err := plan.DecodeTask(row.Spec)
			// Leave out tasks whose spec cannot be decoded, candidates and their judges (both have
			// Candidate set), and tasks that were not started.
			if err != nil || spec.Candidate != "" || row.Tries == 0 {
				continue
			}
			_, _, ok, err := locate(row)
			if elsewhere := (*ElsewhereError)(nil); err != nil && !errors.As(err, &elsewhere) {
				return err
			}
			if !ok {
				continue
			}
			t := taskWithWorktree{Task: row}
			if row.RunningAttempt == "" && row.LastAttempt != "" {
				last, err := r.Attempt(row.LastAttempt)
				if err != nil {
					return err
				}
				diff := runquery.AttemptOf(last).Diff
				t.unchanged = diff != nil && diff.Changed == 0
			}
			tasks = append(tasks, t)
		}
		return nil
	})
	slices.SortFunc(tasks, func(a, b taskWithWorktree) int { return cmp.Compare(a.Seq, b.Seq) })
	return tasks, err
}

// location says where the worktree of a task is: repo is the path of its repository, and name is
// its name. checks are the results of the checks of the task's latest attempt.
type location struct {
	repo, name string
	checks     []fleet.Check
}

func (s *Service) locate(ctx context.Context, key store.TaskKey) (at location, err error) {
	err = s.opts.Store.Read(ctx, func(r store.Reader) error {
		run, err := s.find(r, key.Run)
		if err != nil {
			return err
		}
		t, err := r.Task(key)
		if err != nil {
			return protocol.NotFound(err, "task", key.Task)
		}
		locate, err := s.opts.Worktrees(run)
		if err != nil {
			return err
		}
		repo, name, ok, err := locate(t)
		switch {
		case err != nil:
			return err
		case !ok:
			return &NoChangeError{key.Task, "it has no worktree of its own, so it works on the project's own files"}
		case t.Tries == 0:
			return &NoChangeError{key.Task, "it has not started yet"}
		}
		at = location{repo: repo, name: name}
		if last := cmp.Or(t.RunningAttempt, t.LastAttempt); last != "" {
			a, err := r.Attempt(last)
			if err != nil {
				return err
			}
			at.checks = runquery.AttemptOf(a).Checks
		}
		return nil
	})
	return at, err
}

func (s *Service) find(r store.Reader, id string) (store.Run, error) {
	run, err := r.Run(id)
	if err == nil && s.opts.Hide(run) {
		err = store.ErrNotFound
	}
	return run, protocol.NotFound(err, "run", id)
}

// changeWithTree returns the version of a task's change whose git tree has the id tree. It reads
// the version from the cache or, if it is not there, from the repository.
func (s *Service) changeWithTree(ctx context.Context, key store.TaskKey, tree string) (cachedChange, error) {
	where, err := s.locate(ctx, key)
	if err != nil {
		return cachedChange{}, err
	}
	s.mu.Lock()
	i := slices.IndexFunc(s.cache, func(l cachedChange) bool { return l.key == key && l.change.Tree == tree })
	var found cachedChange
	if i >= 0 {
		found = s.cache[i]
	}
	s.mu.Unlock()
	if i >= 0 {
		return found, nil
	}
	if err := s.acquireSlot(ctx); err != nil {
		return cachedChange{}, err
	}
	defer s.releaseSlot()
	reader, err := change.Open(ctx, where.repo)
	if err != nil {
		return cachedChange{}, unreadable(err)
	}
	c, err := reader.At(ctx, key.Run, where.name, tree)
	if err != nil {
		return cachedChange{}, unreadable(err)
	}
	found = cachedChange{key, reader, c}
	s.addToCache(found)
	return found, nil
}

// addToCache adds a change to the cache, because the client will probably request the diffs of its
// files next. It replaces an entry of the same task and git tree. If the cache is full, it removes
// the oldest entry.
func (s *Service) addToCache(l cachedChange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cache = slices.DeleteFunc(s.cache, func(old cachedChange) bool { return old.key == l.key && old.change.Tree == l.change.Tree })
	if len(s.cache) >= maxCached {
		s.cache = s.cache[1:]
	}
	s.cache = append(s.cache, l)
}

// acquireSlot waits until fewer than maxParallel requests run git. If it returns nil, the caller
// must call releaseSlot. It returns an error if ctx ends first.
func (s *Service) acquireSlot(ctx context.Context) error {
	select {
	case s.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Service) releaseSlot() { <-s.slots }

// unreadable converts an error from reading a change to the error that the client gets. It returns
// err unchanged if err is nil, if it is a context error, or if its method NotFound or Conflict
// returns true. It converts all other errors to conflict errors with the code change_unreadable.
func unreadable(err error) error {
	var known interface{ NotFound() bool }
	var conflict interface{ Conflict() bool }
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &known) && known.NotFound(), errors.As(err, &conflict) && conflict.Conflict():
		return err
	}
	return protocol.Conflict("change_unreadable", "the change cannot be read: %v", err)
}
