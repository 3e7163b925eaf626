package watch

import (
	"gaffer/internal/text/display"
	"gaffer/internal/ui/tui/paint"
)

// confirmation is an action that requires the user's confirmation. Only the key y
// performs it.
type confirmation struct {
	text   string // the question to the user, which names the action and its object
	yes    string
	action any
}

// lines returns the confirmation. The text is wrapped and not cut to one row, so that
// the user sees what would be done.
func (c confirmation) lines(width, height int) []paint.Line {
	var lines []paint.Line
	for _, text := range paint.Wrap(c.text, width, max(height-1, 1)) {
		lines = append(lines, paint.Styled(display.Bold, text))
	}
	return append(lines, paint.Styled(display.Yellow, c.yes+", any other key does nothing"))
}
