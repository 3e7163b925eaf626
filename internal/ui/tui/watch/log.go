package watch

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"gaffer/internal/text/display"
	"gaffer/internal/text/truncate"
	"gaffer/internal/ui/tui/paint"
)

// logPane shows the last lines of a log. It follows the log until the user scrolls back.
type logPane struct {
	lines   []string
	begun   bool
	ended   bool
	problem string
	lost    int // number of lines that were dropped from the beginning

	filter   filter
	back     int // number of lines that the user has scrolled back from the end
	sideways int // number of columns that the user has scrolled to the right
}

// Limits of the part of a log that is kept in memory for scrolling back. 'gaffer logs' prints the
// whole log.
const (
	maxLines = 5000
	maxLine  = 4000 // maximum bytes of one line
)

// add appends the new output l to the pane. If l.Begin is true, add first drops all lines of the
// pane. If the user has scrolled back and no filter is active, the same lines stay visible.
func (p logPane) add(l Log) logPane {
	if l.Begin {
		p = logPane{begun: true, filter: p.filter, sideways: p.sideways}
	}
	if l.Problem != "" {
		p.problem = l.Problem
	}
	p.ended = p.ended || l.Ended
	for _, line := range l.Lines {
		p.lines = append(p.lines, strings.ReplaceAll(truncate.Bytes(line, maxLine), "\t", "    "))
	}
	if over := len(p.lines) - maxLines; over > maxLines/10 {
		p.lines, p.lost = append([]string(nil), p.lines[over:]...), p.lost+over
	}
	if p.back > 0 {
		p.back += len(l.Lines)
	}
	return p
}

// scroll handles a key that scrolls. Scrolling back stops following the log; scrolling to the end
// follows it again.
func (p logPane) scroll(key string, width, page int) logPane {
	switch key {
	case "up", "k":
		p.back++
	case "down", "j":
		p.back--
	case "pgup", "ctrl+b":
		p.back += page
	case "pgdown", "ctrl+f", "space":
		p.back -= page
	case "home", "g":
		p.back = len(p.lines)
	case "end", "G":
		p.back, p.sideways = 0, 0
	case "right":
		p.sideways += width / 2
	case "left":
		p.sideways -= width / 2
	}
	p.back, p.sideways = max(p.back, 0), max(p.sideways, 0)
	return p
}

// settle corrects the scroll position after the lines or the size of the pane have changed. height
// is the number of visible lines.
func (p logPane) settle(height int) logPane {
	p.back = min(p.back, max(len(p.matching())-height, 0))
	return p
}

// matching returns the lines of the log that match the filter.
func (p logPane) matching() []string {
	if p.filter.text == "" {
		return p.lines
	}
	var lines []string
	for _, line := range p.lines {
		if p.filter.matches(ansi.Strip(line)) {
			lines = append(lines, line)
		}
	}
	return lines
}

// view returns the rows of the log, below a heading. The heading shows the state of the log or, if
// the user has scrolled back, the numbers of the visible lines.
func (p logPane) view(f frame) []string {
	if f.height <= 0 {
		return nil
	}
	lines, height := p.matching(), f.height-1
	back := min(p.back, max(len(lines)-height, 0))
	end := len(lines) - back
	first := max(end-height, 0)
	part := "follows"
	switch {
	case back > 0:
		part = fmt.Sprintf("%d to %d of %d, End follows", p.lost+first+1, p.lost+end, p.lost+len(lines))
	case p.problem != "":
		part = display.Line(p.problem, 200)
	case !p.begun:
		part = "…"
	case len(lines) == 0 && p.ended:
		part = "nothing was said"
	case len(lines) == 0:
		part = "nothing yet"
	case p.ended:
		part = "ended"
	}
	rows := f.render([]paint.Line{{{Text: "Log", Style: display.Bold}, {Text: "  " + part, Style: display.Faint}}})
	for _, line := range lines[first:end] {
		if !f.color {
			line = ansi.Strip(line)
		}
		if p.sideways == 0 {
			line = ansi.Truncate(line, f.width, "…")
		} else {
			line = ansi.Cut(line, p.sideways, p.sideways+f.width)
		}
		if strings.Contains(line, "\x1b") {
			line += "\x1b[0m"
		}
		rows = append(rows, line)
	}
	return rows
}
