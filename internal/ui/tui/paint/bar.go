package paint

import (
	"strings"

	"gaffer/fleet"
	"gaffer/internal/text/display"
)

// Characters of the parts of a bar. They differ in shape, not only in colour.
const (
	barDone = "█"
	barLost = "▒"
	barOpen = "░"
)

// Bar returns a bar that shows the progress of a run, in this number of columns. It returns nil if
// there are no tasks or no columns.
func Bar(c fleet.Counts, columns int) Line {
	if columns <= 0 || c.Total <= 0 {
		return nil
	}
	done, lost := share(c.Complete, c.Total, columns), share(c.Failed+c.Cancelled, c.Total, columns)
	if lost = min(lost, columns-done); c.Complete+c.Failed+c.Cancelled == c.Total && lost > 0 {
		lost = columns - done // all tasks have ended: fill the bar, because the shares are rounded down
	}
	return Line{
		{strings.Repeat(barDone, done), display.Green},
		{strings.Repeat(barLost, lost), display.Red},
		{strings.Repeat(barOpen, columns-done-lost), display.Faint},
	}
}

// share returns how many of the columns stand for n of total. It rounds down, but returns at least
// 1 if n is not zero.
func share(n, total, columns int) int {
	if n == 0 {
		return 0
	}
	return max(n*columns/total, 1)
}
