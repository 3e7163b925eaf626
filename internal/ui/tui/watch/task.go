package watch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/paint"
)

// current returns the latest known state of the task that is shown.
func (m Model) current() (fleet.Task, bool) {
	if at := slices.IndexFunc(m.run.Tasks, func(t fleet.Task) bool { return t.ID == m.looked.Task }); at >= 0 {
		return m.run.Tasks[at], true
	}
	return m.task.Task, m.task.ID != ""
}

// taskScreenRows returns the facts about the task, and the end of its log in the
// remaining rows.
func (m Model) taskScreenRows(width, room int) []string {
	if _, known := m.current(); !known {
		return []string{paint.Styled(display.Faint, "reading task "+display.Printable(m.looked.Task)+" …").Render(width, m.Color)}
	}
	var rows []string
	for _, l := range m.taskTop(width, room) {
		rows = append(rows, l.Render(width, m.Color))
	}
	return append(rows, m.logRows(width, room-len(rows))...)
}

// logLeast is the minimum number of rows of the log, with its heading.
const logLeast = 6

// taskTop returns the rows above the log. After the head, each section gets at most
// half of the rows that are still free.
func (m Model) taskTop(width, room int) []paint.Line {
	t, _ := m.current()
	rows := m.taskHead(t)
	if !m.here().full {
		spare := max(room-len(rows)-logLeast, 0)
		for _, section := range [][]paint.Line{m.checkRows(t), m.attemptRows(width), m.promptRows(width)} {
			most := min(len(section), (spare+1)/2)
			if most < 2 {
				continue // a heading alone is useless
			}
			spare -= most
			rows = append(rows, section[:most]...)
		}
	}
	return rows[:min(len(rows), max(room, 0))]
}

// taskHead returns the current state of the task.
func (m Model) taskHead(t fleet.Task) []paint.Line {
	facts := []string{}
	if d, ok := phrase.Took(t.Attempt, m.now); ok {
		facts = append(facts, phrase.Elapsed(d))
	}
	if waited := phrase.Waited(t.Attempt); waited != "" {
		facts = append(facts, waited)
	}
	if try := phrase.Try(t); try != "" {
		facts = append(facts, "attempt "+try)
	}
	if t.Attempt != nil {
		if spent := phrase.Spent(t.Attempt.Spent); spent != "" {
			facts = append(facts, spent)
		}
	}
	if agent := strings.TrimSpace(display.Line(t.Agent, 20) + " " + display.Line(t.Model, 30)); agent != "" {
		facts = append(facts, agent)
	}
	if t.Attempt != nil && t.Attempt.Worker != "" && m.Where != "" {
		facts = append(facts, "on "+display.Line(t.Attempt.Worker, 30))
	}
	if t.Attempt != nil && t.Attempt.Diff != nil {
		d := t.Attempt.Diff
		facts = append(facts, fmt.Sprintf("+%d −%d in %s", d.Added, d.Removed, phrase.Count(d.Changed, "file")))
	}
	if t.Branch != "" {
		facts = append(facts, "branch "+display.Line(t.Branch, 40))
	}
	if len(t.After) > 0 && t.Status == fleet.Queued {
		facts = append(facts, "after "+display.Line(strings.Join(t.After, ", "), 60))
	}
	rows := []paint.Line{{taskBadge(t), {Text: "  " + strings.Join(facts, " · "), Style: display.Faint}}}
	if doing := phrase.Doing(t, m.now); doing != "" {
		line := paint.Line{{Text: doing, Style: doingStyle(t)}}
		if source := sourceOf(t, m.now); source != "" {
			line = append(line, paint.Span{Text: "  source " + source + " ago", Style: display.Faint})
		}
		rows = append(rows, line)
	}
	if t.Status == fleet.Failed {
		if advice := phrase.Advice(t); advice != "" {
			rows = append(rows, paint.Styled(display.Yellow, "! "+advice))
		}
	}
	return rows
}

