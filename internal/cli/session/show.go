package session

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/cli/table"
	"gaffer/internal/text/display"
	"gaffer/session"
	"gaffer/statefile/host"
)

func showCommand(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "show [ID]",
		Short:             "Show a session's agents",
		Long:              "Show the agents of a session, the active one unless another is named, and those\nof them that should run and whose process is gone.\nWith --json, print the document as it stands on disk.",
		Example:           "  gaffer session show\n  gaffer session show --json | jq .summary",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeIDs(e),
	}
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		s, id, err := openAt(e, append(args, "active")[0])
		if err != nil {
			return err
		}
		doc, err := s.Document(id)
		if err != nil {
			return err
		}
		if *asJSON {
			_, err := e.Out.Write(doc.Bytes())
			return err
		}
		status, _ := session.Decode(doc.Value())
		return show(e, id, status)
	}
	return cmd
}

func show(e *env.Env, id string, status session.Status) error {
	e.Talk("session %s, %s %s", id, display.Printable(status.Source), display.Printable(status.SourceFile))
	rows := [][]table.Cell{table.Row("#", "Task", "Status", "Time", "Log")}
	now := e.Now()
	for _, a := range status.Agents {
		rows = append(rows, agentRow(a, now))
	}
	if err := table.Print(e, rows); err != nil {
		return err
	}
	if err := e.Printf("%s\n", summaryLine(status)); err != nil {
		return err
	}
	if err := showErrors(e, status); err != nil {
		return err
	}
	for _, a := range status.Agents {
		if !a.Gone(host.Exists) {
			continue
		}
		if err := e.Printf("%s: its process %d is gone; 'gaffer session fail' says how it ended\n", display.Printable(a.ID), *a.PID); err != nil {
			return err
		}
	}
	return nil
}

func agentRow(a session.Agent, now time.Time) []table.Cell {
	name, elapsed, log := a.Name, "-", a.LogFile
	if name == "" {
		name = a.ID
	}
	if d, known := a.Elapsed(now); known {
		elapsed = session.FormatElapsed(d)
	}
	switch {
	case log == "" || neverRan(a):
		log = "-"
	case a.Status == session.Running:
		log = "tail -f " + log
	}
	return []table.Cell{{Text: a.ID}, {Text: name}, {Text: a.Status.Label(), Style: stateStyle(a.Status)}, {Text: elapsed}, {Text: log}}
}

func neverRan(a session.Agent) bool {
	return a.Status == session.Queued || (a.Status == session.Cancelled && a.StartedAt.IsZero())
}

func stateStyle(s session.State) display.Style {
	switch s {
	case session.Running:
		return display.Yellow
	case session.Complete:
		return display.Green
	case session.Failed:
		return display.Red
	}
	return display.Faint
}

// summaryLine returns a text such as "Running: 2 complete, 2 running, 1 queued".
func summaryLine(status session.Status) string {
	sum := status.Count()
	var parts []string
	for _, c := range []struct {
		n    int
		word session.State
	}{
		{sum.Complete, session.Complete},
		{sum.Failed, session.Failed},
		{sum.Cancelled, session.Cancelled},
		{sum.Running, session.Running},
		{sum.Queued, session.Queued},
	} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.word))
		}
	}
	if len(parts) == 0 {
		parts = []string{"no agents"}
	}
	word := display.Printable(string(status.Status))
	if status.Status.Final() || status.Status == session.Running {
		word = strings.ToUpper(word[:1]) + word[1:]
	}
	return word + ": " + strings.Join(parts, ", ")
}

func showErrors(e *env.Env, status session.Status) error {
	for _, a := range status.Agents {
		if a.Error == nil || *a.Error == "" {
			continue
		}
		if err := e.Printf("%s: %s\n", display.Printable(a.ID), display.Printable(*a.Error)); err != nil {
			return err
		}
	}
	return nil
}
