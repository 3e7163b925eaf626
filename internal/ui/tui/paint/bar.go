package paint

import (
	"strings"

	"gaffer/fleet"
	"gaffer/internal/text/display"
)

// Characters that bars consist of: for complete tasks, for failed or cancelled tasks, and for all
// other tasks. They differ in shape, not only in colour.
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
		// All tasks have ended. Fill the gap that the bar may have because the shares are rounded
		// down.
		lost = columns - done
	}
	return Line{
		{strings.Repeat(barDone, done), display.Green},
		{strings.Repeat(barLost, lost), display.Red},
		{strings.Repeat(barOpen, columns-done-lost), display.Faint},
	}
}

// share returns how many of the columns of a bar represent n of total tasks. It rounds down, but
// returns at least 1 if n is not zero.
func share(n, total, columns int) int {
	if n == 0 {
		return 0
	}
	return max(n*columns/total, 1)
}
