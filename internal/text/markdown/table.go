package markdown

import (
	"strings"

	"gaffer/internal/text/cells"
)

const gap = "  " // between two columns

// table writes a table. Each column except the last is as wide as its widest cell. The last column
// gets the rest of the line, and its text is wrapped if it is longer. If text has to be wrapped and
// the rest of the line is narrower than 30 terminal columns or than half of the line, table writes
// a list instead. In the list, the first cell of a row is above the row's other cells.
func (f *formatter) table(lines []string) {
	rows := make([][]string, 0, len(lines))
	for i, line := range lines {
		switch i {
		case 0:
			// Format the headings without styles, because the code below paints each heading as a
			// whole.
			rows = append(rows, new(formatter).row(line))
		case 1: // skip the line of dashes below the head
		default:
			rows = append(rows, f.row(line))
		}
	}
	head, rows := rows[0], rows[1:]
	widths := make([]int, len(head))
	for _, row := range append(rows, head) {
		for i := range min(len(row), len(widths)) {
			widths[i] = max(widths[i], cells.Width(row[i]))
		}
	}
	used := len(margin)
	for _, width := range widths[:len(widths)-1] {
		used += width + len(gap)
	}
	last := f.columns - used
	if last < min(max(30, f.columns/2), widths[len(widths)-1]) {
		for _, row := range rows {
			f.write(f.stackedRow(head, row)...)
			f.below = true
		}
		f.below = false
		return
	}
	for i := range head {
		head[i] = paint(f.style.Heading, head[i])
	}
	var shown []string
	for _, row := range append([][]string{head}, rows...) {
		shown = append(shown, alignedRow(row, widths, last)...)
	}
	f.write(shown...)
}

// row splits a line of a Markdown table into cells and returns the formatted cells.
func (f *formatter) row(line string) (row []string) {
	line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|")
	const pipe = "\x00" // replaces an escaped | while the row is split
	for _, part := range strings.Split(strings.ReplaceAll(line, `\|`, pipe), "|") {
		row = append(row, f.inline(strings.ReplaceAll(strings.TrimSpace(part), pipe, "|")))
	}
	return row
}

func alignedRow(row []string, widths []int, last int) (lines []string) {
	before := margin
	for i := range row[:len(row)-1] {
		before += cells.Fill(row[i], widths[i]) + gap
	}
	for _, line := range wrap(row[len(row)-1], last) {
		lines = append(lines, before+line)
		before = strings.Repeat(" ", cells.Width(before))
	}
	return lines
}

func (f *formatter) stackedRow(head, row []string) (lines []string) {
	const indent = margin + margin + margin
	for _, line := range wrap(row[0], f.columns-len(margin)) {
		lines = append(lines, margin+line)
	}
	for i, text := range row[1:] {
		if text == "" {
			continue
		}
		if len(row) > 2 && i+1 < len(head) {
			text = head[i+1] + ": " + text
		}
		for _, line := range wrap(text, f.columns-len(indent)) {
			lines = append(lines, indent+line)
		}
	}
	return lines
}
