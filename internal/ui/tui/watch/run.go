package watch

import (
	"fmt"
	"time"

	"gaffer/fleet"
	"gaffer/internal/text/cells"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/paint"
	"gaffer/internal/ui/tui/waves"
)

func (m Model) seeRun(r fleet.Run) Model {
	if len(m.waves) != len(r.Tasks) || m.run.ID != r.ID {
		m.waves = waves.Of(r.Tasks)
	}
	m.run = r
	return m
}

// took returns a run's duration, until now if it is still running.
func (m Model) took(r fleet.Run) string {
	if r.Created.IsZero() {
		return ""
	}
	end := m.now
	if !r.Ended.IsZero() {
		end = r.Ended
	}
	return phrase.Elapsed(max(end.Sub(r.Created), time.Duration(0)))
}

// runHead returns the facts about the whole run.
func (m Model) runHead(width int) []paint.Line {
	r := m.run
	if r.ID == "" {
		return []paint.Line{paint.Styled(display.Faint, "reading run "+display.Printable(m.looked.Run)+" …")}
	}
	left := paint.Line{badgeOf(r.Status), {Text: "  " + display.Printable(r.ID), Style: display.Faint}}
	spent := phrase.Spent(r.Spent)
	if r.Budget.USD > 0 {
		spent = fmt.Sprintf("$%.2f of $%.2f", r.Spent.USD, r.Budget.USD)
	}
	right := paint.Plain(spent + "  " + cells.FillLeft(m.took(r), 7)) // fixed width, so that nothing moves
	words := fmt.Sprintf(" %d/%d  %s", r.Counts.Complete, r.Counts.Total, phrase.Counts(r.Counts))
	counts := append(paint.Bar(r.Counts, min(max(width-len(words), 0), 30)), paint.Span{Text: words})
	return append([]paint.Line{paint.Apart(left, right, width), counts}, m.runFacts()...)
}

// runFacts returns the rows that the user should see first: a question, paused lanes,
// warnings.
func (m Model) runFacts() (rows []paint.Line) {
	r := m.run
	for _, t := range r.Tasks {
		if phrase.Waiting(t) {
			rows = append(rows, paint.Styled(display.Yellow, "? "+display.Line(t.Question.Name, 50)+" asks "+phrase.Age(m.now.Sub(t.Question.Asked))+": "+phrase.Line(t.Question.Text)))
			break // the other questions are shown in their tasks' rows
		}
	}
	for _, l := range r.Lanes {
		if l.Until.After(m.now) {
			rows = append(rows, m.laneRow("", l))
		}
	}
	if r.Status.Final() {
		return rows
	}
	if r.Stopping != "" {
		rows = append(rows, paint.Styled(display.Yellow, "‖ no task starts any more: "+phrase.Line(r.Stopping)))
	}
	if r.Budget.USD > 0 && r.Spent.USD >= 0.8*r.Budget.USD {
		rows = append(rows, paint.Styled(display.Yellow, fmt.Sprintf("! %.0f %% of the budget is spent", 100*r.Spent.USD/r.Budget.USD)))
	}
	if m.Where == "" && !r.Owner.Alive && r.Counts.Running == 0 {
		rows = append(rows, paint.Styled(display.Yellow, "! nobody looks after this run: 'gaffer resume "+display.Printable(r.ID)+"' takes it up"))
	}
	return rows
}

// runList returns the tasks by stage.
func (m Model) runList(width int) list {
	filter := m.here().filter
	headings := waves.Count(m.waves) > 1
	var keys []string
	var at []int // the task of each row; for a heading, the negative stage
	last := 0
	for _, i := range waves.Order(m.waves) {
		t := m.run.Tasks[i]
		if !fits(filter, t.ID, t.Name, string(t.Status), t.Agent, phrase.Doing(t, m.now)) {
			continue
		}
		if wave := m.waves[i]; headings && wave != last {
			keys, at = append(keys, ""), append(at, -wave)
			last = wave
		}
		keys, at = append(keys, taskKey+t.ID), append(at, i)
	}
	return list{keys, func(from, to int) []paint.Line { return m.taskRows(at, from, to, width-markWidth) }}
}

// many is the number of tasks above which only visible rows determine the widths of
// columns.
const many = 400

func (m Model) taskRows(at []int, from, to, width int) []paint.Line {
	first, last := 0, len(at)
	if len(at) > many {
		first, last = from, to
	}
	t := table{columns: []paint.Column{
		{Most: 11},
		{Most: 20},
		{Most: 28, Drop: 1}, // name
		{Most: 8, Least: 7, Right: true, Drop: 8},
		{Most: 7, Drop: 4},
		{Most: 200, Least: 22, Flex: true, Drop: 7},
		{Most: 18, Least: 10, Right: true, Drop: 2}, // source of the state, and its age
		{Most: 6, Right: true, Drop: 3},
		{Most: 8, Right: true, Drop: 5},
	}}
	if width < 90 {
		t.columns[1].Most = 14
	}
	for _, i := range at[first:last] {
		if i < 0 {
			continue
		}
		t.add(m.taskCells(m.run.Tasks[i])...)
	}
	rows := t.rows(width)
	var lines []paint.Line
	for n, i := range at[first:last] {
		var l paint.Line
		if i < 0 {
			l = paint.Styled(display.Faint, fmt.Sprintf("stage %d", -i))
		} else {
			l, rows = rows[0], rows[1:]
		}
		if first+n >= from && first+n < to {
			lines = append(lines, l)
		}
	}
	return lines
}

func (m Model) taskCells(t fleet.Task) []paint.Span {
	took, tokens, cost, name := "", "", "", ""
	if d, ok := phrase.Took(t.Attempt, m.now); ok {
		took = phrase.Elapsed(d)
		tokens, cost = phrase.Tokens(t.Attempt.Spent.Tokens), phrase.Money(t.Attempt.Spent.USD)
	}
	if t.Name != t.ID {
		name = display.Line(t.Name, 60)
	}
	style := doingStyle(t)
	return []paint.Span{
		taskBadge(t), cell(display.Line(t.ID, 40), quiet(t)), cell(name, quiet(t)), cell(took, display.Faint), cell(phrase.Try(t), display.Faint),
		cell(phrase.Doing(t, m.now), style), cell(sourceOf(t, m.now), display.Faint), cell(tokens, display.Faint), cell(cost, display.Faint),
	}
}

// quiet returns a faint style for tasks that are queued or cancelled.
func quiet(t fleet.Task) display.Style {
	if t.Status == fleet.Queued || t.Status == fleet.Cancelled {
		return display.Faint
	}
	return ""
}

func doingStyle(t fleet.Task) display.Style {
	switch {
	case t.Status == fleet.Failed:
		return display.Red
	case phrase.Waiting(t):
		return display.Yellow
	}
	return quiet(t)
}
