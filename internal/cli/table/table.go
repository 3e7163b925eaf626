// Package table prints tables whose columns are aligned and fit the terminal.
package table

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gaffer/internal/cli/env"
	"gaffer/internal/text/cells"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/tui/paint"
	"gaffer/internal/ui/tui/terminal"
)

// Cell is a text in a table, with its style.
type Cell struct {
	Text  string
	Short string // used instead of Text if the table is too wide for the terminal; may be empty
	Style display.Style

	// Keep, Least and Drop are used only in headings. They say what happens to the column in a
	// narrow terminal. Keep means: do not shorten the column while another column can be shortened.
	Keep bool
	// Least is the minimum width of the column while another column can be dropped; 0 means 16.
	Least int
	// Drop is the position of the column in the order in which columns are dropped, the lowest
	// number first. 0 means that the column is never dropped.
	Drop int
}

// Row returns a row of plain texts.
func Row(texts ...string) []Cell {
	row := make([]Cell, len(texts))
	for i, text := range texts {
		row[i].Text = text
	}
	return row
}

// Texts prints rows of plain texts like [Print], but prints an empty text as a blank cell and not
// as a dash.
func Texts(e *env.Env, rows [][]string) error {
	lines := make([][]Cell, len(rows))
	for i, row := range rows {
		lines[i] = Row(row...)
		for c := range row {
			if row[c] == "" {
				lines[i][c].Text = " "
			}
		}
	}
	return Print(e, lines)
}

// Print prints a table. The first row is the heading. An empty cell is shown as a dash. In a
// terminal, Print shortens texts and drops columns so that rows fit its width. In a pipe or file it
// prints all columns and texts in full. Escape sequences of colours do not count as width.
func Print(e *env.Env, rows [][]Cell) error {
	rows, widths := fit(clean(rows), terminal.Columns(e.Out))
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, c := range row {
			text := cut(c.Text, widths[i])
			blank := strings.Repeat(" ", widths[i]-cells.Width(text))
			if c.Style != "" {
				text = e.Paint(e.Out, c.Style, text)
			}
			if line += text; i < len(row)-1 {
				line += blank + gap
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return e.Printf("%s", b.String())
}

// Talk prints a message to stderr like [env.Env.Talk], but wraps lines that are wider than the
// terminal.
func Talk(e *env.Env, format string, args ...any) {
	for _, row := range paint.HangingIndent(fmt.Sprintf(format, args...), terminal.Columns(e.Err), 4) {
		e.Talk("%s", row)
	}
}

// Lines prints sentences below a table. In a terminal it wraps long sentences between words. style
// returns the style of a sentence; it may be nil.
func Lines(e *env.Env, style func(line string) display.Style, lines ...string) error {
	columns := terminal.Columns(e.Out)
	for _, line := range lines {
		for _, row := range paint.HangingIndent(line, columns, 4) {
			if style != nil {
				row = e.Paint(e.Out, style(line), row)
			}
			if err := e.Printf("%s\n", row); err != nil {
				return err
			}
		}
	}
	return nil
}

const gap = "  "

// clean returns the rows with all texts made printable, and a dash in place of each empty text.
func clean(rows [][]Cell) [][]Cell {
	cleaned := make([][]Cell, len(rows))
	for r, row := range rows {
		for _, c := range row {
			c.Text, c.Short = cmp.Or(display.Printable(c.Text), "-"), display.Printable(c.Short)
			cleaned[r] = append(cleaned[r], c)
		}
	}
	return cleaned
}

// readableWidth is the minimum width of a column while other columns can be dropped. The field
// Least in the heading of a column can set another minimum.
const readableWidth = 16

// fit returns the rows without the columns that do not fit the terminal, and the widths of the
// remaining columns. columns is the width of the terminal; 0 means no limit.
//
// fit saves width in this order: it uses short texts, drops empty columns, shortens the widest
// columns to a readable width, drops columns that may be dropped, and then shortens the remaining
// columns.
func fit(rows [][]Cell, columns int) ([][]Cell, []int) {
	widths := widthsOf(rows)
	if columns <= 0 || total(widths) <= columns {
		return rows, widths
	}
	for i := range rows[0] {
		if total(widthsOf(rows)) <= columns {
			break
		}
		for _, row := range rows {
			row[i].Text = cmp.Or(row[i].Short, row[i].Text)
		}
	}
	for i := len(rows[0]) - 1; i >= 0 && len(rows) > 1; i-- {
		if total(widthsOf(rows)) > columns && !slices.ContainsFunc(rows[1:], func(row []Cell) bool { return row[i].Text != "-" }) {
			rows = without(rows, i)
		}
	}
	for {
		widths = widthsOf(rows)
		shrink(rows[0], widths, columns, false, func(c Cell) int { return cmp.Or(c.Least, readableWidth) })
		drop := -1
		for i, c := range rows[0] {
			if c.Drop > 0 && (drop < 0 || c.Drop < rows[0][drop].Drop) {
				drop = i
			}
		}
		if total(widths) <= columns || drop < 0 {
			break
		}
		rows = without(rows, drop)
	}
	shrink(rows[0], widths, columns, false, func(Cell) int { return 6 })
	shrink(rows[0], widths, columns, true, func(Cell) int { return 1 })
	return rows, widths
}

func widthsOf(rows [][]Cell) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, c := range row {
			widths[i] = max(widths[i], cells.Width(c.Text))
		}
	}
	return widths
}

func total(widths []int) int {
	n := len(gap) * (len(widths) - 1)
	for _, w := range widths {
		n += w
	}
	return n
}

func without(rows [][]Cell, column int) [][]Cell {
	kept := make([][]Cell, len(rows))
	for r, row := range rows {
		kept[r] = slices.Concat(row[:column], row[column+1:])
	}
	return kept
}

// shrink reduces the widths of the widest columns until all columns fit. The function least returns
// the minimum width of a column; shrink reduces no width below it. If shrinkKept is false, columns
// with the field Keep are not shortened.
func shrink(heading []Cell, widths []int, columns int, shrinkKept bool, least func(heading Cell) int) {
	for total(widths) > columns {
		widest := -1
		for i, w := range widths {
			if w > least(heading[i]) && (shrinkKept || !heading[i].Keep) && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

// cut shortens a text to a number of terminal columns. It cuts between two words if there is a
// space in the last third of these columns.
func cut(text string, columns int) string {
	if cells.Width(text) <= columns {
		return text
	}
	short := cells.Truncate(text, columns)
	if at := strings.LastIndexByte(short, ' '); at > 0 && cells.Width(short[:at]) >= columns*2/3 {
		short = strings.TrimRight(short[:at], " ,;:") + "…"
	}
	return short
}