// promptRows returns the beginning of the prompt.
func (m Model) promptRows(width int) []paint.Line {
	const head = 4000 // bytes; more than six rows of any screen
	text := paint.Wrap(m.task.Prompt[:min(len(m.task.Prompt), head)], width-markWidth, 6)
	if len(text) == 0 {
		return nil
	}
	rows := []paint.Line{paint.Styled(display.Bold, "Prompt")}
	for _, row := range text {
		rows = append(rows, paint.Plain("  "+row))
	}
	return rows
}

// attemptRows returns the attempts, the last one first.
func (m Model) attemptRows(width int) []paint.Line {
	if len(m.task.Attempts) == 0 {
		return nil
	}
	now, _ := m.current()
	t := table{columns: []paint.Column{{Most: 4}, {Most: 11}, {Most: 8, Least: 7, Right: true}, {Most: 200, Least: 30, Flex: true, Drop: 9}, {Most: 24, Drop: 1}, {Most: 8, Right: true, Drop: 2}, {Most: 6, Drop: 3}}}
	for _, a := range slices.Backward(m.task.Attempts) {
		if now.Attempt != nil && now.Attempt.ID == a.ID {
			a = *now.Attempt // the run is read more often than the task
		}
		took := ""
		if d, ok := phrase.Took(&a, m.now); ok {
			took = phrase.Elapsed(d)
		}
		worker := ""
		if m.Where != "" {
			worker = display.Line(m.workerName(a.Worker), 40)
		}
		t.add(cell(fmt.Sprintf("#%d", a.Number), ""), badgeOf(a.Status), cell(took, display.Faint), cell(attemptWords(a), ""),
			cell(worker, display.Faint), cell(phrase.Money(a.Spent.USD), display.Faint), cell(phrase.Clock(a.Started, m.now), display.Faint))
	}
	rows := []paint.Line{paint.Styled(display.Bold, fmt.Sprintf("Attempts (%d)", len(m.task.Attempts)))}
	return append(rows, indent(t.rows(width-markWidth))...)
}

// attemptWords returns what an attempt does, or how it ended.
func attemptWords(a fleet.Attempt) string {
	if a.Status == fleet.Running {
		return phrase.Line(a.Doing)
	}
	class, summary := phrase.Line(a.Class), phrase.Line(a.Summary)
	switch {
	case summary == "" || class == "" || class == string(a.Status):
		return cmp.Or(summary, class)
	}
	return class + ": " + summary
}

// checkRows returns the results of the attempt's checks.
func (m Model) checkRows(t fleet.Task) (rows []paint.Line) {
	if t.Attempt == nil || len(t.Attempt.Checks) == 0 {
		return nil
	}
	rows = append(rows, paint.Line{{Text: "Verified", Style: display.Bold}, {Text: "  " + phrase.Checks(t.Attempt), Style: display.Faint}})
	for _, c := range t.Attempt.Checks {
		mark := paint.Span{Text: "  ✓ ", Style: display.Green}
		if !c.OK {
			mark = paint.Span{Text: "  ✗ ", Style: display.Red}
		}
		took := phrase.Elapsed(time.Duration(c.Millis) * time.Millisecond)
		rows = append(rows, paint.Line{mark, {Text: phrase.Line(c.Command)}, {Text: "  " + took, Style: display.Faint}})
		if !c.OK {
			rows = append(rows, paint.Styled(display.Faint, fmt.Sprintf("    exit code %d: %s", c.Exit, phrase.Line(c.Output))))
		}
	}
	return rows
}

func (m Model) workerName(id string) string {
	for _, w := range m.fleet.Workers {
		if w.ID == id {
			return w.Name
		}
	}
	return id
}

func indent(rows []paint.Line) []paint.Line {
	for i := range rows {
		rows[i] = append(paint.Line{{Text: "  "}}, rows[i]...)
	}
	return rows
}
