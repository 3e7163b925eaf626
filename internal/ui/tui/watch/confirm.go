package watch

import (
	"gaffer/internal/text/display"
	"gaffer/internal/ui/tui/paint"
)

// confirmation is an action that the user must confirm. Only the key y confirms it.
type confirmation struct {
	text   string // question to the user: names the action and what it applies to
	yes    string
	action any
}

// lines returns the rows of the confirmation. A long text is wrapped to as many rows as fit on the
// screen, so that the user sees what would be done.
func (c confirmation) lines(width, height int) []paint.Line {
	var lines []paint.Line
	for _, text := range paint.Wrap(c.text, width, max(height-1, 1)) {
		lines = append(lines, paint.Styled(display.Bold, text))
	}
	return append(lines, paint.Styled(display.Yellow, c.yes+", any other key does nothing"))
}
