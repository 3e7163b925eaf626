package watch

import (
	"cmp"
	"fmt"

	"gaffer/fleet"
	"gaffer/internal/text/cells"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/paint"
	"gaffer/internal/ui/tui/parts"
	"gaffer/internal/ui/tui/stages"
)

// runList is the content of the screen of a run: the list of its tasks, grouped into stages by
// their dependencies (see package stages).
type runList struct{ run string }

func (v runList) focus() (Focus, bool) { return Focus{Run: v.run}, true }

func (v runList) path(s snapshot, names []string) []string {
	return append(names, cmp.Or(s.runName(v.run), display.Printable(v.run)))
}

func (runList) keys() []string {
	return []string{"Enter open", "Esc back", "a answer", "c cancel", "r retry", "l log", "/ filter", "? help"}
}

func (runList) empty(snapshot) string { return "" }

// summary returns rows about the whole run, followed by an open question, paused agent accounts,
// reached cost limits and warnings, if there are any.
func (v runList) summary(s snapshot, width int) []paint.Line {
	r := s.run
	if r.ID == "" {
		return []paint.Line{paint.Styled(display.Faint, "reading run "+display.Printable(v.run)+" …")}
	}
	left := paint.Line{parts.Badge(r.Status), {Text: "  " + display.Printable(r.ID), Style: display.Faint}}
	spent := phrase.Spent(r.Spent)
	if r.Budget.USD > 0 {
		spent = fleet.MoneyOf(r.SpentNow().USD, r.Budget.USD)
	}
	// The duration has a fixed width, so that the text before it does not move.
	right := paint.Plain(spent + "  " + cells.FillLeft(phrase.RunDuration(r, s.now), 7))
	words := fmt.Sprintf(" %d/%d  %s", r.Counts.Complete, r.Counts.Total, phrase.Counts(r.Counts))
	bar := paint.Bar(r.Counts, min(max(width-len(words), 0), 30))
	rows := []paint.Line{paint.Ends(left, right, width), append(bar, paint.Span{Text: words})}
	for _, t := range r.Tasks {
		if phrase.Waiting(t) {
			rows = append(rows, paint.Styled(display.Yellow, "? "+display.Line(t.Question.Name, 50)+" asks "+phrase.Age(s.now.Sub(t.Question.Asked))+": "+phrase.Line(t.Question.Text)))
			// Show only one question here. The rows of the tasks show the other questions.
			break
		}
	}
	for _, l := range r.Lanes {
		if l.Until.After(s.now) {
			rows = append(rows, pausedLane(l, s.now))
		}
	}
	if r.Status.Final() {
		return rows
	}
	if r.Stopping != "" {
		rows = append(rows, paint.Styled(display.Yellow, "‖ "+phrase.Stopping(r)))
	}
	if warning := phrase.BudgetWarning(r); warning != "" {
		rows = append(rows, paint.Styled(display.Yellow, "! "+warning))
	}
	if s.where == "" && !r.Owner.Alive && r.Counts.Running == 0 {
		rows = append(rows, paint.Styled(display.Yellow, "! no gaffer process works on this run: 'gaffer resume "+display.Printable(r.ID)+"' continues it"))
	}
	return rows
}

// manyRows limits the time to lay out a list. With at most manyRows rows, the widths of the columns
// depend on all rows. In a longer list they depend only on the visible rows.
const manyRows = 400

func (runList) list(s snapshot, f filter, width int) list {
	// row is the row of a task, or the heading of a stage.
	type row struct {
		task  int
		stage int // number of the stage if the row is a heading; 0 if it is a task
	}
	var rows []row
	var items []item
	headings, last := stages.Count(s.stages) > 1, 0
	for _, i := range stages.Order(s.stages) {
		t := s.run.Tasks[i]
		if !f.matches(t.ID, t.Name, string(t.Status), t.Agent, phrase.Doing(t, s.now)) {
			continue
		}
		if stage := s.stages[i]; headings && stage != last {
			rows, items, last = append(rows, row{stage: stage}), append(items, item{}), stage
		}
		rows, items = append(rows, row{task: i}), append(items, item{taskItem, t.ID})
	}
	return list{items, func(from, to int) []paint.Line {
		first, end := 0, len(rows)
		if len(rows) > manyRows {
			first, end = from, to
		}
		var tasks []fleet.Task
		for _, r := range rows[first:end] {
			if r.stage == 0 {
				tasks = append(tasks, s.run.Tasks[r.task])
			}
		}
		drawn := parts.TaskTable{Now: s.now, Detailed: true}.Rows(tasks, width-markWidth)
		var lines []paint.Line
		for _, r := range rows[first:end] {
			if r.stage > 0 {
				lines = append(lines, parts.StageHeading(r.stage))
			} else {
				lines, drawn = append(lines, drawn[0]), drawn[1:]
			}
		}
		return lines[from-first : to-first]
	}}
}
