package watch

import (
	"slices"
	"strings"

	"gaffer/internal/text/cells"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/tui/paint"
)

// list is rows of which one is chosen.
type list struct {
	keys []string // of each row; a heading has none and is never chosen
	// paint draws some of the rows.
	paint func(from, to int) []paint.Line
}

// at is the row that is chosen, or -1 if there is none to choose.
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

// step is the next row in a direction that can be chosen, or the same.
func (l list) step(from, by int) int {
	for i := from + by; i >= 0 && i < len(l.keys); i += by {
		if l.keys[i] != "" {
			return i
		}
	}
	return from
}

// section is the first row of the next section in a direction, around the ends.
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

// top is the first row to be shown in a room: the chosen one is seen, and so is
// the heading before it.
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

// rows draws the list in a room.
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

// markWidth is the room of the sign before a row that is chosen.
const markWidth = 2

// chosen is the style of the row that is chosen.
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

// table is rows with columns, those of a kind together.
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
