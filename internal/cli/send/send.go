// Package send implements the command 'gaffer send': it sends a message to the agent of
// a task.
package send

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
)

// mostText is the maximum number of bytes that are read from stdin. It is larger than the longest
// valid message, so a text that is cut off here is refused as too long.
const mostText = 1 << 20

// New creates the command 'gaffer send'.
func New(e *env.Env) *cobra.Command {
	var now, wait bool
	cmd := &cobra.Command{
		Use:                   "send TASK TEXT...|-",
		DisableFlagsInUseLine: true,
		Short:                 "Send a message to the agent of a task",
		Long: `Send a message to the agent of a task. - reads the text from stdin.

An agent that runs gets the message after its current tool call. With --now its
current answer is cut short, if its program can do that. A program that takes no
input while it runs gets the message when it has ended: its conversation continues
with the message. So does that of a task that has ended, with one more attempt.

A message that was accepted is delivered, even if gaffer or the agent is killed in
between. 'gaffer logs TASK' shows it where the agent has taken it.

With --wait the command ends when the task has ended, and prints what the agent said
last. The exit code is then 1 if the task has failed.`,
		Example: `  gaffer send api "use the port of the config file"
  git diff main | gaffer send abc1/api -
  gaffer send api --now "stop: that file is generated"
  gaffer send api "add a test for it" --wait`,
		Args:              cobra.MinimumNArgs(2),
		ValidArgsFunction: openfleet.Tasks(e, func(t fleet.Task) bool { return t.Agent != "command" }),
	}
	cmd.Flags().BoolVar(&now, "now", false, "cut the agent's current answer short")
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until the task has ended")
	openfleet.FleetFlags(e, cmd)
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		text := strings.Join(args[1:], " ")
		if text == "-" {
			data, err := io.ReadAll(io.LimitReader(e.In, mostText))
			if err != nil {
				return fmt.Errorf("read the message from stdin: %w", err)
			}
			text = string(data)
		}
		if strings.TrimSpace(text) == "" {
			return exit.WithHint(exit.Usage(errors.New("the message has no text")), "'gaffer send TASK TEXT', or 'gaffer send TASK -' to read it from stdin")
		}
		return openfleet.WithFleet(ctx, e, func(f openfleet.Fleet) error {
			t, err := f.FindTask(ctx, args[0])
			if err != nil {
				return err
			}
			m, err := f.Send(ctx, fleet.Message{Run: t.Run, Task: t.ID, Text: text, Now: now})
			if err != nil {
				return err
			}
			if err := f.EnsureProcess(ctx, t.Run); err != nil {
				return exit.WithHint(fmt.Errorf("the message waits, but no gaffer works on its run: %w", err),
					fmt.Sprintf("'gaffer resume %s' delivers it", t.Run))
			}
			sent := result{Message: m}
			if !*asJSON {
				printNext(e, t)
			}
			if wait {
				if sent, err = awaitEnd(ctx, f, m); err != nil {
					return err
				}
			}
			return report(e, sent, *asJSON)
		})
	}
	return cmd
}

// result is the value that the command prints as JSON.
type result struct {
	Message fleet.Message `json:"message"`
	Task    *fleet.Task   `json:"task,omitempty"` // the task after it has ended; only with --wait
}

// printNext prints when the agent will get the message. t is the task before the message was sent.
func printNext(e *env.Env, t fleet.Task) {
	id := display.Printable(t.ID)
	switch {
	case t.Status == fleet.Running:
		e.Talk("sent to %s, which is running: its agent gets the message after its current tool call", id)
	case t.Status.Final():
		e.Talk("sent to %s, which was %s: it continues with the message", id, phrase.Line(string(t.Status)))
	default:
		e.Talk("sent to %s, which is %s: its agent gets the message when it starts", id, phrase.Line(string(t.Status)))
	}
}

// errEnded is the error that the callback of Follow returns to end the call when the task has
// ended.
var errEnded = errors.New("the task has ended")

// awaitEnd waits until the task of the message has ended. It then returns the current state of the
// message and of the task. A task that is queued again to deliver the message has not ended.
func awaitEnd(ctx context.Context, f openfleet.Fleet, m fleet.Message) (result, error) {
	err := f.Follow(ctx, m.Run, 500*time.Millisecond, func(r fleet.Run) error {
		for _, t := range r.Tasks {
			if t.ID == m.Task && t.Status.Final() {
				return errEnded
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnded) {
		return result{}, err
	}
	t, err := f.Task(ctx, m.Run, m.Task)
	if err != nil {
		return result{}, err
	}
	all, err := f.Messages(ctx, m.Run, m.Task)
	for _, now := range all {
		if now.ID == m.ID {
			m = now
		}
	}
	return result{m, &t}, err
}

func report(e *env.Env, sent result, asJSON bool) error {
	if asJSON {
		if err := e.PrintJSON(sent); err != nil {
			return err
		}
	}
	t := sent.Task
	if t == nil {
		return nil
	}
	if !asJSON && t.Attempt != nil && t.Attempt.Summary != "" {
		if err := e.Printf("%s\n", display.PrintableLines(t.Attempt.Summary)); err != nil {
			return err
		}
	}
	switch {
	case sent.Message.Waiting():
		return exit.WithHint(fmt.Errorf("task %s is %s, and the message was not delivered", t.ID, t.Status),
			fmt.Sprintf("it waits: 'gaffer retry %s' delivers it", t.ID))
	case t.Status != fleet.Complete:
		return fmt.Errorf("task %s is %s: %s", t.ID, t.Status, t.Outcome)
	}
	return nil
}
