package watch

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"gaffer/internal/text/display"
	"gaffer/internal/text/truncate"
	"gaffer/internal/ui/tui/paint"
)

// record is the end of a log.
type record struct {
	lines   []string
	begun   bool
	ended   bool
	problem string
	lost    int // number of earlier lines that were dropped
}

// Limits of the part of a log that is kept, enough for scrolling back. 'gaffer logs'
// prints all of it.
const (
	maxLines = 5000
	maxLine  = 4000 // bytes
)

func (m Model) seeLog(l Log) Model {
	if l.Begin {
		m.log = record{begun: true}
	}
	r := &m.log
	if l.Problem != "" {
		r.problem = l.Problem
	}
	r.ended = r.ended || l.Ended
	before := len(r.lines)
	for _, line := range l.Lines {
		r.lines = append(r.lines, strings.ReplaceAll(truncate.Bytes(line, maxLine), "\t", "    "))
	}
	if over := len(r.lines) - maxLines; over > maxLines/10 {
		r.lines, r.lost = append([]string(nil), r.lines[over:]...), r.lost+over
	}
	// If the user has scrolled back, keep the same lines visible.
	if p := m.place(taskScreen); p != nil && p.back > 0 {
		p.back += len(l.Lines)
	}
	if before == 0 && l.Begin {
		if p := m.place(taskScreen); p != nil {
			p.back = 0
		}
	}
	return m
}

// place returns the innermost location that shows a screen, or nil.
func (m Model) place(s screen) *location {
	for i := len(m.stack) - 1; i >= 0; i-- {
		if m.stack[i].screen == s {
			return &m.stack[i]
		}
	}
	return nil
}

// shown returns the lines of the log that match the filter.
func (m Model) shown() []string {
	filter := m.here().filter
	if filter == "" {
		return m.log.lines
	}
	var lines []string
	for _, line := range m.log.lines {
		if fits(filter, ansi.Strip(line)) {
			lines = append(lines, line)
		}
	}
	return lines
}

// logRows draws the log in room rows, with a heading that says which part is visible.
func (m Model) logRows(width, room int) []string {
	if room <= 0 {
		return nil
	}
	p := m.here()
	lines := m.shown()
	room--
	back := min(p.back, max(len(lines)-room, 0))
	end := len(lines) - back
	first := max(end-room, 0)
	where := "follows"
	switch {
	case m.log.problem != "":
		where = display.Line(m.log.problem, 200)
	case !m.log.begun:
		where = "…"
	case len(lines) == 0 && m.log.ended:
		where = "nothing was said"
	case len(lines) == 0:
		where = "nothing yet"
	case m.log.ended:
		where = "ended"
	}
	if back > 0 {
		where = fmt.Sprintf("%d to %d of %d, End follows", m.log.lost+first+1, m.log.lost+end, m.log.lost+len(lines))
	}
	rows := []string{paint.Line{{Text: "Log", Style: display.Bold}, {Text: "  " + where, Style: display.Faint}}.Render(width, m.Color)}
	for _, line := range lines[first:end] {
		rows = append(rows, m.logRow(line, p.sideways, width))
	}
	return rows
}

// logRow returns a line from a column on. It resets the colours at its end.
func (m Model) logRow(line string, from, width int) string {
	if !m.Color {
		line = ansi.Strip(line)
	}
	cut := ansi.Cut(line, from, from+width)
	if from == 0 {
		cut = ansi.Truncate(line, width, "…")
	}
	if strings.Contains(cut, "\x1b") {
		cut += "\x1b[0m"
	}
	return cut
}
