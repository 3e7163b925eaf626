package workspace

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"

	"gaffer/internal/attempt/merge"
	"gaffer/internal/attempt/worktree"
)

// MergeAgent is the agent name of tasks that merge branches. No agent program works on such a task:
// gaffer merges the branches itself. The prompt of the task is a mergeStep as JSON.
const MergeAgent = "gaffer-join"

// MergeCommand is the name of a hidden command of gaffer, which does the work of a task of
// MergeAgent. That work is called a merge step.
const MergeCommand = "join"

// mergeStep describes what a task of MergeAgent has to do. If Into is set, the task merges branches
// into the branch Into. Then, if Open is set, it opens a pull request. Finally, if Remove is set,
// it deletes the worktrees of the run.
type mergeStep struct {
	Run   string   `json:"run"`
	Repo  string   `json:"repo,omitempty"` // path of the repository; empty means the project's repository
	Into  string   `json:"into,omitempty"`
	Start string   `json:"start,omitempty"` // branch or commit at which the new branch Into starts; empty if Into must already exist
	Tasks []string `json:"tasks,omitempty"` // ids of the tasks whose branches are merged, in this order
	Names []string `json:"names,omitempty"` // names of Tasks for the merge commits; may be shorter than Tasks
	// If Into is set, the branch Branch is merged into it after the branches of Tasks. If Open is
	// set, Branch is the branch of the pull request.
	Branch string `json:"branch,omitempty"`
	Remove bool   `json:"remove,omitempty"` // delete the run's worktrees after all merges
	Open   string `json:"open,omitempty"`   // base branch of the pull request; empty for no pull request
}

// MergeMain runs the command [MergeCommand]. It reads a merge step as JSON from in, performs it in
// the project in the current folder, and returns the exit code.
func MergeMain(ctx context.Context, in io.Reader, out, errs io.Writer) int {
	root, err := os.Getwd()
	if err == nil {
		err = RunMergeStep(ctx, root, in, out)
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

// RunMergeStep reads a merge step as JSON from in and performs it in the project at root. It skips
// what an earlier try of the step has already done, so it can be retried.
func RunMergeStep(ctx context.Context, root string, in io.Reader, out io.Writer) error {
	var s mergeStep
	if err := json.NewDecoder(in).Decode(&s); err != nil {
		return fmt.Errorf("what to join: %w", err)
	}
	repo, err := worktree.Open(ctx, cmp.Or(s.Repo, root))
	if err != nil {
		return err
	}
	trees, err := repo.List(ctx, s.Run)
	if err != nil {
		return err
	}
	branches, titles, err := s.commit(ctx, repo, trees)
	if err != nil {
		return err
	}
	if s.Start != "" {
		base, err := repo.Base(ctx, s.Start)
		if err == nil {
			_, err = repo.Branch(ctx, s.Into, base)
		}
		if err != nil {
			return err
		}
	}
	if s.Into != "" && len(branches) > 0 {
		done, err := merge.Branches(ctx, repo, merge.Spec{Into: s.Into, Branches: branches, Titles: titles})
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s is at %s: %d merged, %d already there\n", s.Into, done.After, len(done.Merged), len(done.Skipped))
	}
	if s.Open != "" {
		if err := openPullRequest(ctx, root, s.Branch, s.Open, out); err != nil {
			return err
		}
	}
	if !s.Remove {
		return nil
	}
	for _, t := range trees {
		removed, err := repo.Remove(ctx, t, false)
		if kept := (*worktree.KeptError)(nil); errors.As(err, &kept) {
			// The worktree must stay, for example because it has work that no other branch has.
			// That is no failure of the step.
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

// commit commits the work that the tasks to merge have left uncommitted in their worktrees. If the
// step removes all worktrees of the run, it commits the work in all of them. It returns the
// branches to merge, and the titles of their merge commits.
func (s mergeStep) commit(ctx context.Context, repo *worktree.Repo, trees []worktree.Tree) (branches, titles []string, err error) {
	name := func(i int) string {
		if i >= 0 && i < len(s.Names) {
			return s.Names[i]
		}
		return ""
	}
	for _, t := range trees {
		i := slices.Index(s.Tasks, t.Task)
		// In a workflow, some tasks work directly on the workflow's branch, in a worktree with the
		// task id workflowTree. Their work must be committed too. Outside of workflows, a task may
		// have this id by chance. Only the merge steps of workflows have no Start.
		ofWorkflow := s.Start == "" && t.Task == workflowTree
		if i < 0 && !ofWorkflow && !s.Remove {
			continue
		}
		if err := CommitWork(ctx, repo, t, name(i)); err != nil {
			return nil, nil, err
		}
	}
	for i, task := range s.Tasks {
		at := slices.IndexFunc(trees, func(t worktree.Tree) bool { return t.Task == task })
		if at < 0 {
			return nil, nil, fmt.Errorf("task %s has no worktree", task)
		}
		branches, titles = append(branches, trees[at].Branch), append(titles, MergeTitle(task, name(i)))
	}
	if s.Branch != "" {
		branches = append(branches, s.Branch)
	}
	return branches, titles, nil
}

// openPullRequest pushes a branch to the remote origin. Then it opens a pull request into base
// with the program gh, unless one is open already.
func openPullRequest(ctx context.Context, root, branch, base string, out io.Writer) error {
	if _, err := exec.LookPath("gh"); err != nil {
		return fmt.Errorf("open a pull request of %s: the program gh is not installed; install it and retry this task, or open it yourself", branch)
	}
	repo, err := worktree.Open(ctx, root)
	if err != nil {
		return err
	}
	environ, err := repo.Environ()
	if err != nil {
		return fmt.Errorf("open a pull request of %s: %w", branch, err)
	}
	run := func(out io.Writer, argv ...string) error {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		var stderr bytes.Buffer
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = root, environ, out, &stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w: %s", argv[0], err, bytes.TrimSpace(stderr.Bytes()))
		}
		return nil
	}
	ref := "refs/heads/" + branch // full name, because git reads a plus before a name as "force"
	if err := run(out, "git", "push", "--set-upstream", "origin", ref+":"+ref); err != nil {
		return err
	}
	var open bytes.Buffer
	err = run(&open, "gh", "pr", "list", "--head", branch, "--base", base, "--state", "open", "--json", "url", "--jq", ".[].url")
	if err != nil {
		return err
	}
	if url := bytes.TrimSpace(open.Bytes()); len(url) > 0 {
		fmt.Fprintf(out, "the pull request is open already: %s\n", url)
		return nil
	}
	return run(out, "gh", "pr", "create", "--fill", "--base", base, "--head", branch)
}
