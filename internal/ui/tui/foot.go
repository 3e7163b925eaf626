package tui

import (
	"fmt"
	"strings"

	"gaffer/fleet"
	"gaffer/internal/text/cells"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/paint"
)

// Questions returns the open questions, in the order of the plan.
func Questions(r fleet.Run) []fleet.Question {
	var open []fleet.Question
	for _, t := range r.Tasks {
		if phrase.Waiting(t) {
			open = append(open, *t.Question)
		}
	}
	return open
}

// foot returns the open question or the available keys. It takes at most half of the
// screen, and at least one row.
func (v View) foot(width, height int) []paint.Line {
	var rows []paint.Line
	if v.Note != "" {
		rows = append(rows, paint.Plain(phrase.Line(v.Note)))
	}
	open := Questions(v.Run)
	k := v.Keyboard.See(open)
	open = k.unanswered(open)
	running := phrase.Count(v.Run.Counts.Running, "agent")
	switch {
	case k.mode == offering && k.Far:
		rows = append(rows, paint.Styled(display.Bold, "The run goes on without you, "+running+" running."),
			paint.Styled(display.Bold, "Enter detaches  [c]ancel the run  any other key goes on watching"))
	case k.mode == offering:
		rows = append(rows, paint.Styled(display.Bold, "No more work is taken, "+running+" going on."),
			paint.Styled(display.Bold, "[d]etach  [c]ancel the run  Enter goes on"))
	case k.mode == cancelling:
		rows = append(rows, paint.Styled(display.Bold, "Cancelling, "+running+" to end. Ctrl-C leaves at once."))
	case k.question != "":
		rows = append(rows, v.question(k, open, width, max(height/2, 1))...)
	case k.stray:
		rows = append(rows, paint.Styled(display.Faint, gone))
	case len(k.sent) > 0:
		rows = append(rows, paint.Styled(display.Faint, "sending the answer …"))
	case k.Onlooker:
		rows = append(rows, paint.Styled(display.Faint, "Ctrl-C leaves, the run goes on"))
	default:
		rows = append(rows, paint.Styled(display.Faint, "Ctrl-C to detach or cancel"))
	}
	return rows[max(len(rows)-max(height/2, 1), 0):]
}

// question shows one question in at most room rows. The last row, where the answer is
// typed, is always shown, and then as many of the others as fit.
func (v View) question(k Keyboard, open []fleet.Question, width, room int) []paint.Line {
	at := k.at(open)
	q := open[at]
	rows := []paint.Line{v.asks(q, at, len(open))}
	for _, text := range paint.Wrap(q.Text, width-2, 6) {
		rows = append(rows, paint.Plain("  "+text))
	}
	for i, option := range q.Options {
		rows = append(rows, paint.Line{{Text: fmt.Sprintf("  %d ", i+1), Style: display.Bold}, {Text: display.Line(option, width)}})
	}
	if left := len(rows) - (room - 1); left > 0 && room > 2 {
		rows = append(rows[:room-2], paint.Styled(display.Faint, fmt.Sprintf("  … %d more", left+1)))
	} else if left > 0 {
		rows = rows[:room-1]
	}
	return append(rows, v.input(k, q, width))
}

func (v View) asks(q fleet.Question, at, n int) paint.Line {
	head := "? " + display.Line(q.Name, 50) + " asks"
	facts := []string{phrase.Age(v.Now.Sub(q.Asked))}
	if n > 1 {
		facts = append(facts, fmt.Sprintf("%d of %d, Tab for the next", at+1, n))
	}
	if !q.Expires.IsZero() {
		facts = append(facts, fmt.Sprintf("in %s the answer is %q", phrase.Age(q.Expires.Sub(v.Now)), phrase.Line(q.Default)))
	}
	return paint.Line{{Text: head, Style: display.Yellow}, {Text: "  " + strings.Join(facts, ", "), Style: display.Faint}}
}

// gone is shown if a question was closed while the user was typing the answer.
const gone = "Enter goes on: the question you typed for is gone"

func (v View) input(k Keyboard, q fleet.Question, width int) paint.Line {
	if k.stray {
		return paint.Line{{Text: "> ", Style: display.Bold}, {Text: gone, Style: display.Faint}}
	}
	help := "text and Enter; d denies"
	if len(q.Options) > 0 {
		help = "a number or text, and Enter; d denies"
	}
	typed := cells.End(display.Printable(k.input), width-4) // the user types at the end
	l := paint.Line{{Text: "> ", Style: display.Bold}, {Text: typed}, {Text: "▏"}}
	if typed == "" {
		l = append(l, paint.Span{Text: help, Style: display.Faint})
	}
	return l
}
