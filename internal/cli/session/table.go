package session

import (
	"strings"
	"unicode/utf8"

	"gaffer/internal/cli/env"
	"gaffer/internal/text/display"
)

// cell is one text of a table with its style.
type cell struct {
	text  string
	style display.Style
}

// table writes rows in aligned columns. It pads before it styles, because escape
// sequences must not count as width.
func table(e *env.Env, rows [][]cell) error {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i := range row {
			row[i].text = display.Printable(row[i].text)
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i].text))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		for i, c := range row {
			text := c.text
			if c.style != "" {
				text = e.Paint(e.Out, c.style, text)
			}
			b.WriteString(text)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text)+2))
			}
		}
		b.WriteByte('\n')
	}
	return e.Printf("%s", b.String())
}
