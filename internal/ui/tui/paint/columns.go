package paint

import (
	"slices"

	"gaffer/internal/text/cells"
	"gaffer/internal/text/display"
)

// Column is one thing told of every row of a table.
type Column struct {
	Most  int  // it is never wider
	Least int  // nor narrower, if anything stands in it: what changes all the time moves nothing
	Right bool // the text stands at the right
	Drop  int  // where room is short, the columns with the lowest go first; one with 0 stays
	Flex  bool // it takes what room the others leave, and Least of it before others give way
	Width int  // set by [Fit]; 0 leaves the column out
}

const gap = "  "

// Fit makes columns as wide as what stands in them, and takes columns out until
// the rest fits: the least needed first.
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

// least is how narrow a column may be that does not take the rest.
func least(c Column) int {
	if c.Flex {
		return 0
	}
	return c.Least
}

// taken is the room of all columns with the gaps between them.
func taken(cols []Column) int {
	n := 0
	for _, c := range cols {
		if c.Width > 0 {
			n += c.Width + len(gap)
		}
	}
	return max(n-len(gap), 0)
}

// dropped is the column to go next, or -1.
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

// squeeze makes the columns that stay narrower, from the last, on a screen that
// is narrower than they are.
func squeeze(cols []Column, width int) {
	for i := len(cols) - 1; i >= 0; i-- {
		if over := taken(cols) - width; over > 0 {
			cols[i].Width = max(cols[i].Width-over, 0)
		}
	}
}

// Row is one row of a table whose columns were fitted. Each text has the style
// at its place.
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
