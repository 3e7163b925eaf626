// Package landing brings the changes of tasks into branches. It merges, rebases and discards
// changes, opens pull requests for them, and undoes merges and discards.
//
// A merge is first made and checked without touching any branch. Then the target branch is moved,
// and a git ref that describes the merge is created, see [merge.Land]. Finally, the user's review
// of the change is updated in the store. If the process dies before that, [Lander.Sync] finds the
// ref and updates the review. So no change is merged twice, and no merge is forgotten.
package landing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"gaffer/fleet"
	"gaffer/internal/attempt/merge"
	"gaffer/internal/attempt/workspace"
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/engine/review"
	"gaffer/internal/engine/store"
	"gaffer/internal/git"
	"gaffer/internal/plan"
)

// Reviews stores the user's reviews of the changes that tasks have made, and sends messages to
// agents. The engine implements it.
type Reviews interface {
	Reviews(ctx context.Context, run string) ([]fleet.Review, error)
	ChangeReview(ctx context.Context, key store.TaskKey, who string, change func(*fleet.Review) error) error
	Send(ctx context.Context, m fleet.Message) (fleet.Message, error)
	Messages(ctx context.Context, key store.TaskKey) ([]fleet.Message, error)
}

// Options are the settings and dependencies of a Lander.
type Options struct {
	Store   store.Store
	Reviews Reviews
	Project string               // path of the project's root, for runs that do not name their project
	Scratch string               // path of the folder for the worktrees in which merges are checked
	Here    func(store.Run) bool // reports whether the worktrees of a run are on this machine
	Who     string               // name of the user who changes the reviews
	// Progress is called with one line of text about work that takes long, such as a check. If
	// Progress is nil, these lines are dropped.
	Progress func(text string)
}

// Lander merges, rebases and discards the changes of runs on this machine.
type Lander struct{ opts Options }

// New returns a Lander.
func New(opts Options) *Lander {
	if opts.Progress == nil {
		opts.Progress = func(string) {}
	}
	return &Lander{opts}
}

// WithProgress returns a Lander that reports its progress to another function.
func (l *Lander) WithProgress(progress func(text string)) *Lander {
	opts := l.opts
	opts.Progress = progress
	return New(opts)
}

// As returns a Lander that changes reviews in the name of another user.
func (l *Lander) As(who string) *Lander {
	opts := l.opts
	opts.Who = who
	return New(opts)
}

// ElsewhereError reports that the worktrees of a run are on another machine.
type ElsewhereError struct{ Run, Where string }

func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("the changes of run %s are not on this machine, but on %s", e.Run, cmp.Or(e.Where, "the machine of its worker"))
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *ElsewhereError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *ElsewhereError) Hint() string { return "run the command there" }

// NoChangeError reports that a task or a run has no change to which the requested step, such as a
// merge, can be applied.
type NoChangeError struct{ What, Why string }

func (e *NoChangeError) Error() string { return e.What + " has no change: " + e.Why }

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *NoChangeError) Conflict() bool { return true }

// change is everything that one task has changed, with the user's review of it and the task's
// worktree.
type change struct {
	task   store.Task
	spec   plan.Task
	repo   *worktree.Repo
	tree   worktree.Tree
	gone   bool // the task's worktree was discarded or removed
	review fleet.Review
	into   string // name of the branch that the change should be merged into
	lands  bool   // gaffer merges the change by itself: the plan says so, and the run is complete
}

func (c *change) key() store.TaskKey { return c.task.TaskKey }

