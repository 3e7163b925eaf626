package open

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/app"
	"gaffer/internal/cli/env"
)

// Completer suggests words for the next argument. What cannot be read suggests
// nothing: a shell's prompt is no place for errors.
type Completer = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

// Runs completes the first argument with runs of this project, those that have
// ended as well if ended.
func Runs(e *env.Env, ended bool) Completer {
	return first(e, func(ctx context.Context, f Fleet) []string { return runs(ctx, f, ended) })
}

// Tasks completes the first argument with tasks that fit, of runs that have not
// ended and of the latest.
func Tasks(e *env.Env, fits func(fleet.Task) bool) Completer {
	return first(e, func(ctx context.Context, f Fleet) []string { return tasks(ctx, f, fits) })
}

// RunsAndTasks completes the first argument with both, of what has not ended.
func RunsAndTasks(e *env.Env) Completer {
	return first(e, func(ctx context.Context, f Fleet) []string {
		open := func(t fleet.Task) bool { return !t.Status.Final() }
		return append(runs(ctx, f, false), tasks(ctx, f, open)...)
	})
}

func first(e *env.Env, words func(context.Context, Fleet) []string) Completer {
	return func(cmd *cobra.Command, args []string, _ string) (found []string, _ cobra.ShellCompDirective) {
		ctx := cmd.Context()
		if ctx == nil {
			ctx = context.Background()
		}
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if len(args) == 0 {
			_ = asked(ctx, e, cmd, func(f Fleet) error { found = words(ctx, f); return nil })
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// patience is how long a person waits for suggestions.
const patience = 3 * time.Second

// asked opens what the command itself would ask: a command that cannot ask a
// server has no flag for it.
func asked(ctx context.Context, e *env.Env, cmd *cobra.Command, do func(Fleet) error) error {
	if cmd.Flags().Lookup("server") != nil {
		return WithFleet(ctx, e, do)
	}
	return With(ctx, e, func(a *app.App) error { return do(Here(a)) })
}

func runs(ctx context.Context, f Fleet, ended bool) (words []string) {
	list, err := f.Runs(ctx, false, ended)
	if err != nil {
		return nil
	}
	for _, r := range list {
		words = append(words, r.ID+"\t"+env.Line(r.Name+", "+string(r.Status), 60))
	}
	return words
}

func tasks(ctx context.Context, f Fleet, fits func(fleet.Task) bool) (words []string) {
	list, err := f.Runs(ctx, false, false)
	if err != nil {
		return nil
	}
	if len(list) == 0 {
		list = latest(ctx, f)
	}
	seen := map[string]bool{}
	for _, r := range list {
		for _, t := range r.Tasks {
			if fits(t) && !seen[t.ID] {
				seen[t.ID] = true
				words = append(words, env.Printable(t.ID)+"\t"+env.Line(t.Name+", "+string(t.Status), 60))
			}
		}
	}
	return words
}

func latest(ctx context.Context, f Fleet) []fleet.Run {
	id, err := f.FindRun(ctx, "-", false)
	if err != nil {
		return nil
	}
	r, err := f.Run(ctx, id)
	if err != nil {
		return nil
	}
	return []fleet.Run{r}
}
