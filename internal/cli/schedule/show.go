package schedule

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/table"
	"gaffer/internal/flow/schedulerun"
	"gaffer/internal/text/display"
)

func list(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", DisableFlagsInUseLine: true, Short: "List the schedules: next time, last run and its result, state",
		Example: "  gaffer schedule list\n  gaffer schedule list --json | jq -r '.[] | select(.state == \"active\") | .name'\n  gaffer schedule list --removed",
		Args:    cobra.NoArgs,
	}
	removed := cmd.Flags().Bool("removed", false, "list those that can be restored")
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return withSchedules(cmd.Context(), e, func(all *schedulerun.Schedules) error {
			found, err := all.List(cmd.Context(), *removed)
			switch {
			case err != nil:
				return err
			case *asJSON:
				return e.PrintJSON(found)
			case len(found) == 0 && *removed:
				e.Talk("no schedule was removed in the last 30 days")
				return nil
			case len(found) == 0:
				e.Talk("there are no schedules: 'gaffer schedule add' adds one")
				return nil
			}
			rows := [][]table.Cell{table.Row("Name", "Times", "Next", "Last", "State", "Project")}
			for _, s := range found {
				next := ""
				if len(s.Next) > 0 {
					next = timeIn(s, s.Next[0])
				}
				rows = append(rows, table.Row(s.Name, s.Cron+" "+s.Zone, next, lastText(s), stateText(s), filepath.Base(s.Project)))
			}
			return table.Print(e, rows)
		})
	}
	return cmd
}

func show(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show NAME", DisableFlagsInUseLine: true, Short: "Show a schedule, and what became of its planned times",
		Example:           "  gaffer schedule show nightly\n  gaffer schedule show nightly --json | jq -r '.fires[-1].run'",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: openfleet.Schedules(e, false),
	}
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return withSchedules(cmd.Context(), e, func(all *schedulerun.Schedules) error {
			s, err := all.Get(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if *asJSON {
				return e.PrintJSON(s)
			}
			return printDetails(e, s)
		})
	}
	return cmd
}

func printDetails(e *env.Env, s fleet.Schedule) error {
	delay := ""
	if s.Jitter > 0 {
		delay = fmt.Sprintf(", each up to %s later", time.Duration(s.Jitter)*time.Second)
	}
	lines := [][2]string{
		{"schedule", s.Name + ", " + stateText(s)},
		{"times", s.Cron + " in " + s.Zone + delay},
		{"rules", "missed times: " + string(s.Missed) + "; overlapping runs: " + string(s.Overlap)},
		{"runs", display.Printable(display.ShellLine(append([]string{"gaffer", "run"}, s.Args...)))},
		{"in", display.Printable(s.Project) + " on " + display.Printable(s.Machine) + " as " + display.Printable(s.User)},
	}
	for i, at := range s.Next {
		lines = append(lines, [2]string{[]string{"next", "", ""}[min(i, 2)], timeIn(s, at)})
	}
	for _, l := range lines {
		if err := e.Printf("%-9s %s\n", l[0], l[1]); err != nil {
			return err
		}
	}
	if len(s.Fires) == 0 {
		return nil
	}
	rows := [][]table.Cell{table.Row("Planned", "What", "Run", "Why")}
	for _, f := range s.Fires {
		rows = append(rows, table.Row(timeIn(s, f.Planned), fireText(f), f.Run, display.Line(f.Why, 200)))
	}
	if err := e.Printf("\n"); err != nil {
		return err
	}
	return table.Print(e, rows)
}

// timeIn formats a time in the schedule's time zone.
func timeIn(s fleet.Schedule, at time.Time) string {
	if zone, err := time.LoadLocation(s.Zone); err == nil {
		at = at.In(zone)
	}
	return at.Format("Mon 2006-01-02 15:04 MST")
}

// nextText returns a text such as "next at Mon 2026-11-23 02:00 CET". If there is no next time, the
// text says why.
func nextText(s fleet.Schedule) string {
	if len(s.Next) == 0 {
		return "but it has no next time: it is " + string(s.State)
	}
	return "next at " + timeIn(s, s.Next[0])
}

func stateText(s fleet.Schedule) string {
	if s.Exporter != "" && s.State == fleet.ScheduleActive {
		return "started by " + s.Exporter
	}
	return string(s.State)
}

// lastText returns a text about the last entry of s.Fires, which says what happened at a planned
// time, or when a user asked for a run. It returns "" if there is no entry.
func lastText(s fleet.Schedule) string {
	f := s.LastFire()
	if f == nil {
		return ""
	}
	text := timeIn(s, f.Planned) + " " + fireText(*f)
	if f.Status == fleet.FireFailed {
		text += ": " + display.Line(f.Why, 60)
	}
	return text
}

// fireText describes in a few words what happened at a planned time of a schedule, or when a user
// asked for a run. The text is the status of the run that was started or, if none was started, a
// text such as "skipped" or "not started".
func fireText(f fleet.Fire) string {
	text := cmp.Or(string(f.RunStatus), string(f.Status))
	switch {
	case f.Status == fleet.FireFailed:
		text = "not started"
	case f.Status == fleet.FireStarted && f.RunStatus == "":
		text = "run deleted"
	}
	if f.By != "" {
		text += ", by " + f.By
	}
	if f.Count > 1 {
		text += fmt.Sprintf(", for %d times", f.Count)
	}
	return strings.TrimSpace(text)
}
