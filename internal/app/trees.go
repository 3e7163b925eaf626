package app

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// baseOf returns the start commit of a plan's worktrees, or "" if the plan has none. It
// returns an error if the repository cannot have worktrees, so that the user learns it
// before anything starts. For a workflow or a team it also creates the branch.
func (a *App) baseOf(ctx context.Context, p plan.Plan) (string, error) {
	needs := p.Workflow != nil || slices.ContainsFunc(p.Tasks, func(t plan.Task) bool {
		return t.Dispatch == nil && (t.Worktree || t.Branch != "")
	})
	if p.Team != nil {
		return a.teamBase(ctx, p)
	}
	if !needs {
		return "", nil
	}
	repo, err := worktree.Open(ctx, a.opts.Project.Root)
	if err != nil {
		return "", err
	}
	name := ""
	if p.Workflow != nil {
		name = p.Workflow.Base
	}
	base, err := repo.Base(ctx, name)
	if err != nil {
		return "", err
	}
	if p.Workflow != nil {
		_, err = repo.Branch(ctx, p.Workflow.Branch, base)
	}
	return base.Commit, err
}

// workspace holds the folders in which this machine works on the tasks of a run.
type workspace struct {
	root  string                    // the project's root
	trees string                    // the parent folder of worktrees
	log   func(t store.Task) string // log file of a task; returns "" for none
	base  string                    // start commit of worktrees
	flow  *plan.Workflow            // nil if the plan is not a workflow

	terminals bool // some agents run in a terminal
}

// place returns the workspace of a run.
func (a *App) place(run store.Run) (workspace, error) {
	p, err := plan.Decode(run.Plan)
	if err != nil {
		return workspace{}, fmt.Errorf("plan of run %s: %w", run.ID, err)
	}
	inTerminal := func(t plan.Task) bool { return t.Dispatch != nil && t.Dispatch.Session != "" }
	return workspace{
		root: a.opts.Project.Root, trees: treesIn(a.state), log: a.logOf, base: run.Base, flow: p.Workflow,
		terminals: slices.ContainsFunc(p.Tasks, inTerminal),
	}, nil
}

// treesIn returns the folder for this machine's worktrees.
func treesIn(state string) string { return filepath.Join(state, "worktrees") }

// logOf returns the log file of a task.
func (a *App) logOf(t store.Task) string {
	log, err := a.session.LogPath(t.Run, t.Task)
	if err != nil { // the task's id is not a file name; no plan contains such an id
		return ""
	}
	return log
}

// Log implements [worker.Workspace].
func (p workspace) Log(t store.Task) string { return p.log(t) }

// Work implements [worker.Workspace]. It returns the task's worktree. Tasks without one
// work in the root of the project or of their bead's repository.
func (p workspace) Work(ctx context.Context, t store.Task, task plan.Task) (string, error) {
	spec := p.tree(t.TaskKey, task)
	if spec == nil {
		return p.rootOf(task), nil
	}
	repo, err := worktree.Open(ctx, p.rootOf(task))
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
		spec.Base = trees[own].Base // keep it, even if the branch that it started from has moved
	case task.Tree == "" || p.flow != nil:
		spec.Base, err = start(ctx, repo, trees, spec.Base.Commit)
	default: // a team commits the work of its groups itself
		spec.Base, err = repo.Base(ctx, spec.Base.Commit)
	}
	if err != nil {
		return "", err
	}
	tree, err := repo.Create(ctx, *spec)
	return tree.Path, err
}

// start resolves the name of a branch or commit to the commit that a worktree starts
// from. If it is the branch of another worktree of the run, start first commits the
// uncommitted work there.
func start(ctx context.Context, repo *worktree.Repo, trees []worktree.Tree, name string) (worktree.Base, error) {
	for _, t := range trees {
		if t.Branch == name {
			if err := commitWork(ctx, repo, t, ""); err != nil {
				return worktree.Base{}, fmt.Errorf("start from the work of task %s: %w", t.Task, err)
			}
		}
	}
	return repo.Base(ctx, name)
}

// Commit implements [worker.Workspace]. It skips tasks of a workflow or a team: their
// work is committed when the branch is merged.
func (p workspace) Commit(ctx context.Context, t store.Task, task plan.Task) error {
	spec := p.tree(t.TaskKey, task)
	if spec == nil || task.Tree != "" && p.flow == nil { // a team checks its branches itself
		return nil
	}
	repo, err := worktree.Open(ctx, p.rootOf(task))
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
		if p.flow != nil {
			return nil
		}
		return commitWork(ctx, repo, tree, task.Name)
	}
	return &TreeGoneError{filepath.Join(p.trees, spec.Run, spec.Task), spec.Branch}
}

