package parts

import (
	"gaffer/fleet"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/paint"
)

// Waiting is the badge (sign and word) of a task that waits for the user.
var Waiting = paint.Span{Text: "? waiting", Style: display.Yellow}

// badges maps a status to its badge. The sign and the word each identify the status, so that the
// user can recognise it without colours.
var badges = map[fleet.Status]paint.Span{
	fleet.Queued:    {Text: "○ queued", Style: display.Faint},
	fleet.Running:   {Text: "● running", Style: display.Green},
	fleet.Complete:  {Text: "✓ complete", Style: display.Green},
	fleet.Failed:    {Text: "✗ failed", Style: display.Red},
	fleet.Cancelled: {Text: "⊘ cancelled", Style: display.Faint},
}

// Badge returns the badge of a status. For an unknown status, its word is the status itself.
func Badge(s fleet.Status) paint.Span {
	if b, ok := badges[s]; ok {
		return b
	}
	return paint.Span{Text: "· " + display.Line(string(s), 12)}
}

// TaskBadge returns the badge of the task's status, or [Waiting] if the task waits for the user.
func TaskBadge(t fleet.Task) paint.Span {
	if phrase.Waiting(t) {
		return Waiting
	}
	return Badge(t.Status)
}
