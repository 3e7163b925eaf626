package openfleet

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/text/display"
)

// Completer is a completion function of cobra: it returns suggestions for the next argument. After
// an error it suggests nothing, because a shell prompt cannot show errors.
type Completer = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

// Runs completes the first argument with the ids of this project's unfinished runs. If ended is
// true, it also suggests runs that have ended.
func Runs(e *env.Env, ended bool) Completer {
	return first(e, func(ctx context.Context, f Fleet, _ string) []string { return runs(ctx, f, ended) })
}

// Tasks completes the first argument with the tasks for which the function fits returns true. It
// suggests tasks of the unfinished runs and of the latest run. If the user has typed RUN/, it
// suggests tasks of that run.
func Tasks(e *env.Env, fits func(fleet.Task) bool) Completer {
	return first(e, func(ctx context.Context, f Fleet, typed string) []string { return tasks(ctx, f, typed, fits) })
}

// RunsAndTasks completes the first argument with unfinished runs and tasks.
func RunsAndTasks(e *env.Env) Completer {
	return first(e, func(ctx context.Context, f Fleet, typed string) []string {
		open := func(t fleet.Task) bool { return !t.Status.Final() }
		return append(runs(ctx, f, false), tasks(ctx, f, typed, open)...)
	})
}

// RunsAndChanges completes the first argument with runs, including those that have ended, and with
// tasks that may have a change.
func RunsAndChanges(e *env.Env) Completer {
	return first(e, func(ctx context.Context, f Fleet, typed string) []string {
		return append(runs(ctx, f, true), tasks(ctx, f, typed, HasChange)...)
	})
}

// Answers completes two arguments: first the name of an open question, then one of that question's
// options.
func Answers(e *env.Env) Completer {
	return complete(func(ctx context.Context, _ *cobra.Command, args []string, _ string) (words []string) {
		_ = WithQuestions(ctx, e, func(all Everything) error {
			for _, a := range all.Asked {
				switch {
				case len(args) == 0:
					words = append(words, display.Printable(a.Name)+"\t"+display.Line(a.Text, 60))
				case len(args) == 1 && (a.Name == args[0] || a.Task == args[0]):
					for i, choice := range a.Choices() {
						words = append(words, fmt.Sprintf("%d\t%s", i+1, display.Line(choice.Text, 60)))
					}
				}
			}
			return nil
		})
		return words
	})
}

// Schedules completes the first argument with the names of schedules. If removed is true, it
// suggests only removed schedules that can still be restored.
func Schedules(e *env.Env, removed bool) Completer {
	return complete(func(ctx context.Context, _ *cobra.Command, args []string, _ string) (words []string) {
		if len(args) > 0 {
			return nil
		}
		_ = WithApp(ctx, e, func(a *app.App) error {
			all, err := a.Schedules(nil)
			if err != nil {
				return err
			}
			list, err := all.List(ctx, removed)
			for _, s := range list {
				words = append(words, display.Printable(s.Name)+"\t"+display.Line(s.Cron+" "+s.Zone, 60))
			}
			return err
		})
		return words
	})
}

// SuggestedRules completes the value of a flag with the permission rules that gaffer suggests for
// an open question. The first argument on the command line names the question.
func SuggestedRules(e *env.Env) Completer {
	return complete(func(ctx context.Context, _ *cobra.Command, args []string, _ string) (rules []string) {
		_ = WithQuestions(ctx, e, func(all Everything) error {
			for _, a := range all.Asked {
				if len(args) > 0 && (a.Name == args[0] || a.Task == args[0]) {
					rules = append(rules, a.Suggestions...)
				}
			}
			return nil
		})
		return rules
	})
}

// Grants completes the first argument with the ids of grants. A grant is a permission rule that a
// user has made by an answer that also holds for later requests.
func Grants(e *env.Env) Completer {
	return first(e, func(ctx context.Context, f Fleet, _ string) (words []string) {
		list, _ := f.Grants(ctx) // ignore the error: a shell prompt cannot show it
		for _, g := range list {
			words = append(words, g.ID+"\t"+display.Line(g.Rule, 60))
		}
		return words
	})
}

func first(e *env.Env, words func(ctx context.Context, f Fleet, typed string) []string) Completer {
	return complete(func(ctx context.Context, cmd *cobra.Command, args []string, typed string) (found []string) {
		if len(args) == 0 {
			_ = withCommandFleet(ctx, e, cmd, func(f Fleet) error { found = words(ctx, f, typed); return nil })
		}
		return found
	})
}

func complete(words func(ctx context.Context, cmd *cobra.Command, args []string, typed string) []string) Completer {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		ctx := cmd.Context()
		if ctx == nil {
			ctx = context.Background()
		}
		ctx, cancel := context.WithTimeout(ctx, completeWithin)
		defer cancel()
		return words(ctx, cmd, args, typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeWithin is the timeout for collecting suggestions.
const completeWithin = 10 * time.Second

// withCommandFleet opens the fleet that cmd would use, and calls fn with it. If cmd has no flag
// --server, this is the fleet of this machine.
func withCommandFleet(ctx context.Context, e *env.Env, cmd *cobra.Command, fn func(Fleet) error) error {
	if cmd.Flags().Lookup("server") != nil {
		return WithFleet(ctx, e, fn)
	}
	return WithApp(ctx, e, func(a *app.App) error { return fn(LocalFleet(a)) })
}

func runs(ctx context.Context, f Fleet, ended bool) (words []string) {
	list, err := f.Runs(ctx, false, ended)
	if err != nil {
		return nil
	}
	for _, r := range list {
		words = append(words, r.ID+"\t"+display.Line(r.Name+", "+string(r.Status), 60))
	}
	return words
}

func tasks(ctx context.Context, f Fleet, typed string, fits func(fleet.Task) bool) (words []string) {
	if run, _, ok := strings.Cut(typed, "/"); ok {
		id, err := f.FindRun(ctx, run, false)
		if err != nil {
			return nil
		}
		r, err := f.Run(ctx, id)
		if err != nil {
			return nil
		}
		for _, t := range r.Tasks {
			if fits(t) {
				words = append(words, run+"/"+suggestion(t))
			}
		}
		return words
	}
	list, err := f.Runs(ctx, false, false)
	if err != nil {
		return nil
	}
	seen := map[string]bool{}
	for _, r := range fleet.Merge(list, latest(ctx, f)) {
		for _, t := range r.Tasks {
			if fits(t) && !seen[t.ID] {
				seen[t.ID] = true
				words = append(words, suggestion(t))
			}
		}
	}
	return words
}

// suggestion returns the suggestion for a task: its id, a tab and a description. Completion scripts
// of shells expect this form.
func suggestion(t fleet.Task) string {
	return display.Printable(t.ID) + "\t" + display.Line(t.Name+", "+string(t.Status), 60)
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