// TreeGoneError reports that a worktree was deleted while its task was running.
type TreeGoneError struct{ Path, Branch string }

func (e *TreeGoneError) Error() string {
	return fmt.Sprintf("its worktree %s was deleted while it was worked on; what was not committed is lost", e.Path)
}

// Lost marks the error as lost work for the worker.
func (e *TreeGoneError) Lost() bool { return true }

// commitWork commits the uncommitted work of a task. If the worktree is missing it does
// nothing: the commits on its branch count.
func commitWork(ctx context.Context, repo *worktree.Repo, t worktree.Tree, name string) error {
	body := fmt.Sprintf("Task %s of run %s left this uncommitted.\n", t.Task, t.Run)
	_, err := repo.Commit(ctx, t, workTitle(t.Task, name)+"\n\n"+body)
	if gone := (*worktree.MissingError)(nil); errors.As(err, &gone) {
		return nil
	}
	return err
}

// titleWidth is the longest title of a commit, in characters.
const titleWidth = 72

// workTitle returns the title of a commit with the work of a task.
func workTitle(task, name string) string {
	name, _, _ = strings.Cut(strings.TrimSpace(name), "\n")
	if name == "" || name == task {
		return "Work of task " + task
	}
	return cutTitle(task + ": " + name)
}

// mergeTitle returns the title of a commit that merges the work of a task.
func mergeTitle(task, name string) string {
	name, _, _ = strings.Cut(strings.TrimSpace(name), "\n")
	if name == "" || name == task {
		return "Merge task " + task
	}
	return cutTitle("Merge " + task + ": " + name)
}

func cutTitle(title string) string {
	if c := []rune(title); len(c) > titleWidth {
		return strings.TrimSpace(string(c[:titleWidth-1])) + "…"
	}
	return title
}

// rootOf returns the folder in which a task works if it has no worktree.
func (p workspace) rootOf(task plan.Task) string {
	if task.Dispatch != nil {
		return task.Dispatch.Repo
	}
	return p.root
}

// tree returns the worktree that a task uses, or nil for none. In the result
// Base.Commit may be the name of a branch or commit that is not resolved yet.
func (p workspace) tree(key store.TaskKey, task plan.Task) *worktree.Spec {
	spec := &worktree.Spec{
		Run: key.Run, Task: key.Task, Branch: task.Branch, Base: worktree.Base{Commit: p.base},
		Root: p.trees,
	}
	switch flow := p.flow; {
	case task.Agent == mergeAgent:
		return nil
	case flow != nil && task.Worktree:
		spec.Base.Commit = flow.Branch // includes the work of earlier waves
	case flow != nil: // the only task of its wave works on the workflow's branch itself
		spec.Task, spec.Branch, spec.Base.Commit, spec.Shared = workflowTree, flow.Branch, flow.Branch, true
	case task.Tree != "":
		spec.Task, spec.Base.Commit = task.Tree, task.Base
	case !task.Worktree && task.Branch == "":
		return nil
	case task.Base != "":
		spec.Base.Commit = task.Base
	case task.Dispatch != nil:
		spec.Base.Commit = "" // whatever its repository has checked out
	}
	return spec
}

// workflowTree replaces the task's id in the name of the worktree that all prompts
// share which are alone in their wave.
const workflowTree = "workflow"

// Join performs a merge step in the project at root. It runs as a separate program, as
// a task. It skips steps that are already done, so that it can be retried.
func Join(ctx context.Context, root string, in io.Reader, out io.Writer) error {
	var j mergeStep
	if err := json.NewDecoder(in).Decode(&j); err != nil {
		return fmt.Errorf("what to join: %w", err)
	}
	repo, err := worktree.Open(ctx, cmp.Or(j.Repo, root))
	if err != nil {
		return err
	}
	trees, err := repo.List(ctx, j.Run)
	if err != nil {
		return err
	}
	branches, titles, err := j.commit(ctx, repo, trees)
	if err != nil {
		return err
	}
	if j.Start != "" {
		base, err := repo.Base(ctx, j.Start)
		if err == nil {
			_, err = repo.Branch(ctx, j.Into, base)
		}
		if err != nil {
			return err
		}
	}
	if j.Into != "" && len(branches) > 0 {
		done, err := repo.Merge(ctx, worktree.MergeSpec{Into: j.Into, Branches: branches, Titles: titles})
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s is at %s: %d merged, %d already there\n", j.Into, done.After, len(done.Merged), len(done.Skipped))
	}
	if j.Open != "" {
		if err := openRequest(ctx, root, j, out); err != nil {
			return err
		}
	}
	if j.Remove {
		return removeAll(ctx, repo, trees, out)
	}
	return nil
}

