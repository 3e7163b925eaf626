// Package table writes results in aligned columns.
package table

import (
	"strings"

	"gaffer/internal/cli/env"
	"gaffer/internal/tui/cells"
)

// Cell is one text with the style it is painted in.
type Cell struct {
	Text  string
	Style env.Style
}

// Row makes a row of plain texts.
func Row(texts ...string) []Cell {
	row := make([]Cell, len(texts))
	for i, text := range texts {
		row[i].Text = text
	}
	return row
}

// Print writes rows, the first of which is the heading. An empty cell is shown
// as a dash. Escape sequences of colours do not count as width.
func Print(e *env.Env, rows [][]Cell) error {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i := range row {
			if row[i].Text = env.Printable(row[i].Text); row[i].Text == "" {
				row[i].Text = "-"
			}
			widths[i] = max(widths[i], cells.Width(row[i].Text))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, c := range row {
			text := c.Text
			if c.Style != "" {
				text = e.Paint(e.Out, c.Style, text)
			}
			if i < len(row)-1 {
				text += strings.Repeat(" ", widths[i]-cells.Width(c.Text)+2)
			}
			line += text
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return e.Printf("%s", b.String())
}
