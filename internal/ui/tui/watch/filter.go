package watch

import (
	"slices"
	"strings"

	"gaffer/internal/ui/tui/parts"
	"gaffer/internal/ui/tui/program"
)

// filter limits a list to the rows, or a log to the lines, that contain a text.
type filter struct {
	text   string // no filter if empty
	typing bool   // the user edits the text; it applies at once
	input  parts.Input
}

// edit starts editing.
func (f filter) edit() filter {
	f.typing, f.input = true, parts.Input(f.text)
	return f
}

// update handles a key while the filter is edited.
func (f filter) update(k Key) filter {
	switch k.Name {
	case "enter", "tab", "down", "up":
		f.typing = false
	case "esc":
		return filter{}
	default:
		f.input = program.Edit(f.input, k)
		f.text = f.input.Trimmed()
	}
	return f
}

// matches reports whether one of the texts contains the filter, ignoring case.
func (f filter) matches(texts ...string) bool {
	return f.text == "" || slices.ContainsFunc(texts, func(text string) bool {
		return strings.Contains(strings.ToLower(text), strings.ToLower(f.text))
	})
}
