package report

import (
	"fmt"
	"path/filepath"
	"strings"

	"gaffer/fleet"
	"gaffer/internal/text/cells"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
)

// maxMorningRows is the maximum number of entries in each part of a morning report on a terminal.
const maxMorningRows = 20

// Morning formats a morning report for a terminal. The report says what happened to tasks while the
// user was away. Tasks that need the user come first. Times are shown in the time zone of r.Until.
func Morning(r fleet.MorningReport, s Screen) string {
	p := &morningPrinter{printer: printer{Screen: s}, r: r}
	p.line("%s", p.paint(display.Bold, cells.Truncate(fmt.Sprintf("Since %s, %s", phrase.Clock(r.Since, r.Until), costText(r.Cost)), p.width())))
	summary := MorningSummary(r)
	if summary == "" && len(r.NotStarted) == 0 {
		p.line("Nothing has happened.")
		return p.out.String()
	}
	if summary != "" {
		p.wrapped("", summary, "")
	}
	p.tasks("Waiting for you", display.Yellow, r.Waiting, func(t fleet.MorningTask) string { return t.Why })
	p.tasks("Failed", display.Red, r.Failed, func(t fleet.MorningTask) string {
		if t.Why == t.Class || t.Class == "failed" || strings.HasPrefix(t.Why, t.Class+":") {
			return t.Why
		}
		return phrase.Join(": ", t.Class, t.Why)
	})
	p.tasks("To review", display.Yellow, r.Review, func(t fleet.MorningTask) string {
		state := ""
		if t.Review != "" && t.Review != fleet.ReviewOpen {
			state = strings.ReplaceAll(string(t.Review), "_", " ")
		}
		return phrase.Join(", ", p.lines(t), state)
	})
	p.tasks("Merged", display.Green, r.Merged, func(t fleet.MorningTask) string {
		return phrase.Join(", ", p.lines(t), "into "+t.Into+" at "+phrase.Clock(t.At, r.Until))
	})
	p.tasks("Complete, nothing to merge", display.Green, r.Done, func(t fleet.MorningTask) string { return t.Why })
	p.tasks("Running or queued", "", r.Running, func(t fleet.MorningTask) string { return phrase.Join(": ", string(t.Status), t.Why) })
	p.tasks("Skipped", display.Faint, r.Skipped, func(t fleet.MorningTask) string { return t.Why })
	p.notStarted()
	p.runs()
	p.questions()
	p.accounts()
	return p.out.String()
}

// MorningSummary returns a line with the number of tasks in each part of a morning report, such as
// "2 failed, 1 merged". If the report has no tasks, the line contains the number of its runs. If it
// has no runs either, MorningSummary returns "".
func MorningSummary(r fleet.MorningReport) string {
	var parts []string
	add := func(n int, one, several string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, several))
		}
	}
	add(len(r.Waiting), "waits for you", "wait for you")
	add(len(r.Failed), "failed", "failed")
	add(len(r.Review), "to review", "to review")
	add(len(r.Merged), "merged", "merged")
	add(len(r.Done), "complete without a change", "complete without a change")
	add(len(r.Running), "running or queued", "running or queued")
	add(len(r.Skipped), "skipped", "skipped")
	if len(parts) == 0 && len(r.Runs) > 0 {
		return phrase.Count(len(r.Runs), "run")
	}
	return strings.Join(parts, ", ")
}

type morningPrinter struct {
	printer
	r fleet.MorningReport
}

// morningRow is an entry in a part of the report. Its first line shows name and text. The fields
// note and link each get a line of their own below, if they are not empty. All texts except link
// are cut to the width of the terminal.
type morningRow struct{ name, text, note, link string }

// rows prints a part of the report: a title, and below it a list of entries. It prints nothing if
// there are no entries.
func (p *morningPrinter) rows(title string, style display.Style, rows []morningRow) {
	if len(rows) == 0 {
		return
	}
	p.line("")
	heading := display.Bold
	if style != "" {
		heading += ";" + style
	}
	p.line("%s", p.paint(heading, fmt.Sprintf("%s (%d)", title, len(rows))))
	shown := rows[:min(len(rows), maxMorningRows)]
	names := 0
	for i := range shown {
		shown[i].name = display.Line(shown[i].name, p.width()/2)
		names = max(names, cells.Width(shown[i].name))
	}
	names = min(names, p.width()*2/5)
	indent := strings.Repeat(" ", names+4)
	for _, r := range shown {
		p.line("  %s  %s", cells.Fill(cells.Truncate(r.name, names), names), cells.Truncate(display.OneLine(r.text), p.width()-names-4))
		if r.note != "" {
			p.line("%s%s", indent, p.paint(display.Faint, cells.Truncate(display.OneLine(r.note), p.width()-names-4)))
		}
		if r.link != "" {
			p.line("%s%s", indent, p.paint(display.Faint, display.Printable(r.link)))
		}
	}
	if more := len(rows) - len(shown); more > 0 {
		p.line("  and %d more: --json has all of them", more)
	}
}

