package paint

import (
	"strings"

	"gaffer/fleet"
	"gaffer/internal/text/display"
)

// The parts of a bar differ in shape as well as in colour.
const (
	barDone = "█"
	barLost = "▒"
	barOpen = "░"
)

// Bar draws the progress of a run in room columns.
func Bar(c fleet.Counts, room int) Line {
	if room <= 0 || c.Total <= 0 {
		return nil
	}
	done, lost := share(c.Complete, c.Total, room), share(c.Failed+c.Cancelled, c.Total, room)
	if lost = min(lost, room-done); c.Complete+c.Failed+c.Cancelled == c.Total && lost > 0 {
		lost = room - done // no task is open
	}
	return Line{
		{strings.Repeat(barDone, done), display.Green},
		{strings.Repeat(barLost, lost), display.Red},
		{strings.Repeat(barOpen, room-done-lost), display.Faint},
	}
}

// share returns how many of room columns stand for n of total: rounded down, but at
// least one if n is not zero.
func share(n, total, room int) int {
	if n == 0 {
		return 0
	}
	return max(n*room/total, 1)
}
