// Package pick implements the command 'gaffer pick': the user chooses one of the results that
// several agents have produced for the same task.
package pick

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/cli/compare"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/engine/selection"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
)

// New creates the command 'gaffer pick'.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pick TASK CANDIDATE",
		Short: "Take the result of one of the agents that did the same task",
		Long: `Take one of the candidates of a task. Tasks that come after it start from that
result. The other results stay on their branches until they are pruned.

CANDIDATE is the candidate's task, such as api.codex, or the part after the dot.
Only a complete candidate can be taken. 'gaffer compare TASK' shows them.`,
		Example: "  gaffer pick api codex\n  gaffer pick abc1/api api.claude-opus",
		Args:    cobra.ExactArgs(2),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return openfleet.Tasks(e, func(t fleet.Task) bool { return len(t.Candidates) > 0 && t.Question != nil })(cmd, args, typed)
			}
			return candidates(cmd.Context(), e, args[0]), cobra.ShellCompDirectiveNoFileComp
		},
	}
	openfleet.FleetFlags(e, cmd)
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := e.RefuseAgents("gaffer pick"); err != nil {
			return err
		}
		ctx := cmd.Context()
		return openfleet.WithFleet(ctx, e, func(f openfleet.Fleet) error {
			c, err := compare.Find(ctx, f, args[0])
			if err != nil {
				return err
			}
			id, err := (selection.PickInput{Task: c.Task, Candidates: c.Candidates}).FindChosen(args[1])
			if err != nil {
				return exit.WithHint(exit.Usage(err), fmt.Sprintf("'gaffer compare %s' shows the candidates", display.Printable(c.Task)))
			}
			if c.Question == nil {
				return notAsked(c)
			}
			if err := f.Answer(ctx, c.Question.ID, fleet.Reply{Text: id}); err != nil {
				return err
			}
			if err := f.EnsureProcess(ctx, c.Run); err != nil {
				return fmt.Errorf("%s is picked, but %w", id, err)
			}
			if *asJSON {
				return e.PrintJSON(map[string]string{"run": c.Run, "task": c.Task, "picked": id})
			}
			e.Talk("picked %s for %s", display.Printable(id), display.Printable(c.Task))
			return nil
		})
	}
	return cmd
}

// notAsked returns an error which says why the user cannot pick a candidate now.
func notAsked(c fleet.Comparison) error {
	name := display.Printable(c.Task)
	if c.Picked != "" {
		return exit.WithHint(exit.Conflict(fmt.Errorf("%s has picked %s already", name, display.Printable(c.Picked))),
			"tasks after it may have started from that; the other candidates are on their own branches")
	}
	if !c.Status.Final() {
		return exit.WithHint(exit.Conflict(fmt.Errorf("%s is %s and does not ask yet", name, c.Status)), "it asks when all candidates have ended, unless the plan has another rule")
	}
	return exit.WithHint(exit.Conflict(fmt.Errorf("%s is %s", name, c.Status)), fmt.Sprintf("'gaffer retry %s' lets it pick again", name))
}

// candidates returns suggestions for shell completion: the candidates of the task that name means.
func candidates(ctx context.Context, e *env.Env, name string) (words []string) {
	if ctx == nil {
		ctx = context.Background()
	}
	_ = openfleet.WithFleet(ctx, e, func(f openfleet.Fleet) error {
		found, err := compare.Find(ctx, f, name)
		if err != nil {
			return err
		}
		for _, c := range found.Candidates {
			words = append(words, display.Printable(c.Task)+"\t"+selection.Describe(c))
		}
		return nil
	})
	return words
}