// JoinMain runs [Join] in the current folder and returns the exit code.
func JoinMain(ctx context.Context, in io.Reader, out, errs io.Writer) int {
	root, err := os.Getwd()
	if err == nil {
		err = Join(ctx, root, in, out)
	}
	if err == nil {
		return 0
	}
	fmt.Fprintln(errs, err)
	if hint := (interface{ Hint() string })(nil); errors.As(err, &hint) {
		fmt.Fprintln(errs, hint.Hint())
	}
	return 1
}

// commit commits the uncommitted work of agents. It returns the branches to merge and
// the titles of the merge commits.
func (j mergeStep) commit(ctx context.Context, repo *worktree.Repo, trees []worktree.Tree) (branches, titles []string, err error) {
	name := func(i int) string {
		if i >= 0 && i < len(j.Names) {
			return j.Names[i]
		}
		return ""
	}
	for _, t := range trees {
		i := slices.Index(j.Tasks, t.Task)
		ofWorkflow := j.Start == "" && t.Task == workflowTree // in other plans "workflow" is an ordinary task
		if i < 0 && !ofWorkflow && !j.Remove {
			continue
		}
		if err := commitWork(ctx, repo, t, name(i)); err != nil {
			return nil, nil, err
		}
	}
	for i, task := range j.Tasks {
		at := slices.IndexFunc(trees, func(t worktree.Tree) bool { return t.Task == task })
		if at < 0 {
			return nil, nil, fmt.Errorf("task %s has no worktree", task)
		}
		branches, titles = append(branches, trees[at].Branch), append(titles, mergeTitle(task, name(i)))
	}
	if j.Branch != "" {
		branches = append(branches, j.Branch)
	}
	return branches, titles, nil
}

// removeAll deletes the worktrees whose work is merged into another branch.
func removeAll(ctx context.Context, repo *worktree.Repo, trees []worktree.Tree, out io.Writer) error {
	for _, t := range trees {
		removed, err := repo.Remove(ctx, t, false)
		if kept := (*worktree.KeptError)(nil); errors.As(err, &kept) {
			fmt.Fprintf(out, "%v\n", err)
			continue
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "removed %s, kept as %s\n", t.Path, removed.Rescue)
	}
	return nil
}

// openRequest opens a pull request with the program gh, unless one is open already.
func openRequest(ctx context.Context, root string, j mergeStep, out io.Writer) error {
	if _, err := exec.LookPath("gh"); err != nil {
		return fmt.Errorf("open a pull request of %s: the program gh is not installed; install it and retry this task, or open it yourself", j.Branch)
	}
	repo, err := worktree.Open(ctx, root)
	if err != nil {
		return err
	}
	environ, err := repo.Environ()
	if err != nil {
		return fmt.Errorf("open a pull request of %s: %w", j.Branch, err)
	}
	run := func(out io.Writer, argv ...string) error {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		var said bytes.Buffer
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = root, environ, out, &said
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w: %s", argv[0], err, bytes.TrimSpace(said.Bytes()))
		}
		return nil
	}
	ref := "refs/heads/" + j.Branch // the full name, because git reads a leading plus as "force"
	if err := run(out, "git", "push", "--set-upstream", "origin", ref+":"+ref); err != nil {
		return err
	}
	var open bytes.Buffer
	err = run(&open, "gh", "pr", "list", "--head", j.Branch, "--base", j.Open, "--state", "open", "--json", "url", "--jq", ".[].url")
	if err != nil {
		return err
	}
	if url := bytes.TrimSpace(open.Bytes()); len(url) > 0 {
		fmt.Fprintf(out, "the pull request is open already: %s\n", url)
		return nil
	}
	return run(out, "gh", "pr", "create", "--fill", "--base", j.Open, "--head", j.Branch)
}