func (p *morningPrinter) tasks(title string, style display.Style, list []fleet.MorningTask, text func(fleet.MorningTask) string) {
	var rows []morningRow
	for _, t := range list {
		r := morningRow{name: fleet.ShortRun(t.Run) + "/" + t.Task, text: phrase.Join(" ", phrase.Money(t.Spent.USD), text(t))}
		if i := t.Item; i != nil {
			r.note, r.link = phrase.Join(" ", sourceName(i.Source), i.ID, i.Title), i.URL
		} else if t.Name != t.Task {
			r.note = t.Name
		}
		rows = append(rows, r)
	}
	p.rows(title, style, rows)
}

// sourceName returns the displayed name of an external source of tasks, such as an issue tracker or
// a file. For a file, this is the last part of its path.
func sourceName(source string) string {
	if filepath.IsAbs(source) {
		return filepath.Base(source)
	}
	return source
}

// lines says how many lines a task has added and removed, and in how many files, such as "+10 −2 in
// 3 files". It returns "" if the task has changed no files.
func (p *morningPrinter) lines(t fleet.MorningTask) string {
	if t.Changed == 0 {
		return ""
	}
	minus := "−"
	if p.ASCII {
		minus = "-"
	}
	return fmt.Sprintf("+%d %s%d in %s", t.Added, minus, t.Removed, phrase.Count(t.Changed, "file"))
}

func (p *morningPrinter) runs() {
	var rows []morningRow
	for _, r := range p.r.Runs {
		started := ""
		if r.StartedBy != "" {
			started = "started by " + r.StartedBy
		}
		rows = append(rows, morningRow{
			name: fleet.ShortRun(r.ID), text: phrase.Join(", ", r.Name, costText(r.Cost)), note: phrase.Join(", ", phrase.Counts(r.Counts), started, r.Stopping),
		})
	}
	p.rows("Runs", "", rows)
}

// notStarted prints the times at which a schedule should have started a run, but started none. A
// schedule starts runs of a plan at regular times.
func (p *morningPrinter) notStarted() {
	var rows []morningRow
	for _, f := range p.r.NotStarted {
		planned := phrase.Clock(f.Planned, p.r.Until)
		if f.Count > 1 {
			planned = fmt.Sprintf("%s and %d earlier times", planned, f.Count-1)
		}
		rows = append(rows, morningRow{name: f.Schedule, text: planned + " " + string(f.Status), note: f.Why})
	}
	p.rows("Schedules that started no run", display.Yellow, rows)
}

func (p *morningPrinter) questions() {
	var rows []morningRow
	for _, q := range p.r.Questions {
		verb := "answered by " + q.By
		switch {
		case q.Open:
			verb = "waits for an answer"
		case q.By == "":
			verb = "withdrawn by the agent"
		case q.Denied:
			verb = "denied by " + q.By
		case q.Tool != "":
			verb = "allowed by " + q.By
		}
		rows = append(rows, morningRow{name: fmt.Sprintf("%d×", q.Count), text: verb, note: phrase.Join(": ", fleet.QuestionName(q.Run, q.Task), phrase.Join(" → ", q.Example, q.Answer))})
		if p.ASCII {
			rows[len(rows)-1].name = fmt.Sprintf("%d x", q.Count)
			rows[len(rows)-1].note = strings.ReplaceAll(rows[len(rows)-1].note, " → ", " -> ")
		}
	}
	p.rows("Questions of agents", "", rows)
}

func (p *morningPrinter) accounts() {
	var rows []morningRow
	for _, a := range p.r.Accounts {
		usd := "cost unknown"
		if a.USD != nil {
			usd = phrase.Money(*a.USD)
		}
		limited, until := "", ""
		if a.Limited > 0 {
			limited = "reached its rate limit " + times(a.Limited)
		}
		if a.Until.After(p.r.Until) {
			until = "paused until " + phrase.Clock(a.Until, p.r.Until)
		}
		rows = append(rows, morningRow{name: a.Name, text: phrase.Join(", ", phrase.Count(a.Attempts, "attempt"), usd, limited, until)})
	}
	p.rows("Accounts", "", rows)
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// costText formats the total cost of attempts. If the cost of some attempts is unknown, the text
// says so.
func costText(c fleet.CostRow) string {
	switch {
	case c.Attempts == 0:
		return "$0.00"
	case c.USD == nil:
		return "cost unknown"
	}
	text := phrase.Money(*c.USD)
	if c.Unknown > 0 {
		text += fmt.Sprintf(" and %s of unknown cost", phrase.Count(c.Unknown, "attempt"))
	}
	return text
}
