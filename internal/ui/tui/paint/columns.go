package paint

import (
	"slices"

	"gaffer/internal/text/cells"
)

// Column describes one column of a table.
type Column struct {
	Max int // maximum width in terminal columns
	// Min is the minimum width of the column if any of its cells has text. It keeps the other
	// columns from moving when the texts change.
	Min   int
	Right bool // the text is aligned to the right
	// Drop is the order in which columns are removed if they do not all fit: the column with the
	// lowest Drop first. A column with Drop 0 is only made narrower, in the worst case to width 0.
	Drop int
	// Flex makes the column narrower if the other columns leave too little room for its text. If
	// they leave less than Min, columns are removed in the order of Drop.
	Flex  bool
	Width int // current width, set by [Table.Rows]; 0 means hidden
}

const gap = "  "

// Table collects rows and gives their columns common widths.
type Table struct {
	Columns []Column
	rows    [][]Span
}

// Add appends a row with one cell for each column.
func (t *Table) Add(cells ...Span) { t.rows = append(t.rows, cells) }

// Rows returns the rows, with columns as wide as their contents. If the rows are wider than the
// parameter width, it first makes the column with Flex narrower, down to its Min. If that is not
// enough, it removes columns, beginning with the lowest Drop. As a last resort, it makes the last
// columns narrower.
func (t *Table) Rows(width int) []Line {
	fit(t.Columns, t.rows, width)
	lines := make([]Line, len(t.rows))
	for i, row := range t.rows {
		for c, col := range t.Columns {
			if col.Width == 0 {
				continue
			}
			if len(lines[i]) > 0 {
				lines[i] = append(lines[i], Span{Text: gap})
			}
			cell := Span{cells.Fill(row[c].Text, col.Width), row[c].Style}
			if col.Right {
				cell.Text = cells.FillLeft(row[c].Text, col.Width)
			}
			if row[c].Text == "" {
				cell.Style = ""
			}
			lines[i] = append(lines[i], cell)
		}
	}
	return lines
}

// fit sets the widths of the columns, so that the rows fit into width.
func fit(cols []Column, rows [][]Span, width int) {
	for _, row := range rows {
		for c := range cols {
			if row[c].Text == "" {
				continue
			}
			least := cols[c].Min
			if cols[c].Flex {
				least = 0
			}
			cols[c].Width = max(cols[c].Width, least, min(cells.Width(row[c].Text), cols[c].Max))
		}
	}
	flex := slices.IndexFunc(cols, func(c Column) bool { return c.Flex })
	wanted, least := 0, 0
	if flex >= 0 {
		wanted, least, cols[flex].Width = cols[flex].Width, cols[flex].Min, 0
	}
	for {
		rest := width - totalWidth(cols)
		if wanted > 0 && totalWidth(cols) > 0 {
			rest -= len(gap)
		}
		if rest >= min(wanted, least) {
			if flex >= 0 {
				cols[flex].Width = min(wanted, rest)
			}
			return
		}
		next := nextToDrop(cols, flex, wanted)
		if next < 0 {
			if flex >= 0 {
				cols[flex].Width = max(min(wanted, rest), 0)
			}
			break
		}
		if cols[next].Width = 0; next == flex {
			wanted = 0
		}
	}
	squeeze(cols, width)
}

// totalWidth returns the width of all visible columns and of the gaps between them.
func totalWidth(cols []Column) int {
	n := 0
	for _, c := range cols {
		if c.Width > 0 {
			n += c.Width + len(gap)
		}
	}
	return max(n-len(gap), 0)
}

// nextToDrop returns the index of the column to remove next, or -1 if no column may be removed.
// flex is the index of the column with the field Flex, or -1. The Width of this column is not set
// yet, so nextToDrop uses the parameter wanted instead: the width that this column needs, or 0 if
// it has no text or is already removed.
func nextToDrop(cols []Column, flex, wanted int) int {
	found := -1
	for i, c := range cols {
		there := c.Width > 0 || i == flex && wanted > 0
		if there && c.Drop > 0 && (found < 0 || c.Drop < cols[found].Drop) {
			found = i
		}
	}
	return found
}

// squeeze makes columns narrower, starting with the last column, until they fit into width.
func squeeze(cols []Column, width int) {
	for i := len(cols) - 1; i >= 0; i-- {
		if over := totalWidth(cols) - width; over > 0 {
			cols[i].Width = max(cols[i].Width-over, 0)
		}
	}
}
