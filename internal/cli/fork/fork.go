// Package fork implements the command 'gaffer fork': it creates a task that starts with a copy of
// another task's conversation and files.
package fork

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/table"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
)

// New creates the command 'gaffer fork'.
func New(e *env.Env) *cobra.Command {
	var r fleet.ForkRequest
	var turns bool
	cmd := &cobra.Command{
		Use:                   "fork TASK [--at N] [--prompt TEXT] [--agent NAME] [--model NAME]",
		DisableFlagsInUseLine: true,
		Short:                 "Continue a copy of a task's conversation and files",
		Long: `Start a new task that continues a copy of another task's conversation and files,
for example to try another way. The original task, its conversation and its
branch stay as they are. The new task is a run of its own, with a worktree and a
branch of its own; its change includes the work that it starts with.

Without --at, the copy is as the last attempt left it. With --at N, the
conversation ends after turn N, which is the N-th message of the user; --turns
lists them. Files are kept at the end of each attempt: in between, the new task
gets those of the attempt before, and the command says so.

Claude Code and Codex copy conversations. Any other program, and another
--agent, starts a new conversation with a summary of the earlier one.`,
		Example: `  gaffer fork api --prompt "do it without a new dependency"
  gaffer fork api --turns
  gaffer fork abc1/api --at 2 --model opus
  gaffer fork api --agent codex --json | jq -r .run`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: openfleet.Tasks(e, func(t fleet.Task) bool { return t.Attempt != nil && t.Status != fleet.Running && t.Agent != "command" }),
	}
	flags := cmd.Flags()
	flags.IntVar(&r.At, "at", 0, "keep the conversation up to turn `N`, from 1")
	flags.StringVar(&r.Prompt, "prompt", "", "say `TEXT` to the agent; without it, the agent continues")
	flags.StringVar(&r.Agent, "agent", "", "continue with agent `NAME`")
	flags.StringVar(&r.Model, "model", "", "continue with model `NAME`")
	flags.BoolVar(&turns, "turns", false, "only list the turns of the conversation")
	openfleet.FleetFlags(e, cmd)
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if flags.Changed("at") && r.At < 1 {
			return exit.Usage(fmt.Errorf("--at %d: turns are counted from 1", r.At))
		}
		if flags.Changed("prompt") && strings.TrimSpace(r.Prompt) == "" {
			return exit.Usage(errors.New("--prompt: the message has no text"))
		}
		ctx := cmd.Context()
		return openfleet.WithFleet(ctx, e, func(f openfleet.Fleet) error {
			t, err := f.FindTask(ctx, args[0])
			if err != nil {
				return err
			}
			if turns {
				return list(ctx, e, f, t, *asJSON)
			}
			r.Run, r.Task = t.Run, t.ID
			made, err := f.Fork(ctx, r)
			if err != nil {
				return err
			}
			if err := f.EnsureProcess(ctx, made.Run); err != nil {
				return exit.WithHint(fmt.Errorf("task %s of run %s is there, but no gaffer works on it: %w", made.Task, made.Run, err),
					fmt.Sprintf("'gaffer resume %s' starts it", made.Run))
			}
			if *asJSON {
				return e.PrintJSON(made)
			}
			return report(e, made)
		})
	}
	return cmd
}

func report(e *env.Env, made fleet.ForkResult) error {
	name := fleet.ShortRun(made.Run) + "/" + display.Printable(made.Task)
	for _, note := range made.Notes {
		e.Talk("%s", display.Printable(note))
	}
	e.Talk("'gaffer logs %s -f' follows it", name)
	return e.Printf("forked %s as %s\n", fleet.ShortRun(made.From.Run)+"/"+display.Printable(made.From.Task), name)
}

func list(ctx context.Context, e *env.Env, f openfleet.Fleet, t fleet.Task, asJSON bool) error {
	turns, err := f.Turns(ctx, t.Run, t.ID)
	if err != nil {
		return err
	}
	if asJSON {
		return e.PrintJSON(turns)
	}
	rows := [][]table.Cell{{{Text: "Turn", Keep: true}, {Text: "Attempt", Keep: true}, {Text: "Files", Keep: true, Drop: 1}, {Text: "Message"}, {Text: "Answer", Drop: 2}}}
	for _, one := range turns {
		files := ""
		if one.Last {
			files = "kept"
		}
		rows = append(rows, []table.Cell{{Text: strconv.Itoa(one.Number)}, {Text: strconv.Itoa(one.Attempt)}, {Text: files}, {Text: phrase.Line(one.Text)}, {Text: phrase.Line(one.Answer)}})
	}
	return table.Print(e, rows)
}
