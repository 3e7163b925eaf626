// Package doctor implements the command 'gaffer doctor': it checks this machine or the configured
// server, and prints the problems that it has found and what the user can do.
package doctor

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"gaffer/internal/app"
	"gaffer/internal/app/doctor"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/table"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
)

// New creates the command 'gaffer doctor'.
func New(e *env.Env) *cobra.Command {
	var repair bool
	var gone string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Show what is installed, what is orphaned, what to do",
		Long: `Check this machine: which agents are installed and logged in, which of your
accounts lack a config folder or a variable, what uses capacity now, which
processes attempts have left behind, which agents of the project's sessions should
be running but have no process, which ended runs have documents that do not say
so, and what this system does not support. --repair ends orphaned processes and
writes the documents.

If a supervisor was killed, its task waits while a process of it may be left;
doctor names that process. The task continues when the process has ended. If the
process does not belong to the task, use --gone with the id of the attempt.

The exit code is 1 if a run could not work: no agent can be used, or the database
is damaged or cannot be read. All other checks are made nevertheless. It is also
1 if attempts have left processes behind, or may have. Other findings do not
change the exit code. Agent programs that gaffer.yaml names are looked up but not
run; claude, codex, gemini and opencode are asked for their version.

For a server: whether it can be reached, its version, the permissions of your
token, its workers and what they can run, open questions, and paused accounts. The
exit code is 1 if no worker of the project is online, or if the token may not run
anything.`,
		Example: "  gaffer doctor\n  gaffer doctor --repair\n  gaffer doctor --json | jq .orphans\n  gaffer doctor --server https://build.example:4870",
		Args:    cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "end orphaned agents, write pending documents")
	cmd.Flags().StringVar(&gone, "gone", "", "say that nothing is alive of the attempt with this id, whose task waits")
	openfleet.FleetFlags(e, cmd)
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if gone != "" {
			return declareGone(e, gone)
		}
		far, err := openfleet.UsesServer(e)
		if err != nil {
			return err
		}
		if far {
			return printServer(cmd.Context(), e, repair, *asJSON)
		}
		opts, err := openfleet.Options(e, nil)
		if err != nil {
			return err
		}
		h, err := app.Doctor(cmd.Context(), opts, repair)
		if err != nil {
			return err
		}
		if *asJSON {
			err = e.PrintJSON(h)
		} else {
			err = show(e, h)
		}
		if err == nil && len(h.Problems) > 0 {
			err = fmt.Errorf("a run could not work here: %s", phrase.Count(len(h.Problems), "problem"))
		} else if left := len(h.Orphans) + len(h.Unproven); err == nil && left > 0 {
			err = errors.New("attempts have left processes behind, or may have")
		}
		return err
	}
	return cmd
}

// declareGone stores the user's statement that no process of an attempt is running any more on this
// machine. The attempt may belong to a run of this machine, or to a worker on this machine that
// works for a server.
func declareGone(e *env.Env, attempt string) error {
	if err := e.RefuseAgents("gaffer doctor --gone"); err != nil {
		return err
	}
	opts, err := openfleet.Options(e, nil)
	if err != nil {
		return err
	}
	if err := app.DeclareGone(opts, attempt); err != nil {
		return err
	}
	e.Talk("attempt %s is taken for gone: its task goes on when gaffer looks at it again", attempt)
	return nil
}

func show(e *env.Env, h doctor.Health) error {
	if err := e.Printf("database  %s\n", display.Printable(h.Database)); err != nil {
		return err
	}
	if err := table.Print(e, agents(h.Agents)); err != nil {
		return err
	}
	if len(h.Accounts) > 0 {
		if err := table.Print(e, accounts(h.Accounts)); err != nil {
			return err
		}
	}
	if len(h.Sandboxes) > 0 {
		if err := table.Print(e, sandboxes(h.Sandboxes)); err != nil {
			return err
		}
	}
	if len(h.Holding) > 0 {
		if err := table.Print(e, holding(h.Holding)); err != nil {
			return err
		}
	}
	for _, line := range remarks(h) {
		if err := e.Printf("%s\n", line); err != nil {
			return err
		}
	}
	return nil
}

