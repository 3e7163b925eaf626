package paint

import (
	"slices"

	"gaffer/internal/text/cells"
	"gaffer/internal/text/display"
)

// Column describes one column of a table.
type Column struct {
	Most  int  // maximum width
	Least int  // minimum width of a column with text, so that changing values do not move the other columns
	Right bool // right-aligned
	Drop  int  // if space is short, the column with the lowest value is removed first; 0 means never
	Flex  bool // it takes the space that the others leave; columns are removed until it has at least Least
	Width int  // set by [Fit]; 0 hides the column
}

const gap = "  "

// Fit makes columns as wide as their contents. It removes columns, the one with the
// lowest Drop first, until the others fit.
func Fit(cols []Column, texts [][]string, width int) {
	for _, row := range texts {
		for c := range cols {
			if row[c] != "" {
				cols[c].Width = max(cols[c].Width, least(cols[c]), min(cells.Width(row[c]), cols[c].Most))
			}
		}
	}
	flex := slices.IndexFunc(cols, func(c Column) bool { return c.Flex })
	wanted, least := 0, 0
	if flex >= 0 {
		wanted, least, cols[flex].Width = cols[flex].Width, cols[flex].Least, 0
	}
	for {
		rest := width - taken(cols)
		if wanted > 0 && taken(cols) > 0 {
			rest -= len(gap)
		}
		if rest >= min(wanted, least) {
			if flex >= 0 {
				cols[flex].Width = min(wanted, rest)
			}
			return
		}
		next := dropped(cols, flex, wanted)
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

// least returns the minimum width of a column, 0 for the flexible one.
func least(c Column) int {
	if c.Flex {
		return 0
	}
	return c.Least
}

// taken returns the width of all columns, including the gaps between them.
func taken(cols []Column) int {
	n := 0
	for _, c := range cols {
		if c.Width > 0 {
			n += c.Width + len(gap)
		}
	}
	return max(n-len(gap), 0)
}

// dropped returns the index of the column to remove next, or -1.
func dropped(cols []Column, flex, wanted int) int {
	found := -1
	for i, c := range cols {
		there := c.Width > 0 || i == flex && wanted > 0
		if there && c.Drop > 0 && (found < 0 || c.Drop < cols[found].Drop) {
			found = i
		}
	}
	return found
}

// squeeze makes the remaining columns narrower, from the last one on, if they are
// wider than the screen.
func squeeze(cols []Column, width int) {
	for i := len(cols) - 1; i >= 0; i-- {
		if over := taken(cols) - width; over > 0 {
			cols[i].Width = max(cols[i].Width-over, 0)
		}
	}
}

// Row returns one row of a table after [Fit] has set the widths. styles holds one
// style for each text.
func Row(cols []Column, texts []string, styles []display.Style) Line {
	var l Line
	for c, col := range cols {
		if col.Width == 0 {
			continue
		}
		if len(l) > 0 {
			l = append(l, Span{Text: gap})
		}
		text, style := cells.Fill(texts[c], col.Width), styles[c]
		if col.Right {
			text = cells.FillLeft(texts[c], col.Width)
		}
		if texts[c] == "" {
			style = ""
		}
		l = append(l, Span{text, style})
	}
	return l
}
