package connect

import (
	"context"

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

// HasChange reports whether a task may have changed something in a worktree.
func HasChange(t fleet.Task) bool {
	return t.Attempt != nil && (t.Worktree != "" || t.Branch != "" || t.Attempt.Diff != nil)
}

// ChangedPaths completes the name of a task that has a change, and then the files of
// the change.
func ChangedPaths(e *env.Env) Completer {
	return complete(func(ctx context.Context, cmd *cobra.Command, args []string, typed string) (words []string) {
		_ = asked(ctx, e, cmd, func(f Fleet) error {
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
