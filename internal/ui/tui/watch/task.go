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
	"gaffer/internal/ui/tui/parts"
)

// taskScreen shows facts about a task, and below them the task's log.
type taskScreen struct {
	run, task string
	log       logPane
	// fullLog makes more room for the log: the sections for checks, attempts and prompt are hidden.
	fullLog bool
}

func (t taskScreen) focus() (Focus, bool) { return Focus{t.run, t.task}, true }

func (t taskScreen) path(s snapshot, names []string) []string {
	if len(names) == 0 {
		names = runList{t.run}.path(s, names)
	}
	return append(names, display.Line(t.task, 40))
}

func (taskScreen) summary(snapshot, int) []paint.Line { return nil }

func (taskScreen) hints(snapshot, frame) (keys []string, position string) {
	return []string{"Esc back", "↑↓ log", "l whole log", "a answer", "c cancel", "r retry", "/ filter", "? help"}, ""
}

func (t taskScreen) filtered() filter { return t.log.filter }

func (t taskScreen) update(k Key, s snapshot, f frame) (screen, keyResult) {
	switch {
	case t.log.filter.typing:
		t.log.filter = t.log.filter.update(k)
	case k.Name == "/":
		t.log.filter = t.log.filter.edit()
	case k.Name == "l":
		t.fullLog = !t.fullLog
	case k.Name == "esc" || k.Name == "backspace":
		switch {
		case t.log.filter.text != "":
			t.log.filter = filter{}
		case t.fullLog:
			t.fullLog = false
		default:
			return t, keyResult{back: true}
		}
	case k.Name != "enter":
		t.log = t.log.scroll(k.Name, f.width, max(f.height-2, 1))
		return t, command(k.Name, s, item{taskItem, t.task})
	}
	return t, keyResult{}
}

func (t taskScreen) settle(s snapshot, f frame) screen {
	t.log = t.log.settle(max(f.height-len(t.facts(s, f))-1, 0))
	return t
}

func (t taskScreen) view(s snapshot, f frame) []string {
	if s.findTask(t.task).ID == "" {
		return []string{paint.Styled(display.Faint, "reading task "+display.Printable(t.task)+" …").Render(f.width, f.color)}
	}
	rows := f.render(t.facts(s, f))
	f.height -= len(rows)
	return append(rows, t.log.view(f)...)
}

// minLogRows is the number of rows that the sections above the log leave free for the log and its
// heading.
const minLogRows = 6

// facts returns the rows above the log: the state of the task, then the sections for checks,
// attempts and prompt. Each section gets at most half of the rows that are still free.
func (t taskScreen) facts(s snapshot, f frame) []paint.Line {
	task := s.findTask(t.task)
	rows := taskState(s, task)
	if !t.fullLog {
		spare := max(f.height-len(rows)-minLogRows, 0)
		for _, section := range [][]paint.Line{checkRows(task), attemptRows(s, task, f.width), promptRows(s.task.Prompt, f.width)} {
			most := min(len(section), (spare+1)/2)
			if most < 2 {
				continue // there is no room below the section's heading
			}
			spare -= most
			rows = append(rows, section[:most]...)
		}
	}
	return rows[:min(len(rows), max(f.height, 0))]
}

