// Package workers implements the command 'gaffer workers': it lists the workers of this machine or
// of a server, and the agents that users started by hand.
package workers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/table"
	"gaffer/internal/connect/serverfleet"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
)

// New returns the command 'gaffer workers'.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "workers",
		Short: "List the workers, and the agents that users started, and what they do",
		Long: `List the workers, of this machine or of a server: whether each has sent a
heartbeat in the last half minute, and what it last reported about its agents,
with the age of that report. A worker that is offline may still have running
agents. Claude Code, Codex and Gemini that users have started by hand are included,
with what they wait for and where they work. Then come the open questions.`,
		Example: "  gaffer workers --server https://build.example:4870\n  gaffer workers --json | jq -r '.[] | select(.worker_status == \"online\").name'",
		Args:    cobra.NoArgs,
	}
	openfleet.FleetFlags(e, cmd)
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return openfleet.WithFleet(cmd.Context(), e, func(f openfleet.Fleet) error {
			list, err := f.Workers(cmd.Context())
			if err != nil {
				return err
			}
			if *asJSON {
				return e.PrintJSON(append([]serverfleet.Worker{}, list...))
			}
			if len(list) == 0 && f.Where() == "" {
				e.Talk("nothing runs here, and no agent was started by hand")
				return nil
			}
			if err := Show(e, list); err != nil {
				return err
			}
			questions, err := openfleet.Questions(cmd.Context(), f, slices.DeleteFunc(list, func(w serverfleet.Worker) bool { return !w.ByHand || !w.Online() }))
			for _, a := range questions {
				if err := table.Lines(e, nil, a.Line()); err != nil {
					return err
				}
			}
			return err
		})
	}
	return cmd
}

// Show prints a table of workers, online workers first.
func Show(e *env.Env, list []serverfleet.Worker) error {
	if len(list) == 0 {
		e.Talk("no worker has ever been heard of: 'gaffer worker%s' starts one", e.ServerArg())
		return nil
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b serverfleet.Worker) int { return rank(a) - rank(b) })
	rows := [][]table.Cell{table.Row("Name", "Worker", "Agents", "Project", "Task", "Slots", "Labels", "Seen", "Version")}
	for _, w := range list {
		rows = append(rows, row(w, e.Now()))
	}
	return table.Print(e, rows)
}

func rank(w serverfleet.Worker) int {
	if w.Online() {
		return 0
	}
	return 1
}

func row(w serverfleet.Worker, now time.Time) []table.Cell {
	status := table.Cell{Text: w.WorkerStatus, Style: display.Green}
	if !w.Online() {
		status.Style = display.Faint
	}
	slots := ""
	if w.Slots > 0 {
		slots = fmt.Sprint(w.Slots)
	}
	return []table.Cell{
		{Text: w.Name},
		status,
		{Text: statusText(w, now)},
		{Text: display.Line(strings.Join(w.Projects(), ", "), 40)},
		{Text: display.Line(taskText(w), 60)},
		{Text: slots},
		{Text: display.Line(strings.Join(w.UserLabels(), ", "), 60)},
		{Text: ago(w.LastSeen, now)},
		{Text: w.Version},
	}
}

// taskText returns the task that a worker runs. For an agent that a user started by hand, it
// returns what the agent waits for. If the agent waits for nothing, it returns the agent's folder.
func taskText(w serverfleet.Worker) string {
	if w.ByHand {
		return cmp.Or(w.For, w.Dir)
	}
	return w.Task
}

// statusText returns what the worker last reported about its agents, such as "running". For an
// offline worker it adds the age of that report.
func statusText(w serverfleet.Worker, now time.Time) string {
	if w.Online() || w.ClaudeStatus == "" || w.ClaudeSince.IsZero() {
		return w.ClaudeStatus
	}
	return w.ClaudeStatus + ", said " + ago(w.ClaudeSince, now)
}

func ago(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return phrase.Age(max(now.Sub(t), 0)) + " ago"
}
