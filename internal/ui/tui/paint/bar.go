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

// Bar returns a bar of room columns that shows the progress of a run.
func Bar(c fleet.Counts, room int) Line {
	if room <= 0 || c.Total <= 0 {
		return nil
	}
	done, lost := share(c.Complete, c.Total, room), share(c.Failed+c.Cancelled, c.Total, room)
	if lost = min(lost, room-done); c.Complete+c.Failed+c.Cancelled == c.Total && lost > 0 {
		lost = room - done // all tasks have ended: fill the bar
	}
	return Line{
		{strings.Repeat(barDone, done), display.Green},
		{strings.Repeat(barLost, lost), display.Red},
		{strings.Repeat(barOpen, room-done-lost), display.Faint},
	}
}

// share returns how many of room columns stand for n of total. It rounds down, but returns at least
// 1 if n is not zero.
func share(n, total, room int) int {
	if n == 0 {
		return 0
	}
	return max(n*room/total, 1)
}