// taskState returns rows about the current state of the task.
func taskState(s snapshot, t fleet.Task) []paint.Line {
	facts := []string{}
	add := func(fact string) {
		if fact != "" {
			facts = append(facts, fact)
		}
	}
	if d, ok := phrase.WorkTime(t.Attempt, s.now); ok {
		add(phrase.Elapsed(d))
	}
	add(phrase.Waited(t.Attempt))
	if try := phrase.AttemptNumber(t); try != "" {
		add("attempt " + try)
	}
	if t.Attempt != nil {
		add(phrase.Spent(t.Attempt.Spent))
	}
	add(cmp.Or(phrase.Using(t, t.Attempt), strings.TrimSpace(display.Line(t.Agent, 20)+" "+display.Line(t.Model, 30))))
	if t.Attempt != nil && t.Attempt.Worker != "" && s.where != "" {
		add("on " + display.Line(t.Attempt.Worker, 30))
	}
	if t.Attempt != nil && t.Attempt.Diff != nil {
		d := t.Attempt.Diff
		add(fmt.Sprintf("+%d −%d in %s", d.Added, d.Removed, phrase.Count(d.Changed, "file")))
	}
	if t.Branch != "" {
		add("branch " + display.Line(t.Branch, 40))
	}
	if len(t.After) > 0 && t.Status == fleet.Queued {
		add("after " + display.Line(strings.Join(t.After, ", "), 60))
	}
	rows := []paint.Line{{parts.TaskBadge(t), {Text: "  " + strings.Join(facts, " · "), Style: display.Faint}}}
	if doing := parts.Doing(t, s.now); doing.Text != "" {
		line := paint.Line{doing}
		if source := parts.Source(t, s.now); source != "" {
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

// promptRows returns the rows with the beginning of the prompt.
func promptRows(prompt string, width int) []paint.Line {
	// To save time, wrap only the first bytes of a long prompt. They usually fill six rows.
	const head = 4000
	text := paint.Wrap(prompt[:min(len(prompt), head)], width-2, 6)
	if len(text) == 0 {
		return nil
	}
	rows := []paint.Line{paint.Styled(display.Bold, "Prompt")}
	for _, row := range text {
		rows = append(rows, paint.Plain("  "+row))
	}
	return rows
}

// attemptRows returns a heading and a row for each attempt, the last attempt first.
func attemptRows(s snapshot, current fleet.Task, width int) []paint.Line {
	if len(s.task.Attempts) == 0 {
		return nil
	}
	t := paint.Table{Columns: []paint.Column{{Max: 4}, {Max: 11}, {Max: 8, Min: 7, Right: true}, {Max: 200, Min: 30, Flex: true, Drop: 9}, {Max: 24, Drop: 1}, {Max: 8, Right: true, Drop: 2}, {Max: 6, Drop: 3}}}
	for _, a := range slices.Backward(s.task.Attempts) {
		if current.Attempt != nil && current.Attempt.ID == a.ID {
			a = *current.Attempt // newer data: the run is read more often than the task
		}
		took, worker := "", ""
		if d, ok := phrase.WorkTime(&a, s.now); ok {
			took = phrase.Elapsed(d)
		}
		if s.where != "" {
			worker = a.Worker
			if at := slices.IndexFunc(s.fleet.Workers, func(w fleet.Worker) bool { return w.ID == a.Worker }); at >= 0 {
				worker = s.fleet.Workers[at].Name
			}
		}
		t.Add(cell(fmt.Sprintf("#%d", a.Number), ""), parts.Badge(a.Status), cell(took, display.Faint), cell(attemptState(a), ""),
			cell(display.Line(worker, 40), display.Faint), cell(phrase.Money(a.Spent.USD), display.Faint), cell(phrase.Clock(a.Started, s.now), display.Faint))
	}
	rows := []paint.Line{paint.Styled(display.Bold, fmt.Sprintf("Attempts (%d)", len(s.task.Attempts)))}
	for _, row := range t.Rows(width - 2) {
		rows = append(rows, append(paint.Line{{Text: "  "}}, row...))
	}
	return rows
}

// attemptState returns what the agent of an attempt is doing or, if the attempt has ended, how it
// ended.
func attemptState(a fleet.Attempt) string {
	if a.Status == fleet.Running {
		return phrase.Line(a.Doing)
	}
	class, summary := phrase.Line(a.Class), phrase.Line(a.Summary)
	if summary == "" || class == "" || class == string(a.Status) {
		return cmp.Or(summary, class)
	}
	return class + ": " + summary
}

// checkRows returns the rows with the results of the checks, which are commands that verify the
// work of the task's latest attempt.
func checkRows(t fleet.Task) (rows []paint.Line) {
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
