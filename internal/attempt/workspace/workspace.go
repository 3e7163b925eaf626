// Package workspace gives each task of a run the folder and the branch that it works in. It also
// adds merge tasks to the plan, which merge the branches of other tasks. Because each merge is a
// task, users can see, repair and retry it.
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

// CreateBase returns the id of the commit at which a plan's worktrees start in the repository at
// root, or "" if the plan has no worktrees. It returns an error if the repository cannot have
// worktrees, so that the user learns of the problem before anything starts. If the plan comes from
// a workflow file, CreateBase also creates the branch that this file names.
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

// FillInto fills in the field Into of the plan's tasks: the branch that a task's work is merged
// into. If a task has its own worktree and its Into is empty, it gets the branch that is checked
// out at root. If no branch is checked out there, Into stays empty. Three kinds of tasks are not
// changed: tasks of a workflow file, tasks of a team of agents, and tasks that do a bead (a work
// item of a ledger).
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

// CreateBranch creates the given branch, which starts at base: the name of another branch or the id
// of a commit. If the given branch exists already, it is not changed. CreateBranch returns the id
// of the commit that base names.
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
	Trees    string                    // path of the parent folder of worktrees
	LogFile  func(t store.Task) string // returns the path of a task's log file, or "" if it has none
	Base     string                    // id of the commit at which worktrees start by default
	Workflow *plan.Workflow            // settings of the plan's workflow file; nil for plans of other formats
}

// Log implements [worker.Workspace].
func (w Workspace) Log(t store.Task) string { return w.LogFile(t) }

// Work implements [worker.Workspace]. It returns the path of the task's worktree, which it creates
// if necessary. For a task without a worktree it returns the root of the repository that the task
// works in.
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
		spec.Base = trees[own].Base // keep the base commit of the existing worktree, even if the branch that it came from has moved
	case task.Fork != nil:
		spec.Base, spec.Start, err = forkStart(ctx, repo, *task.Fork)
	case task.SharedWorktree == "" || w.Workflow != nil:
		spec.Base, err = resolveBase(ctx, repo, trees, spec.Base.Commit)
	default: // do not call resolveBase, because it commits work: a team of agents commits its work itself
		spec.Base, err = repo.Base(ctx, spec.Base.Commit)
	}
	if err != nil {
		return "", err
	}
	tree, err := repo.Create(ctx, *spec)
	return tree.Path, err
}

// resolveBase returns the commit that a worktree starts from. The parameter name is the name of a
// branch or the id of a commit. If it is the branch of another worktree of the run, resolveBase
// first commits the uncommitted work in that worktree, so that the new worktree includes this work.
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

// Commit implements [worker.Workspace]: it commits what a task has left uncommitted in its
// worktree. It does nothing for a task of a team of agents, because the team checks and commits its
// worktrees itself. For a task of a workflow file, Commit also commits nothing: its work is
// committed later, when its branch is merged or another worktree starts from it. Commit returns a
// [*TreeGoneError] if the worktree of a task is missing, but not for tasks of a team.
func (w Workspace) Commit(ctx context.Context, t store.Task, task plan.Task) error {
	spec := w.treeOf(t.TaskKey, task)
	if spec == nil || task.SharedWorktree != "" && w.Workflow == nil { // no worktree, or one of a team of agents, which checks it itself
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

// Lost tells the worker that the uncommitted work of the task is lost.
func (e *TreeGoneError) Lost() bool { return true }

// rootOf returns the root folder of the repository that a task works on. If the task does a bead (a
// work item), this is the bead's repository, else the project's. A task without a worktree works in
// this folder.
func (w Workspace) rootOf(task plan.Task) string {
	if task.Dispatch != nil {
		return task.Dispatch.Repo
	}
	return w.Root
}

// treeOf describes the worktree that a task uses, or returns nil if it uses none. In the result,
// Base.Commit is not always the id of a commit: it may be the name of a branch, or empty for the
// checked-out commit.
func (w Workspace) treeOf(key store.TaskKey, task plan.Task) *worktree.Spec {
	spec := &worktree.Spec{
		Run: key.Run, Task: key.Task, Branch: task.Branch, Base: git.Base{Commit: w.Base},
		Root: w.Trees,
	}
	switch flow := w.Workflow; {
	case task.Agent == MergeAgent:
		return nil
	case flow != nil && task.Worktree:
		spec.Base.Commit = flow.Branch // this branch has the work of earlier waves
	case flow != nil: // a task that is alone in its wave works directly on the workflow's branch
		spec.Task, spec.Branch, spec.Base.Commit, spec.Shared = workflowTree, flow.Branch, flow.Branch, true
	case task.SharedWorktree != "":
		spec.Task, spec.Base.Commit = task.SharedWorktree, task.Base
	case !task.Worktree && task.Branch == "":
		return nil
	case task.Base != "":
		spec.Base.Commit = task.Base
	case task.Dispatch != nil:
		spec.Base.Commit = "" // empty means the commit that the task's repository has checked out
	}
	return spec
}

// workflowTree is used in place of a task's id for the worktree that tasks of a workflow share. The
// tasks of a workflow are grouped into waves, which run one after the other. All tasks that are
// alone in their wave work in this worktree.
const workflowTree = "workflow"

// Worktree returns the path of the repository that a task's worktree belongs to, and the worktree's
// name there. The name differs from the task's id if several tasks share the worktree. ok is false
// if the task has no worktree.
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
