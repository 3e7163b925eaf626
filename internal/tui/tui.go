// Package tui is the live view of a run in a terminal.
//
// It has three parts that know little of each other. The view is pure: a run,
// the time, the size of the screen and what the person has typed become lines.
// The keyboard is a pure machine as well: a key and what is asked become an
// action. The terminal puts lines on a real screen and gives it back as it was.
// [Live] is the loop around them.
package tui

import (
	"strings"

	"gaffer/internal/cli/env"
	"gaffer/internal/tui/cells"
)

// span is a piece of a line in one style; without one it is plain.
type span struct {
	text  string
	style env.Style
}

// line is one row of the screen.
type line []span

func plain(text string) line { return line{{text: text}} }

func styled(style env.Style, text string) line { return line{{text, style}} }

func (l line) width() int {
	n := 0
	for _, s := range l {
		n += cells.Width(s.text)
	}
	return n
}

// render gives the line as it goes to a terminal, never wider than the screen.
func (l line) render(width int, color bool) string {
	var b strings.Builder
	for _, s := range l {
		text := cells.Cut(s.text, width)
		width -= cells.Width(text)
		if color && s.style != "" && text != "" {
			text = "\x1b[" + string(s.style) + "m" + text + "\x1b[0m"
		}
		b.WriteString(text)
	}
	return strings.TrimRight(b.String(), " ")
}

// apart puts text at the two ends of a line. What does not fit goes first at
// the right.
func apart(left, right line, width int) line {
	gap := width - left.width() - right.width()
	if gap < 2 {
		return left
	}
	return append(append(left, span{text: strings.Repeat(" ", gap)}), right...)
}