func sandboxes(list []doctor.Sandbox) [][]table.Cell {
	rows := [][]table.Cell{table.Row("Sandbox", "Here", "Why not")}
	for _, s := range list {
		mark := table.Cell{Text: "✓", Style: display.Green}
		if s.Problem != "" {
			mark = table.Cell{Text: "✗", Style: display.Faint}
		}
		rows = append(rows, []table.Cell{{Text: s.Mode}, mark, {Text: display.Printable(s.Problem)}})
	}
	return rows
}

func agents(list []doctor.Agent) [][]table.Cell {
	rows := [][]table.Cell{table.Row("Agent", "Here", "Version", "Program")}
	for _, a := range list {
		mark, program := table.Cell{Text: "✓", Style: display.Green}, a.Path
		switch {
		case a.Path == "":
			mark, program = table.Cell{Text: "✗ not installed", Style: display.Faint}, a.Program
		case a.Problem != "":
			mark = table.Cell{Text: "✗ not logged in", Style: display.Yellow}
		}
		rows = append(rows, []table.Cell{{Text: a.Name}, mark, {Text: display.Line(a.Version, 40)}, {Text: program}})
	}
	return rows
}

func accounts(list []doctor.Account) [][]table.Cell {
	rows := [][]table.Cell{table.Row("Account", "Agent", "Usable")}
	for _, a := range list {
		usable := table.Cell{Text: "✓", Style: display.Green}
		if a.Problem != "" {
			usable = table.Cell{Text: "✗ " + phrase.Line(a.Problem), Style: display.Yellow}
		}
		rows = append(rows, []table.Cell{{Text: a.Name}, {Text: a.Agent}, usable})
	}
	return rows
}

func holding(list []doctor.RunningAttempt) [][]table.Cell {
	rows := [][]table.Cell{table.Row("Holds a slot", "Task", "PID", "Age", "State", "Looked after")}
	for _, h := range list {
		after := table.Cell{Text: "yes"}
		if !h.Watched {
			after = table.Cell{Text: "by no process", Style: display.Yellow}
		}
		rows = append(rows, []table.Cell{
			{Text: h.Run}, {Text: h.Task}, {Text: fmt.Sprint(h.PID)}, {Text: phrase.Elapsed(h.Age)}, {Text: phrase.Line(h.State)}, after,
		})
	}
	return rows
}

// taskOf returns the names of a task and its run in parentheses, or "" if the task is unknown.
func taskOf(run, task string) string {
	if task == "" {
		return ""
	}
	return fmt.Sprintf(" (task %s of run %s)", display.Printable(task), display.Printable(run))
}

func remarks(h doctor.Health) (lines []string) {
	if len(h.Holding) == 0 {
		lines = append(lines, "no agent runs")
	}
	if h.Method != "" {
		lines = append(lines, "processes of attempts are known by: "+h.Method)
	}
	for _, o := range h.Orphans {
		lines = append(lines, fmt.Sprintf("orphaned: pid %d of attempt %s%s: %s", o.PID, display.Printable(o.Attempt), taskOf(o.Run, o.Task), phrase.Line(o.Command)))
	}
	for _, u := range h.Unproven {
		since := ""
		if !u.Since.IsZero() {
			since = ", since " + u.Since.Format(time.RFC3339)
		}
		lines = append(lines, fmt.Sprintf("waits: attempt %s%s%s: %s", display.Printable(u.Attempt), taskOf(u.Run, u.Task), since, phrase.Line(u.Why)))
	}
	if len(h.Orphans)+len(h.Unproven) == 0 {
		lines = append(lines, "nothing is orphaned")
	}
	for _, o := range h.Owed {
		lines = append(lines, fmt.Sprintf("pending: the documents of run %s, since %s: %s", display.Printable(o.Run), o.Since.Format(time.RFC3339), phrase.Line(o.Why)))
	}
	for _, g := range h.Gone {
		lines = append(lines, fmt.Sprintf("gone: pid %d of agent %s in session %s, which should run", g.PID, display.Printable(g.Agent), display.Printable(g.Session)))
	}
	for _, text := range h.Problems {
		lines = append(lines, "problem: "+display.Printable(text))
	}
	for _, text := range h.Limits {
		lines = append(lines, "limit: "+phrase.Line(text))
	}
	for _, text := range h.Advice {
		lines = append(lines, "advice: "+phrase.Line(text))
	}
	return lines
}
