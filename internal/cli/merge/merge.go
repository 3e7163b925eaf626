// Package merge implements the command 'gaffer merge': it merges the changes of tasks
// into a branch, and undoes merges.
package merge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/attempt/merge"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/runview"
	"gaffer/internal/exit"
	"gaffer/internal/pause"
	"gaffer/internal/text/display"
)

// New creates the command 'gaffer merge'.
func New(e *env.Env) *cobra.Command {
	var request fleet.MergeRequest
	var squash, rebase, mergeCommit, undo bool
	cmd := &cobra.Command{
		Use:                   "merge RUN|TASK [flags]",
		DisableFlagsInUseLine: true,
		Short:                 "Merge the changes of tasks into a branch, or undo a merge",
		Long: `Merge the change of a task, or all approved changes of a run one after the other
in the order of the plan. The branch is the one that the plan names or that was
checked out when the run started.

Each change is merged aside first, and the task's checks run on the merged files.
The branch moves only if they succeed. A worktree that has the branch checked out
is updated only if you agree, and never if files in it are not committed.

A conflict changes nothing: the commands that resolve it are printed. With --fix
the agent of the task resolves it in its own branch, and the merge goes on when it
has ended.

--undo moves the branch back to where it was. If the branch has moved since, add
--revert for a commit that takes the change back.`,
		Example:           "  gaffer merge api\n  gaffer merge abc1 --squash --into develop\n  gaffer merge abc1 --all --fix --yes\n  gaffer merge api --undo",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: openfleet.RunsAndTasks(e),
	}
	flags := cmd.Flags()
	flags.StringVar(&request.Into, "into", "", "merge into `BRANCH`")
	flags.BoolVar(&mergeCommit, "merge", false, "a merge commit for each change, as without it")
	flags.BoolVar(&squash, "squash", false, "one commit for each change")
	flags.BoolVar(&rebase, "rebase", false, "a copy of each commit, without merge commits")
	flags.BoolVar(&request.All, "all", false, "also changes that were not approved")
	flags.BoolVar(&request.Fix, "fix", false, "send conflicts and failed checks back to the agent of the task")
	flags.BoolVar(&undo, "undo", false, "take the last merge of the task back")
	flags.BoolVar(&request.Revert, "revert", false, "with --undo: add a commit that takes it back if the branch has moved since")
	flags.BoolVarP(&request.Yes, "yes", "y", false, "update a worktree that has the branch checked out")
	cmd.MarkFlagsMutuallyExclusive("merge", "squash", "rebase")
	cmd.MarkFlagsMutuallyExclusive("undo", "fix")
	openfleet.FleetFlags(e, cmd)
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		if request.Revert && !undo {
			return exit.Usage(errors.New("--revert needs --undo"))
		}
		if err := e.RefuseAgents("gaffer merge"); err != nil {
			return err
		}
		switch {
		case squash:
			request.Method = string(merge.BySquash)
		case rebase:
			request.Method = string(merge.ByRebase)
		case mergeCommit:
			request.Method = string(merge.ByMerge)
		}
		return runview.WithFleet(ctx, e, func(v *runview.View) error {
			var err error
			if request.Run, request.Task, err = openfleet.FindEither(ctx, v.Fleet, args[0]); err != nil {
				return err
			}
			c := command{e, v, request, *asJSON, undo}
			if undo {
				return c.undo(ctx)
			}
			return c.merge(ctx)
		})
	}
	return cmd
}

// command holds the arguments of one call of 'gaffer merge'.
type command struct {
	env     *env.Env
	view    *runview.View
	request fleet.MergeRequest
	json    bool
	undoing bool
}

// merge merges the changes. It asks the user for consent where needed, and waits for the agents
// that resolve conflicts.
func (c command) merge(ctx context.Context) error {
	var all []fleet.MergeResult
	// resolved is the id of the task whose agent has just resolved a conflict, or "".
	resolved := ""
	next := func(ctx context.Context, yes bool) (results []fleet.MergeResult, err error) {
		request := c.request
		request.Yes = yes
		// If an agent has just resolved the conflict of a task, first merge this task, with a
		// request that names it. A request for the whole run would skip the task, because the user
		// has not approved the files that the agent has changed.
		if resolved != "" && request.Task == "" {
			request.Task = resolved
			results, err = c.overServer(ctx, request)
			if last := len(results) - 1; err != nil || last >= 0 && (results[last].State == fleet.MergeSent || results[last].State == fleet.MergeBlocked) {
				return results, err
			}
			resolved, request.Task = "", ""
		}
		more, err := c.overServer(ctx, request)
		return append(results, more...), err
	}
	// On this machine, use one merge queue for all passes of the loop. The queue remembers which
	// changes the user has approved. It merges such a change even after an agent has edited it to
	// resolve a conflict.
	if c.view.App != nil {
		next = c.view.App.Landing.WithProgress(c.progress).Queue(c.request).Merge
	}
	for yes := c.request.Yes; ; {
		results, err := next(ctx, yes)
		if err != nil {
			return err
		}
		var last fleet.MergeResult
		for _, m := range results {
			last = m
			// Do not print a merge that an earlier pass of the loop has printed, or for which the
			// user is asked for consent below.
			if m.State == fleet.MergeAlready && listed(all, m.Task) || m.Consent && c.mayAsk() {
				continue
			}
			all = append(all, m)
			if err := c.print(m); err != nil {
				return err
			}
		}
		switch {
		case last.Consent && c.mayAsk():
			if yes, err = c.env.Confirm(ctx, display.Line(last.Why, 300)+". Go on?"); err != nil {
				return err
			}
			if !yes {
				return exit.Conflict(fmt.Errorf("task %s was not merged", last.Task))
			}
		case last.State == fleet.MergeSent:
			if resolved, err = c.awaitAgent(ctx, last.Task); err != nil {
				return err
			}
		default:
			return c.conclude(all)
		}
	}
}

