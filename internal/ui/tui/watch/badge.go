package watch

import (
	"time"

	"gaffer/fleet"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/paint"
)

// A badge has a sign, a word and a colour, so that each is understood without the
// others.
var badges = map[fleet.Status]paint.Span{
	fleet.Queued:    {Text: "○ queued", Style: display.Faint},
	fleet.Running:   {Text: "● running", Style: display.Green},
	fleet.Complete:  {Text: "✓ complete", Style: display.Green},
	fleet.Failed:    {Text: "✗ failed", Style: display.Red},
	fleet.Cancelled: {Text: "⊘ cancelled", Style: display.Faint},
}

var waiting = paint.Span{Text: "? waiting", Style: display.Yellow}

// badgeOf returns the badge of a status. It shows an unknown status as it is.
func badgeOf(s fleet.Status) paint.Span {
	if b, ok := badges[s]; ok {
		return b
	}
	return paint.Span{Text: "· " + display.Line(string(s), 12)}
}

func taskBadge(t fleet.Task) paint.Span {
	if phrase.Waiting(t) {
		return waiting
	}
	return badgeOf(t.Status)
}

func workerBadge(w fleet.Worker) paint.Span {
	if w.Online() {
		return paint.Span{Text: "● online", Style: display.Green}
	}
	return paint.Span{Text: "○ offline", Style: display.Red}
}

// agentBadge returns the status of its agents that a worker reported last.
func agentBadge(w fleet.Worker) paint.Span {
	switch w.ClaudeStatus {
	case "waiting":
		return waiting
	case "running":
		return badges[fleet.Running]
	case "idle":
		return paint.Span{Text: "○ idle", Style: display.Faint}
	case "":
		return paint.Span{}
	}
	return badgeOf(fleet.Status(w.ClaudeStatus))
}

// ago formats the age of a time, such as "4s ago". It returns "" for a zero time.
func ago(at, now time.Time) string {
	if at.IsZero() {
		return ""
	}
	return phrase.Age(max(now.Sub(at), 0)) + " ago"
}

// sourceOf returns the source of a running task's state and the state's age: "control
// 4s".
func sourceOf(t fleet.Task, now time.Time) string {
	a := t.Attempt
	if a == nil || t.Status != fleet.Running || a.Said.IsZero() {
		return ""
	}
	age := phrase.Age(max(now.Sub(a.Said), 0))
	if a.Source == "" {
		return age
	}
	return display.Line(a.Source, 12) + " " + age
}
