// Package workspace gives each task of a run the folder and the branch that it works
// in. It also merges the branches: each merge is a task, so that users can see, repair and
// retry it.
package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/engine/store"
	"gaffer/internal/git"
	"gaffer/internal/plan"
)

// CreateBase returns the start commit of a plan's worktrees in the repository at root,
// or "" if the plan has none. It returns an error if the repository cannot have
// worktrees, so that the user learns it before anything starts. For a workflow it also
// creates the branch.
func CreateBase(ctx context.Context, root string, p plan.Plan) (commit string, err error) {
	if p.Workflow != nil {
		return CreateBranch(ctx, root, p.Workflow.Base, p.Workflow.Branch)
	}
	inProject := func(t plan.Task) bool { return t.Dispatch == nil && (t.Worktree || t.Branch != "") }
	if !slices.ContainsFunc(p.Tasks, inProject) {
		return "", nil
	}
	repo, err := worktree.Open(ctx, root)
	if err != nil {
		return "", err
	}
	base, err := repo.Base(ctx, "")
	return base.Commit, err
}

// FillInto sets the target branch of tasks for which the plan names none: the branch that
// is checked out at root. If no branch is checked out, it changes nothing.
func FillInto(ctx context.Context, root string, p plan.Plan) (plan.Plan, error) {
	open := func(t plan.Task) bool {
		return t.Dispatch == nil && t.SharedWorktree == "" && (t.Worktree || t.Branch != "") && t.Into == ""
	}
	if p.Workflow != nil || p.Team != nil || !slices.ContainsFunc(p.Tasks, open) {
		return p, nil
	}
	repo, err := worktree.Open(ctx, root)
	if err != nil {
		return p, err
	}
	base, err := repo.Base(ctx, "")
	if err != nil {
		return p, err
	}
	p.Tasks = slices.Clone(p.Tasks)
	for i, t := range p.Tasks {
		if open(t) {
			p.Tasks[i].Into = base.Branch
		}
	}
	return p, nil
}

// CreateBranch creates a branch at a commit or branch named base, unless it exists. It
// returns the commit of base.
func CreateBranch(ctx context.Context, root, base, branch string) (commit string, err error) {
	repo, err := worktree.Open(ctx, root)
	if err != nil {
		return "", err
	}
	start, err := repo.Base(ctx, base)
	if err != nil {
		return "", err
	}
	_, err = repo.Branch(ctx, branch, start)
	return start.Commit, err
}

// Workspace holds the folders in which this machine works on the tasks of a run. It
// implements [worker.Workspace].
type Workspace struct {
	Root     string                    // the project's root
	Trees    string                    // the parent folder of worktrees
	LogFile  func(t store.Task) string // log file of a task; returns "" for none
	Base     string                    // start commit of worktrees
	Workflow *plan.Workflow            // nil if the plan is not a workflow
}

// Log implements [worker.Workspace].
func (w Workspace) Log(t store.Task) string { return w.LogFile(t) }

// Work implements [worker.Workspace]. It returns the task's worktree. Tasks without a
// worktree work in the root of the project or of their bead's repository.
func (w Workspace) Work(ctx context.Context, t store.Task, task plan.Task) (string, error) {
	spec := w.treeOf(t.TaskKey, task)
	if spec == nil {
		return w.rootOf(task), nil
	}
	repo, err := worktree.Open(ctx, w.rootOf(task))
	if err != nil {
		return "", err
	}
	trees, err := repo.List(ctx, spec.Run)
	if err != nil {
		return "", err
	}
	own := slices.IndexFunc(trees, func(t worktree.Tree) bool { return t.Task == spec.Task })
	switch {
	case own >= 0:
		spec.Base = trees[own].Base // keep the start commit, even if the branch that it was on has moved
	case task.SharedWorktree == "" || w.Workflow != nil:
		spec.Base, err = resolveBase(ctx, repo, trees, spec.Base.Commit)
	default: // a team commits the work of its groups itself
		spec.Base, err = repo.Base(ctx, spec.Base.Commit)
	}
	if err != nil {
		return "", err
	}
	tree, err := repo.Create(ctx, *spec)
	return tree.Path, err
}