func listed(all []fleet.MergeResult, task string) bool {
	return slices.ContainsFunc(all, func(m fleet.MergeResult) bool { return m.Task == task && m.State == fleet.MergeDone })
}

func (c command) mayAsk() bool { return c.env.Interactive() && !c.json }

func (c command) progress(text string) { c.env.Talk("%s", display.Printable(text)) }

// overServer merges on a server. A request may end before the merge, because the server runs the
// task's checks first. Then overServer repeats the request until the merge has ended.
func (c command) overServer(ctx context.Context, request fleet.MergeRequest) ([]fleet.MergeResult, error) {
	const interval = time.Second
	for waits := false; ; waits = true {
		results, err := c.view.Fleet.Merge(ctx, request)
		if err != nil || len(results) == 0 || results[len(results)-1].State != fleet.MergeRunning {
			return results, err
		}
		if !waits {
			c.progress(fmt.Sprintf("waiting for the server: %s; Ctrl-C leaves, and the merge goes on", results[len(results)-1].Why))
		}
		if pause.For(ctx, interval); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// awaitAgent waits until the agent that resolves the conflict of a task has ended. It returns the
// task's id if the task is complete, and "" if it is not.
func (c command) awaitAgent(ctx context.Context, task string) (complete string, err error) {
	if err := c.view.Fleet.EnsureProcess(ctx, c.request.Run); err != nil {
		return "", err
	}
	c.progress(fmt.Sprintf("waiting for the agent of %s; Ctrl-C leaves, and the agent goes on", task))
	ended := errors.New("ended")
	const interval = 200 * time.Millisecond
	err = c.view.Fleet.Follow(ctx, c.request.Run, interval, func(r fleet.Run) error {
		for _, t := range r.Tasks {
			if t.ID == task && t.Status.Final() {
				if t.Status == fleet.Complete {
					complete = task
				}
				return ended
			}
		}
		return nil
	})
	if errors.Is(err, ended) {
		err = nil
	}
	return complete, err
}

// print prints the result of one merge or undo: to stdout if the branch was moved, otherwise to
// stderr. With --json it prints nothing, because the results are then printed together at the end.
func (c command) print(m fleet.MergeResult) error {
	if c.json {
		return nil
	}
	task, into := display.Printable(m.Task), display.Printable(m.Into)
	switch m.State {
	case fleet.MergeDone:
		line := fmt.Sprintf("%s: merged into %s, %.9s to %.9s", task, into, m.Landing.Before, m.Landing.After)
		if m.Updated != "" {
			line += ", and the files in " + display.Printable(m.Updated) + " are updated"
		}
		return c.env.Printf("%s\n", line)
	case fleet.MergeUndone:
		line := fmt.Sprintf("%s: the merge into %s is undone", task, into)
		if m.Updated != "" {
			line += ", and the files in " + display.Printable(m.Updated) + " are updated"
		}
		return c.env.Printf("%s\n", line)
	case fleet.MergeAlready:
		c.env.Talk("%s: was merged into %s before", task, into)
	case fleet.MergeNothing:
		c.env.Talk("%s: nothing to merge, %s has all of it", task, into)
	case fleet.MergeRunning:
		c.env.Talk("%s: its checks go on; 'gaffer review' shows when it is merged", task)
	case fleet.MergeSent:
		c.env.Talk("%s: not merged into %s: %s; its agent works on it", task, into, display.Line(m.Why, 200))
	default:
		what := "merged into"
		if c.undoing {
			what = "undone in"
		}
		c.env.Talk("%s: not %s %s: %s", task, what, into, display.PrintableLines(m.Why))
		if m.Hint != "" {
			c.env.Talk("%s", display.PrintableLines(m.Hint))
		}
	}
	return nil
}

// conclude prints the results of all merges if --json was given. It returns an error that names the
// tasks that could not be merged, if there are any.
func (c command) conclude(results []fleet.MergeResult) error {
	if c.json {
		if err := c.env.PrintJSON(append([]fleet.MergeResult{}, results...)); err != nil {
			return err
		}
	}
	var failed []string
	for _, m := range results {
		if m.Failed() || c.request.Task != "" && m.State == fleet.MergeSkipped {
			failed = append(failed, m.Task)
		}
	}
	if len(failed) > 0 {
		return exit.Conflict(fmt.Errorf("not merged: %s", strings.Join(failed, ", ")))
	}
	return nil
}

// undo undoes the last merge of a task, and asks the user for consent where needed.
func (c command) undo(ctx context.Context) error {
	if c.request.Task == "" {
		return exit.Usage(errors.New("--undo takes one task: name it as RUN/TASK"))
	}
	m, err := c.view.Fleet.UndoMerge(ctx, c.request)
	if err == nil && m.Consent && c.mayAsk() {
		if c.request.Yes, err = c.env.Confirm(ctx, display.Line(m.Why, 300)+". Go on?"); err == nil && c.request.Yes {
			m, err = c.view.Fleet.UndoMerge(ctx, c.request)
		}
	}
	if err != nil {
		return err
	}
	if c.json {
		err = c.env.PrintJSON(m)
	} else {
		err = c.print(m)
	}
	if err == nil && m.Failed() {
		err = exit.Conflict(fmt.Errorf("not undone: %s", m.Task))
	}
	return err
}
