package statusline

import (
	"fmt"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/text/cells"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/workflow"
)

// Format describes how the rows are rendered.
type Format struct {
	Color   bool
	Columns int // maximum width of a row; 0 means unlimited
	Now     time.Time
}

// Render returns up to three rows: the project, the project's current work if any, and gaffer's
// runs if l.Fleet is set and not empty. Each row is one printable line.
func Render(l Line, f Format) []string {
	var rows []string
	for _, row := range [][]part{project(l), work(l), running(l.Fleet, f.Now)} {
		if len(row) > 0 {
			rows = append(rows, f.join(row))
		}
	}
	return rows
}

// part is a piece of a row, such as the name of the git branch.
type part struct {
	text  string
	style display.Style // empty means plain text
}

// maxText is the maximum length, in characters, to which a text from a document is shortened.
const maxText = 300

// add appends one part to the row: the parameter sign, followed by a text from a document. It
// appends nothing if the text is empty.
func add(row []part, sign, text string) []part {
	// Replace all white space by single spaces first: display.Line would replace carriage returns
	// and other unusual white space by U+FFFD, because they are not printable.
	if text = display.Line(strings.Join(strings.Fields(text), " "), maxText); text == "" {
		return row
	}
	return append(row, part{text: sign + text})
}

func project(l Line) []part {
	row := add(nil, "", l.Project+" "+l.Version)
	row = add(row, "⎇ ", l.Branch)
	row = add(row, "▤ ", l.SpecVersion)
	if l.SpecStatus != "active" {
		row = add(row, "", l.SpecStatus)
	}
	if c := l.Context; c != nil {
		style := display.Green
		switch c.Level {
		case workflow.Red:
			style = display.Red
		case workflow.Yellow:
			style = display.Yellow
		}
		row = append(row, part{fmt.Sprintf("◐ %d%%", c.Percent), style})
	}
	return row
}

func work(l Line) []part {
	row := add(nil, "", l.Command)
	if l.Chunks != nil {
		row = add(row, "▸ ", l.Chunks.String())
	}
	row = add(row, "", section(l))
	if s := l.Score; s != nil {
		row = add(row, "✓ ", fmt.Sprintf("%d/%d", s.Satisfied, s.Total))
	}
	if r := l.Ready; r != nil {
		row = add(row, "◆ ", fmt.Sprintf("%d/%d", r.Ready, r.Total))
	}
	if l.Untracked > 0 {
		row = add(row, "△ ", fmt.Sprint(l.Untracked))
	}
	return add(row, "→ ", l.Next)
}

// String returns the progress of a build, such as "2+1(r2)/5 1✗": of 5 chunks, 2 are completed, 1
// is in progress in attempt 2, and 1 has failed.
func (c Chunks) String() string {
	var b strings.Builder
	fmt.Fprint(&b, c.Completed)
	if c.Active > 0 {
		fmt.Fprintf(&b, "+%d", c.Active)
	}
	if c.Attempt > 1 {
		fmt.Fprintf(&b, "(r%d)", c.Attempt)
	}
	fmt.Fprintf(&b, "/%d", c.Total)
	if c.Failed > 0 {
		fmt.Fprintf(&b, " %d✗", c.Failed)
	}
	return b.String()
}

func section(l Line) string {
	if l.Section == "" || l.SectionNumber == "" {
		return l.Section + l.SectionNumber
	}
	return l.Section + " (" + l.SectionNumber + ")"
}

// running returns the row about gaffer's runs: how many tasks run or have failed, how many
// questions wait for an answer, the cost of today's attempts, the paused agent accounts, and the
// cost limits that are reached.
func running(g *fleet.Summary, now time.Time) (row []part) {
	if g == nil {
		return nil
	}
	if g.Running > 0 {
		row = append(row, part{text: fmt.Sprintf("● %d running", g.Running)})
	}
	if g.Waiting > 0 {
		text := fmt.Sprintf("? %d waiting %s", g.Waiting, phrase.Age(max(now.Sub(g.Asked), 0)))
		if name := display.Line(g.Oldest, maxText); name != "" {
			text += ", " + name
			if g.Waiting > 1 {
				text += " first"
			}
		}
		row = append(row, part{text, display.Yellow})
	}
	if g.Failed > 0 {
		row = append(row, part{fmt.Sprintf("✗ %d failed", g.Failed), display.Red})
	}
	if money := phrase.Money(g.Today.USD); money != "" {
		row = append(row, part{text: money + " today"})
	}
	for _, lane := range g.Lanes {
		row = append(row, part{"‖ " + display.Line(phrase.Paused(lane, now), maxText), display.Yellow})
	}
	return row
}

// join joins the parts to one line of at most f.Columns columns.
func (f Format) join(row []part) string {
	var b strings.Builder
	room := f.Columns
	for i, p := range row {
		if i > 0 {
			b.WriteString(" " + f.paint(display.Faint, "│") + " ")
		}
		if f.Columns <= 0 {
			b.WriteString(f.paint(p.style, p.text))
			continue
		}
		if i < len(row)-1 && cells.Width(p.text)+minRoom > room {
			// The next part does not fit: end the row with "…".
			b.WriteString(f.paint(p.style, cells.Truncate(p.text+" …", room)))
			break
		}
		b.WriteString(f.paint(p.style, cells.Truncate(p.text, room)))
		room -= cells.Width(p.text) + separator
	}
	return b.String()
}

const (
	separator = 3             // width of " │ " in columns
	minRoom   = separator + 2 // minimum room for the next part and its separator, in columns
)

func (f Format) paint(style display.Style, text string) string {
	if !f.Color {
		return text
	}
	return style.Paint(text)
}