// resolveBase resolves the name of a branch or commit to the commit that a worktree starts
// from. If it is the branch of another worktree of the run, resolveBase first commits the
// uncommitted work there.
func resolveBase(ctx context.Context, repo *worktree.Repo, trees []worktree.Tree, name string) (git.Base, error) {
	for _, t := range trees {
		if t.Branch == name {
			if err := CommitWork(ctx, repo, t, ""); err != nil {
				return git.Base{}, fmt.Errorf("start from the work of task %s: %w", t.Task, err)
			}
		}
	}
	return repo.Base(ctx, name)
}

// Commit implements [worker.Workspace]. It skips tasks of a workflow or a team: their
// work is committed when the branch is merged.
func (w Workspace) Commit(ctx context.Context, t store.Task, task plan.Task) error {
	spec := w.treeOf(t.TaskKey, task)
	if spec == nil || task.SharedWorktree != "" && w.Workflow == nil { // a team checks its branches itself
		return nil
	}
	repo, err := worktree.Open(ctx, w.rootOf(task))
	if err != nil {
		return err
	}
	trees, err := repo.List(ctx, spec.Run)
	if err != nil {
		return err
	}
	for _, tree := range trees {
		if tree.Task != spec.Task {
			continue
		}
		if _, err := os.Stat(tree.Path); errors.Is(err, fs.ErrNotExist) {
			return &TreeGoneError{tree.Path, tree.Branch}
		}
		if w.Workflow != nil {
			return nil
		}
		return CommitWork(ctx, repo, tree, task.Name)
	}
	return &TreeGoneError{filepath.Join(w.Trees, spec.Run, spec.Task), spec.Branch}
}

// TreeGoneError reports that a worktree was deleted while its task was running.
type TreeGoneError struct{ Path, Branch string }

func (e *TreeGoneError) Error() string {
	return fmt.Sprintf("its worktree %s was deleted while it was worked on; what was not committed is lost", e.Path)
}

// Lost marks the error as lost work for the worker.
func (e *TreeGoneError) Lost() bool { return true }

// rootOf returns the folder in which a task works if it has no worktree.
func (w Workspace) rootOf(task plan.Task) string {
	if task.Dispatch != nil {
		return task.Dispatch.Repo
	}
	return w.Root
}

// treeOf returns the worktree that a task uses, or nil for none. In the result
// Base.Commit may be the name of a branch or commit that is not resolved yet.
func (w Workspace) treeOf(key store.TaskKey, task plan.Task) *worktree.Spec {
	spec := &worktree.Spec{
		Run: key.Run, Task: key.Task, Branch: task.Branch, Base: git.Base{Commit: w.Base},
		Root: w.Trees,
	}
	switch flow := w.Workflow; {
	case task.Agent == MergeAgent:
		return nil
	case flow != nil && task.Worktree:
		spec.Base.Commit = flow.Branch // includes the work of earlier waves
	case flow != nil: // the only task of its wave works on the workflow's branch itself
		spec.Task, spec.Branch, spec.Base.Commit, spec.Shared = workflowTree, flow.Branch, flow.Branch, true
	case task.SharedWorktree != "":
		spec.Task, spec.Base.Commit = task.SharedWorktree, task.Base
	case !task.Worktree && task.Branch == "":
		return nil
	case task.Base != "":
		spec.Base.Commit = task.Base
	case task.Dispatch != nil:
		spec.Base.Commit = "" // the commit that the task's repository has checked out
	}
	return spec
}

// workflowTree is used instead of a task's id in the name of one worktree of a workflow:
// all tasks that are alone in their wave share it.
const workflowTree = "workflow"

// Worktree returns the repository of a task's worktree and the worktree's name there, which
// differs from the task's id if several tasks share it. It reports false if the task has
// no worktree.
func (w Workspace) Worktree(key store.TaskKey, task plan.Task) (repo, name string, ok bool) {
	spec := w.treeOf(key, task)
	if spec == nil {
		return "", "", false
	}
	return w.rootOf(task), spec.Task, true
}

// HasWorktree reports whether a task works in a worktree.
func (w Workspace) HasWorktree(key store.TaskKey, task plan.Task) bool {
	return w.treeOf(key, task) != nil
}
