package watch

import (
	"fmt"
	"slices"
	"strings"

	"gaffer/internal/text/cells"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/tui/paint"
	"gaffer/internal/ui/tui/parts"
)

// item identifies what a row of a list shows, such as a run. A row that cannot be chosen, such as a
// heading, has the zero item.
type item struct {
	kind itemKind
	id   string
}

type itemKind int

const (
	heading itemKind = iota
	questionItem
	runItem
	workerItem
	taskItem
)

// list holds the rows of a list screen.
type list struct {
	items []item // what each row shows
	// paint returns the rows whose index i is in the range from ≤ i < to.
	paint func(from, to int) []paint.Line
}

// next returns the index of the next row after start that can be chosen. step is 1 to search
// downwards and -1 to search upwards. If there is none, next returns start.
func (l list) next(start, step int) int {
	for i := start + step; i >= 0 && i < len(l.items); i += step {
		if l.items[i] != (item{}) {
			return i
		}
	}
	return start
}

// jump returns the index of the row that is distance rows below start or, if distance is negative,
// above it. If that row is outside the list, jump uses the first or last row instead. If the row
// cannot be chosen, jump returns the next row below it that can be chosen or, if there is none, the
// next one above it.
func (l list) jump(start, distance int) int {
	if len(l.items) == 0 {
		return start
	}
	to := min(max(start+distance, 0), len(l.items)-1)
	if l.items[to] != (item{}) {
		return to
	}
	if next := l.next(to, +1); next != to {
		return next
	}
	return l.next(to, -1)
}

// section returns the index of the first row that can be chosen in the next section of the list or,
// if step is -1, in the previous section. A section is a heading with the rows below it. After the
// last section comes the first.
func (l list) section(from, step int) int {
	var firsts []int
	here := 0
	for i, it := range l.items {
		if it == (item{}) || i > 0 && l.items[i-1] != (item{}) {
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
	return firsts[(here+step+len(firsts))%len(firsts)]
}

// content provides the rows of a [listScreen]. It is implemented by [fleetList] and [runList].
type content interface {
	focus() (Focus, bool)
	path(s snapshot, names []string) []string
	summary(s snapshot, width int) []paint.Line
	keys() []string // the most useful keys, for the last row of the screen
	list(s snapshot, f filter, width int) list
	empty(s snapshot) string // text to show if the list is empty and there is no filter
}

// listScreen is a screen with a list in which one row is chosen.
type listScreen struct {
	content
	filter filter
	cursor item // the chosen item; the zero item means the first one in the list
	at     int  // index of the chosen row; used if the chosen item has disappeared
	top    int  // index of the first visible row
}

func (v listScreen) filtered() filter { return v.filter }

// index returns the index of the chosen row, or -1 if no row can be chosen. If the chosen item has
// disappeared, it returns the closest row at or above the item's old position. If there is no such
// row, it returns the first row that can be chosen.
func (v listScreen) index(l list) int {
	if i := slices.Index(l.items, v.cursor); i >= 0 && v.cursor != (item{}) {
		return i
	}
	found := -1
	for i, it := range l.items {
		if it != (item{}) && (found < 0 || i <= v.at && v.cursor != (item{})) {
			found = i
		}
	}
	return found
}

// chosen returns the chosen item, or the zero item if no row can be chosen.
func (v listScreen) chosen(l list) item {
	if at := v.index(l); at >= 0 {
		return l.items[at]
	}
	return item{}
}

func (v listScreen) update(k Key, s snapshot, f frame) (screen, keyResult) {
	if v.filter.typing {
		if v.filter = v.filter.update(k); v.filter.typing {
			v.cursor, v.top = item{}, 0
		}
		return v, keyResult{}
	}
	l := v.list(s, v.filter, f.width)
	at, page := v.index(l), max(f.height-2, 1)
	var to int
	switch k.Name {
	case "/":
		v.filter = v.filter.edit()
		return v, keyResult{}
	case "esc", "backspace":
		if v.filter.text == "" {
			return v, keyResult{back: true}
		}
		v.filter = filter{}
		return v, keyResult{}
	case "up", "k":
		to = l.next(at, -1)
	case "down", "j":
		to = l.next(at, +1)
	case "pgup", "ctrl+b":
		to = l.jump(at, -page)
	case "pgdown", "ctrl+f", "space":
		to = l.jump(at, +page)
	case "home", "g":
		to = l.next(-1, +1)
	case "end", "G":
		to = l.next(len(l.items), -1)
	case "tab":
		to = l.section(at, +1)
	case "shift+tab":
		to = l.section(at, -1)
	default:
		return v, command(k.Name, s, v.chosen(l))
	}
	if at >= 0 {
		v.cursor, v.at = l.items[to], to
	}
	return v, keyResult{}
}

func (v listScreen) settle(s snapshot, f frame) screen {
	l := v.list(s, v.filter, f.width)
	if at := v.index(l); at >= 0 && v.cursor != (item{}) {
		v.cursor, v.at = l.items[at], at
	}
	v.top = v.first(l, f.height)
	return v
}

// first returns the index of the first row to show. With this index, the chosen row is visible and,
// if there is room, the heading directly above it.
func (v listScreen) first(l list, height int) int {
	top, at := v.top, v.index(l)
	if at >= 0 {
		first := at
		for first > 0 && l.items[first-1] == (item{}) {
			first--
		}
		top = max(min(top, first), at-height+1)
	}
	return max(min(top, len(l.items)-height), 0)
}

func (v listScreen) hints(s snapshot, f frame) (keys []string, position string) {
	l := v.list(s, v.filter, f.width)
	if len(l.items) > f.height && f.height > 0 {
		top := v.first(l, f.height)
		position = fmt.Sprintf("%d–%d of %d", top+1, top+f.height, len(l.items))
	}
	return v.keys(), position
}

// markWidth is the width of the sign before the chosen row, in columns.
const markWidth = 2

func (v listScreen) view(s snapshot, f frame) []string {
	l := v.list(s, v.filter, f.width)
	if len(l.items) == 0 {
		text := v.empty(s)
		if v.filter.text != "" {
			text = "nothing here has that in it; Esc shows all again"
		}
		return []string{paint.Styled(display.Faint, text).Render(f.width, f.color)}
	}
	if f.height <= 0 {
		return nil
	}
	top, chosen := v.first(l, f.height), v.index(l)
	var rows []string
	for i, line := range l.paint(top, min(top+f.height, len(l.items))) {
		switch {
		case l.items[top+i] == (item{}):
		case top+i != chosen:
			line = append(paint.Line{{Text: "  "}}, line...)
		case !f.color:
			line = append(paint.Line{{Text: "▸ "}}, line...)
		default: // paint the chosen row in one style over the whole width of the screen
			var text strings.Builder
			for _, span := range line {
				text.WriteString(span.Text)
			}
			line = paint.Styled(parts.Chosen, cells.Fill("▸ "+text.String(), f.width))
		}
		rows = append(rows, line.Render(f.width, f.color))
	}
	return rows
}
