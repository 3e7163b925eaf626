package watch

import (
	"slices"
	"strings"

	"gaffer/internal/ui/tui/parts"
	"gaffer/internal/ui/tui/program"
)

// filter selects the rows of a list, or the lines of a log, that contain a text.
type filter struct {
	text   string // text to search for; empty selects everything
	typing bool   // whether the user is editing the text
	input  parts.Input
}

// edit returns the filter in the state in which the user edits its text.
func (f filter) edit() filter {
	f.typing, f.input = true, parts.Input(f.text)
	return f
}

// update returns the filter after the user has pressed a key while editing its text.
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

// matches reports whether one of the texts contains the text of the filter, ignoring case.
func (f filter) matches(texts ...string) bool {
	return f.text == "" || slices.ContainsFunc(texts, func(text string) bool {
		return strings.Contains(strings.ToLower(text), strings.ToLower(f.text))
	})
}
