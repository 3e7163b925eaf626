package team

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gaffer/internal/cli/env"
	"gaffer/internal/cli/table"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/statefile/timestamp"
	"gaffer/team"
)

// print calls the given functions, each of which prints a part of the session.
func (v view) print(e *env.Env, parts ...func(view, *env.Env) error) error {
	for _, part := range parts {
		if err := part(v, e); err != nil {
			return err
		}
	}
	return nil
}

func (v view) head(e *env.Env) error {
	mode := cmp.Or(string(v.PM.Mode), "not planned yet")
	err := e.Printf("Session %s: %s, %s\nPhase %s, %g%% complete, %s",
		display.Printable(v.SessionID()), display.Printable(cmp.Or(string(v.Orchestrator.Status), "unknown")), display.Printable(mode),
		display.Printable(cmp.Or(string(v.Phase), "unknown")), v.Progress.Percentage, phrase.Count(v.Orchestrator.TotalSpawns, "start"))
	if err != nil || v.Orchestrator.Status != team.SessionRunning {
		return cmp.Or(err, e.Printf("\n"))
	}
	limit := cmp.Or(v.run.Developers, team.MaxDevelopers)
	busy := team.MaxDevelopers - team.FreeDevelopers(v.Orchestrator.ActiveAgents)
	return e.Printf(", %d of %d developers free\n", max(limit-busy, 0), limit)
}

// groups prints a table of the session's groups of tasks, sorted by status. Groups with a status
// that the team protocol does not define come last.
func (v view) groups(e *env.Env) error {
	if len(v.Groups) == 0 {
		return nil
	}
	rows := [][]string{{"STATUS", "GROUP", "AGENT", "DEV", "QA", "REVIEW", "NAME"}}
	groups := slices.Clone(v.Groups)
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
			row[i] = display.Printable(row[i])
		}
	}
	if err := e.Printf("\n"); err != nil {
		return err
	}
	return table.Texts(e, rows)
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

// stuck prints the groups of tasks in which the agent of a role was started more often than the
// limit of that role, and the role that takes over. It leaves out complete groups.
func (v view) stuck(e *env.Env) error {
	var lines []string
	for _, g := range v.Groups {
		if g.Status == team.Complete {
			continue
		}
		for _, c := range team.Stuck(g) {
			lines = append(lines, fmt.Sprintf("group %s: %s started %d times, more than %d: goes to %s", g.ID, c.Role, c.Count, c.Limit, c.To))
		}
	}
	return section(e, "Stuck", lines)
}

func (v view) agents(e *env.Env) error {
	var lines []string
	for _, a := range v.Orchestrator.ActiveAgents {
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

// unread prints the unread messages. It leaves out messages about complete groups of tasks, because
// no agent will be started to read them.
func (v view) unread(e *env.Env) error {
	var lines []string
	for _, m := range v.Unread {
		if g, ok := v.group(m.GroupID); !ok || g.Status != team.Complete {
			lines = append(lines, fmt.Sprintf("%s  %s to %s, group %s: %s", m.ID, m.From, m.To, m.GroupID, m.Subject))
		}
	}
	return section(e, "Unread", lines)
}

func (v view) group(id string) (team.Group, bool) {
	for _, g := range v.Groups {
		if g.ID == id {
			return g, true
		}
	}
	return team.Group{}, false
}

// lastDecisions is the number of latest decisions that are printed.
const lastDecisions = 5

// decisions prints the latest entries of the session's log of decisions. It leaves out the decision
// that ended the session with an error, because [view.outcome] prints that.
func (v view) decisions(e *env.Env) error {
	log := v.Orchestrator.DecisionsLog
	if n := len(log); n > 0 && log[n-1].Decision == stopWithError {
		log = log[:n-1]
	}
	var lines []string
	for _, entry := range log[max(0, len(log)-lastDecisions):] {
		lines = append(lines, fmt.Sprintf("%s: %s", entry.Decision, display.Line(entry.Reasoning, 100)))
	}
	return section(e, "Decided last", lines)
}

// section prints a heading and its lines. If there are no lines, it prints nothing.
func section(e *env.Env, title string, lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	for i := range lines {
		lines[i] = "  " + display.Printable(lines[i])
	}
	return e.Printf("\n%s\n%s\n", title, strings.Join(lines, "\n"))
}