// changes returns the changes of a run's tasks in the order in which they are merged: the order of
// the plan, but each task after the tasks that it depends on. It first updates reviews that a crash
// has left out of date.
func (l *Lander) changes(ctx context.Context, run string) ([]*change, error) {
	row, tasks, err := l.readRun(ctx, run)
	if err != nil {
		return nil, err
	}
	all := map[string]*change{}
	repos := repositories{}
	for _, t := range tasks {
		spec, err := plan.DecodeTask(t.Spec)
		if err != nil {
			return nil, fmt.Errorf("task %s: %w", t.Task, err)
		}
		if !spec.Worktree && spec.Branch == "" || spec.SharedWorktree != "" || spec.Candidate != "" || spec.Agent == workspace.MergeAgent {
			// Skip tasks without a worktree of their own, and tasks that only merge branches. Also
			// skip candidates, which are tasks that do the same work: another task takes over the
			// work of one of them, and is merged.
			continue
		}
		dir := cmp.Or(row.Project, l.opts.Project)
		if spec.Dispatch != nil {
			dir = spec.Dispatch.Repo
		}
		if all[t.Task], err = repos.change(ctx, dir, t, spec); err != nil {
			return nil, err
		}
		all[t.Task].lands = spec.Land == plan.LandMerge && row.Status == store.Complete
	}
	reviews, err := l.opts.Reviews.Reviews(ctx, run)
	if err != nil {
		return nil, err
	}
	for _, r := range reviews {
		if c := all[r.Task]; c != nil {
			c.review = r
		}
	}
	var list []*change
	for _, t := range mergeOrder(tasks) {
		if c := all[t]; c != nil {
			list = append(list, c)
		}
	}
	for _, repo := range repos {
		if err := l.sync(ctx, repo.Repo, run, list); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// readRun returns a run and its tasks. It returns an error if this Lander cannot merge the run's
// changes, because they are on another machine, or because the run belongs to a team of agents or a
// workflow, which merges its work itself.
func (l *Lander) readRun(ctx context.Context, run string) (row store.Run, tasks []store.Task, err error) {
	err = l.opts.Store.Read(ctx, func(r store.Reader) (err error) {
		if row, err = r.Run(run); err != nil {
			return err
		}
		tasks, err = r.Tasks(run)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		err = &git.MissingError{What: "run", Name: run, Advice: "'gaffer runs' lists them"}
	}
	if err != nil {
		return row, nil, err
	}
	header, err := plan.DecodeHeader(row.Plan)
	switch {
	case err != nil:
	case row.Conducted || header.Team != nil:
		err = &NoChangeError{"run " + run, "a team merges its work itself"}
	case header.Workflow != nil:
		err = &NoChangeError{"run " + run, "a workflow merges its work itself, into " + header.Workflow.Branch}
	case !l.opts.Here(row):
		err = &ElsewhereError{Run: run}
	}
	return row, tasks, err
}

// repositories holds the git repositories in which the tasks of a run work. The key is the path of
// the folder for which the repository was opened.
type repositories map[string]*repository

// repository is a git repository, with the worktrees of one run.
type repository struct {
	*worktree.Repo
	trees []worktree.Tree
}

// change returns the change of a task in the repository at dir. The result has a new review in the
// state "open". If the store has a review of the change, the caller must replace the new one by it.
func (r repositories) change(ctx context.Context, dir string, t store.Task, spec plan.Task) (*change, error) {
	repo := r[dir]
	if repo == nil {
		opened, err := worktree.Open(ctx, dir)
		if err != nil {
			return nil, err
		}
		trees, err := opened.List(ctx, t.Run)
		if err != nil {
			return nil, err
		}
		repo = &repository{opened, trees}
		r[dir] = repo
	}
	c := &change{task: t, spec: spec, repo: repo.Repo, into: spec.Into, review: fleet.Review{Run: t.Run, Task: t.Task, State: fleet.ReviewOpen}}
	if i := slices.IndexFunc(repo.trees, func(tree worktree.Tree) bool { return tree.Task == t.Task }); i >= 0 {
		c.tree = repo.trees[i]
	} else {
		c.gone, c.tree = true, worktree.Tree{Run: t.Run, Task: t.Task, Branch: cmp.Or(spec.Branch, worktree.BranchOf(t.Run, t.Task))}
	}
	if c.into == "" {
		base, err := repo.Base(ctx, "")
		if err != nil {
			return nil, err
		}
		c.into = base.Branch
	}
	return c, nil
}

// Sync brings the reviews of a run up to date after a crash. It compares them with refs in the git
// repository that say which changes were merged or discarded.
func (l *Lander) Sync(ctx context.Context, run string) error {
	_, err := l.changes(ctx, run)
	return err
}

func (l *Lander) sync(ctx context.Context, repo *worktree.Repo, run string, list []*change) error {
	landed, err := merge.Landings(ctx, repo, run)
	if err != nil {
		return err
	}
	discarded, err := repo.Discarded(ctx, run)
	if err != nil {
		return err
	}
	for _, c := range list {
		if c.repo != repo {
			continue
		}
		var last *merge.Landing
		known := false // whether a git ref describes the merge that the review refers to
		for i, e := range landed {
			if e.Task != c.task.Task {
				continue
			}
			if e.Present {
				last = &landed[i]
			}
			known = known || c.review.Landing != nil && c.review.Landing.Undo == e.Undo
		}
		at := slices.IndexFunc(discarded, func(d worktree.Discarded) bool { return d.Tree.Task == c.task.Task })
		switch {
		case last != nil && (c.review.Landing == nil || c.review.Landing.Undo != last.Undo):
			err = l.record(ctx, c, func(r *fleet.Review) error { return merged(r, landingOf(*last)) })
		case c.review.Landing != nil && !known:
			err = l.record(ctx, c, review.Undo)
		case at >= 0 && c.review.State != fleet.ReviewDiscarded && c.gone:
			err = l.record(ctx, c, func(r *fleet.Review) error { return review.Discard(r, discarded[at].Rescue) })
		case at < 0 && c.review.State == fleet.ReviewDiscarded && !c.gone:
			err = l.record(ctx, c, review.Undo)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// merged records in the review r that the change was merged. The landing l describes that merge. If
// r already has the landing of an older merge, l replaces it.
func merged(r *fleet.Review, l fleet.Landing) error {
	if r.Landing != nil && r.Landing.Undo == l.Undo {
		return nil
	}
	if r.State == fleet.ReviewMerged {
		r.State = fleet.ReviewApproved
	}
	if r.State == fleet.ReviewSentBack {
		// The change was merged before it was sent back to its agent. So the review keeps the state
		// "sent back".
		r.Landing = &l
		return nil
	}
	return review.Merge(r, l)
}

// record calls the function rule to update the review of the change c, and stores the result.
func (l *Lander) record(ctx context.Context, c *change, rule func(*fleet.Review) error) error {
	return l.opts.Reviews.ChangeReview(ctx, c.key(), l.opts.Who, func(r *fleet.Review) error {
		err := rule(r)
		c.review = *r
		return err
	})
}

func landingOf(l merge.Landing) fleet.Landing {
	return fleet.Landing{Into: l.Into, Method: string(l.Method), Before: l.Before, After: l.After, Tip: l.Tip, Undo: l.Undo, At: l.At}
}

// find returns the change of a task, and all changes of the run.
func (l *Lander) find(ctx context.Context, run, task string) (*change, []*change, error) {
	list, err := l.changes(ctx, run)
	if err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(list, func(c *change) bool { return c.task.Task == task })
	if i < 0 {
		return nil, nil, &NoChangeError{"task " + task, "it does not work in a worktree of its own"}
	}
	return list[i], list, nil
}
