package team

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gaffer/internal/cli/env"
	"gaffer/statefile/timestamp"
	"gaffer/team"
)

// board shows a session to a person.
func board(e *env.Env, s team.Snapshot) error {
	for _, print := range []func(*env.Env, team.Snapshot) error{printHead, printGroups, printStuck, printAgents, printDecisions, printUnread, printOutcome} {
		if err := print(e, s); err != nil {
			return err
		}
	}
	return nil
}

func printHead(e *env.Env, s team.Snapshot) error {
	mode := cmp.Or(string(s.PM.Mode), "not planned yet")
	return e.Printf("Session %s: %s, %s\nPhase %s, %g%% complete, %d starts, %d of %d developers free\n",
		env.Printable(s.SessionID()), env.Printable(cmp.Or(string(s.Orchestrator.Status), "unknown")), env.Printable(mode),
		env.Printable(cmp.Or(string(s.Phase), "unknown")), s.Progress.Percentage, s.Orchestrator.TotalSpawns,
		team.FreeDevelopers(s.Orchestrator.ActiveAgents), team.MaxDevelopers)
}

// printGroups lists the groups by status, words that are not the protocol's
// last.
func printGroups(e *env.Env, s team.Snapshot) error {
	if len(s.Groups) == 0 {
		return nil
	}
	rows := [][]string{{"STATUS", "GROUP", "AGENT", "DEV", "QA", "REVIEW", "NAME"}}
	groups := slices.Clone(s.Groups)
	slices.SortStableFunc(groups, func(a, b team.Group) int { return rank(a.Status) - rank(b.Status) })
	for _, g := range groups {
		row := []string{string(g.Status), g.ID, cmp.Or(string(g.CurrentAgent), "none")}
		for _, c := range team.Counters(g) {
			row = append(row, counter(c))
		}
		rows = append(rows, append(row, g.Name))
	}
	for _, row := range rows {
		for i := range row {
			row[i] = env.Printable(row[i])
		}
	}
	if err := e.Printf("\n"); err != nil {
		return err
	}
	return e.Table(rows)
}

func rank(status team.GroupStatus) int {
	all := team.GroupStatuses()
	if i := slices.Index(all, status); i >= 0 {
		return i
	}
	return len(all)
}

func counter(c team.Escalation) string {
	mark := ""
	if c.Count >= c.Limit {
		mark = "!"
	}
	return fmt.Sprintf("%d/%d%s", c.Count, c.Limit, mark)
}

func printStuck(e *env.Env, s team.Snapshot) error {
	var lines []string
	for _, g := range s.Groups {
		for _, c := range team.Stuck(g) {
			lines = append(lines, fmt.Sprintf("group %s: %s started %d times, more than %d: goes to %s", g.ID, c.Role, c.Count, c.Limit, c.To))
		}
	}
	return section(e, "Stuck", lines)
}

func printAgents(e *env.Env, s team.Snapshot) error {
	var lines []string
	for _, a := range s.Orchestrator.ActiveAgents {
		line := string(a.AgentType)
		if a.GroupID != "" {
			line += " on group " + a.GroupID
		}
		if !a.SpawnedAt.IsZero() {
			line += " since " + timestamp.Format(a.SpawnedAt.Time)
		}
		lines = append(lines, line)
	}
	return section(e, "Running", lines)
}

func printUnread(e *env.Env, s team.Snapshot) error {
	var lines []string
	for _, m := range s.Unread {
		lines = append(lines, fmt.Sprintf("%s  %s to %s, group %s: %s", m.ID, m.From, m.To, m.GroupID, m.Subject))
	}
	return section(e, "Unread", lines)
}

// printOutcome says what a session that ended with an error came to grief on.
func printOutcome(e *env.Env, s team.Snapshot) error {
	if s.Orchestrator.Status != team.SessionError {
		return nil
	}
	for _, entry := range slices.Backward(s.Orchestrator.DecisionsLog) {
		if entry.Decision == "stop_with_error" {
			return e.Printf("\nIt stopped: %s\n", env.PrintableLines(entry.Reasoning))
		}
	}
	return nil
}

// lastDecisions is how many decisions are shown.
const lastDecisions = 5

func printDecisions(e *env.Env, s team.Snapshot) error {
	log := s.Orchestrator.DecisionsLog
	var lines []string
	for _, entry := range log[max(0, len(log)-lastDecisions):] {
		lines = append(lines, fmt.Sprintf("%s: %s", entry.Decision, env.Line(entry.Reasoning, 100)))
	}
	return section(e, "Decided last", lines)
}

// section writes a heading and its lines, or nothing.
func section(e *env.Env, title string, lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	for i := range lines {
		lines[i] = "  " + env.Printable(lines[i])
	}
	return e.Printf("\n%s\n%s\n", title, strings.Join(lines, "\n"))
}
