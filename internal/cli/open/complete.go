package open

import (
	"context"

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
	return first(e, func(ctx context.Context, a *app.App) []string { return runs(ctx, a, ended) })
}

// Tasks completes the first argument with tasks that fit, of runs that have not
// ended and of the latest.
func Tasks(e *env.Env, fits func(fleet.Task) bool) Completer {
	return first(e, func(ctx context.Context, a *app.App) []string { return tasks(ctx, a, fits) })
}

// RunsAndTasks completes the first argument with both, of what has not ended.
func RunsAndTasks(e *env.Env) Completer {
	return first(e, func(ctx context.Context, a *app.App) []string {
		open := func(t fleet.Task) bool { return !t.Status.Final() }
		return append(runs(ctx, a, false), tasks(ctx, a, open)...)
	})
}

func first(e *env.Env, words func(context.Context, *app.App) []string) Completer {
	return func(cmd *cobra.Command, args []string, _ string) (found []string, _ cobra.ShellCompDirective) {
		ctx := cmd.Context()
		if ctx == nil {
			ctx = context.Background()
		}
		if len(args) == 0 {
			_ = With(ctx, e, func(a *app.App) error { found = words(ctx, a); return nil })
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

func runs(ctx context.Context, a *app.App, ended bool) (words []string) {
	list, err := a.Runs(ctx, false, ended)
	if err != nil {
		return nil
	}
	for _, r := range list {
		words = append(words, r.ID+"\t"+env.Line(r.Name+", "+string(r.Status), 60))
	}
	return words
}

func tasks(ctx context.Context, a *app.App, fits func(fleet.Task) bool) (words []string) {
	list, err := a.Runs(ctx, false, false)
	if err != nil {
		return nil
	}
	if len(list) == 0 {
		list = latest(ctx, a)
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

func latest(ctx context.Context, a *app.App) []fleet.Run {
	id, err := a.FindRun(ctx, "-", false)
	if err != nil {
		return nil
	}
	r, err := a.Run(ctx, id)
	if err != nil {
		return nil
	}
	return []fleet.Run{r}
}
