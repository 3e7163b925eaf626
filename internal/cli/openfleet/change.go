package openfleet

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/cli/env"
	"gaffer/internal/text/display"
)

func (m machine) Change(ctx context.Context, run, task string, q fleet.ChangeQuery) (fleet.TaskChange, error) {
	return m.app.Changes.Change(ctx, run, task, q)
}

func (m machine) ChangedFile(ctx context.Context, run, task string, q fleet.FileQuery) (fleet.FileChange, error) {
	return m.app.Changes.File(ctx, run, task, q)
}

func (m machine) Reviews(ctx context.Context, run string) (fleet.RunReviews, error) {
	return m.app.Changes.Reviews(ctx, run)
}

// SendBack sends a reviewed change with the unsent comments back to the agent. tree is the id of
// the git tree that the user has reviewed, or "" if unknown. If the change was already sent back
// and there are no unsent comments, SendBack sends nothing and returns alreadySent = true.
//
// In both cases, SendBack then makes sure that a process works on the run. This is also needed if
// the change was already sent back, because the process may have died since.
func SendBack(ctx context.Context, f Fleet, run, task, tree string) (r fleet.Review, alreadySent bool, err error) {
	if r, err = f.Review(ctx, run, task); err != nil {
		return r, false, err
	}
	alreadySent = r.State == fleet.ReviewSentBack && !HasDrafts(r)
	if !alreadySent {
		if r, err = f.ChangeReview(ctx, run, task, fleet.ReviewAction{Action: fleet.ActSendBack, Tree: tree}); err != nil {
			return r, false, err
		}
	}
	if err := f.EnsureProcess(ctx, run); err != nil {
		return r, alreadySent, fmt.Errorf("%s is sent back, but %w", display.Printable(task), err)
	}
	return r, alreadySent, nil
}

// HasDrafts reports whether a review has comments that were not sent yet.
func HasDrafts(r fleet.Review) bool {
	return slices.ContainsFunc(r.Comments, func(c fleet.Comment) bool { return c.Round == 0 })
}

// HasChange reports whether a task may have changed files: it was started, and has a worktree, a
// branch or stored diff statistics.
func HasChange(t fleet.Task) bool {
	return t.Attempt != nil && (t.Worktree != "" || t.Branch != "" || t.Attempt.Diff != nil)
}

// ChangedPaths completes the first argument with the names of tasks that may have a change, and
// each later argument with the paths of the files in that change.
func ChangedPaths(e *env.Env) Completer {
	return complete(func(ctx context.Context, cmd *cobra.Command, args []string, typed string) (words []string) {
		_ = withCommandFleet(ctx, e, cmd, func(f Fleet) error {
			if len(args) == 0 {
				words = tasks(ctx, f, typed, HasChange)
				return nil
			}
			t, err := f.FindTask(ctx, args[0])
			if err != nil {
				return err
			}
			v, err := f.Change(ctx, t.Run, t.ID, fleet.ChangeQuery{})
			for _, file := range v.Change.Files {
				words = append(words, display.Printable(file.Path)+"\t"+file.Status)
			}
			return err
		})
		return words
	})
}
