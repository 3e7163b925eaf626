package watch

import (
	"slices"
	"strings"

	"gaffer/internal/text/cells"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/tui/paint"
)

// list is a list of rows, one of which is chosen.
type list struct {
	keys []string // one per row; a heading has an empty key and cannot be chosen
	// paint draws a range of the rows.
	paint func(from, to int) []paint.Line
}

// at returns the index of the chosen row, or -1 if no row can be chosen. If the row
// of the cursor has disappeared, it returns the closest row before its old position,
// or the first row.
func (l list) at(p location) int {
	if i := slices.Index(l.keys, p.cursor); i >= 0 && p.cursor != "" {
		return i
	}
	found := -1
	for i, key := range l.keys {
		if key != "" && (found < 0 || i <= p.at && p.cursor != "") {
			found = i
		}
	}
	return found
}

// step returns the next row that can be chosen in a direction, or from if there is
// none.
func (l list) step(from, by int) int {
	for i := from + by; i >= 0 && i < len(l.keys); i += by {
		if l.keys[i] != "" {
			return i
		}
	}
	return from
}

// section returns the first row of the next section in a direction, wrapping around
// at the ends.
func (l list) section(from, by int) int {
	var firsts []int
	here := 0
	for i, key := range l.keys {
		if key == "" || i > 0 && l.keys[i-1] != "" {
			continue
		}
		if i <= from {
			here = len(firsts)
		}
		firsts = append(firsts, i)
	}
	if len(firsts) == 0 {
		return from
	}
	return firsts[(here+by+len(firsts))%len(firsts)]
}

// top returns the first visible row. It keeps the chosen row visible, and the heading
// before it.
func (l list) top(p location, room int) int {
	top, at := p.top, l.at(p)
	if at >= 0 {
		first := at
		for first > 0 && l.keys[first-1] == "" {
			first--
		}
		top = max(min(top, first), at-room+1)
	}
	return max(min(top, len(l.keys)-room), 0)
}

// rows draws the visible part of the list in room rows.
func (l list) rows(p location, width, room int, color bool) []string {
	if room <= 0 {
		return nil
	}
	top := l.top(p, room)
	end := min(top+room, len(l.keys))
	var rows []string
	for i, line := range l.paint(top, end) {
		rows = append(rows, choose(line, l.keys[top+i] != "", top+i == l.at(p), width, color))
	}
	return rows
}

// markWidth is the width of the sign before the chosen row.
const markWidth = 2

// chosen is the style of the chosen row: reverse video.
const chosen display.Style = "7"

func choose(line paint.Line, item, is bool, width int, color bool) string {
	switch {
	case !item:
		return line.Render(width, color)
	case !is:
		return append(paint.Line{{Text: "  "}}, line...).Render(width, color)
	case !color:
		return append(paint.Line{{Text: "▸ "}}, line...).Render(width, false)
	}
	var text strings.Builder
	for _, s := range line {
		text.WriteString(s.Text)
	}
	return paint.Styled(chosen, cells.Fill("▸ "+text.String(), width)).Render(width, true)
}

// table collects rows whose columns get common widths.
type table struct {
	columns []paint.Column
	texts   [][]string
	styles  [][]display.Style
}

func (t *table) add(cell ...paint.Span) {
	texts, styles := make([]string, len(cell)), make([]display.Style, len(cell))
	for i, c := range cell {
		texts[i], styles[i] = c.Text, c.Style
	}
	t.texts, t.styles = append(t.texts, texts), append(t.styles, styles)
}

func (t *table) rows(width int) []paint.Line {
	paint.Fit(t.columns, t.texts, width)
	lines := make([]paint.Line, len(t.texts))
	for i := range t.texts {
		lines[i] = paint.Row(t.columns, t.texts[i], t.styles[i])
	}
	return lines
}

// cell is one text of a table.
func cell(text string, style display.Style) paint.Span { return paint.Span{Text: text, Style: style} }
