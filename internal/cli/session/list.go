package session

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/cli/table"
	"gaffer/internal/text/display"
	"gaffer/session"
	"gaffer/statefile/timestamp"
)

func listCommand(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the sessions, the oldest first",
		Example: "  gaffer session list\n  gaffer session list --json | jq -r '.[] | select(.status == \"failed\").session_id'",
		Args:    cobra.NoArgs,
	}
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		s, err := Open(e)
		if err != nil {
			return err
		}
		entries, err := s.List()
		if err != nil {
			return err
		}
		if *asJSON {
			return listJSON(e, entries)
		}
		return listTable(e, entries)
	}
	return cmd
}

func listJSON(e *env.Env, entries []session.Entry) error {
	type entry struct {
		session.Entry
		Error string `json:"error,omitempty"`
	}
	all := make([]entry, len(entries))
	for i, one := range entries {
		all[i].Entry = one
		if one.Err != nil {
			all[i].Error = one.Err.Error()
		}
	}
	return e.PrintJSON(all)
}

func listTable(e *env.Env, entries []session.Entry) error {
	if len(entries) == 0 {
		e.Talk("no sessions")
		return nil
	}
	rows := [][]table.Cell{table.Row(" ", "ID", "Status", "Agents", "Started", "Source")}
	for _, entry := range entries {
		rows = append(rows, entryRow(entry))
		if entry.Err != nil {
			e.Talk("gaffer: %s", display.Printable(entry.Err.Error()))
		}
	}
	return table.Print(e, rows)
}

// entryRow returns the table row of a session. A star marks the active session.
func entryRow(entry session.Entry) []table.Cell {
	mark, agents, started := " ", "-", "-"
	if entry.Active {
		mark = "*"
	}
	status := table.Cell{Text: string(entry.Status), Style: stateStyle(entry.Status)}
	if entry.Err != nil {
		status = table.Cell{Text: "unreadable", Style: display.Red}
	} else {
		ended := entry.Summary.Complete + entry.Summary.Failed + entry.Summary.Cancelled
		agents = fmt.Sprintf("%d/%d", ended, entry.Summary.Total)
	}
	if !entry.StartedAt.IsZero() {
		started = timestamp.Format(entry.StartedAt.Time)
	}
	return []table.Cell{{Text: mark}, {Text: entry.ID}, status, {Text: agents}, {Text: started}, {Text: cmp.Or(entry.SourceFile, " ")}}
}
