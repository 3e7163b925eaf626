package live

import (
	"fmt"

	"gaffer/fleet"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/paint"
	"gaffer/internal/ui/tui/parts"
)

// Questions returns the open questions of a run, in the order of the plan.
func Questions(r fleet.Run) []fleet.Question {
	var open []fleet.Question
	for _, t := range r.Tasks {
		if phrase.Waiting(t) {
			open = append(open, *t.Question)
		}
	}
	return open
}

// foot returns the rows at the bottom of the screen: the last message for the user, and the open
// question or the available keys. The rows take at most half of the screen, but there is at least
// one.
func (v View) foot(width, height int) []paint.Line {
	var rows []paint.Line
	if v.Note != "" {
		rows = append(rows, paint.Plain(phrase.Line(v.Note)))
	}
	open := Questions(v.Run)
	k := v.Keyboard.WithQuestions(open)
	open = k.unanswered(open)
	running := phrase.Count(v.Run.Counts.Running, "agent")
	switch {
	case k.mode == choosing && k.Remote:
		rows = append(rows, paint.Styled(display.Bold, "The run goes on without you, "+running+" running."),
			paint.Styled(display.Bold, "Enter detaches  [c]ancel the run  any other key goes on watching"))
	case k.mode == choosing:
		rows = append(rows, paint.Styled(display.Bold, "No more work is taken, "+running+" going on."),
			paint.Styled(display.Bold, "[d]etach  [c]ancel the run  Enter goes on"))
	case k.mode == cancelling:
		rows = append(rows, paint.Styled(display.Bold, "Cancelling, "+running+" to end. Ctrl-C leaves at once."))
	case k.question != "":
		rows = append(rows, v.question(k, open, width, max(height/2, 1))...)
	case k.discarding:
		rows = append(rows, paint.Styled(display.Faint, questionClosed))
	case len(k.sent) > 0:
		rows = append(rows, paint.Styled(display.Faint, "sending the answer …"))
	case k.Observer:
		rows = append(rows, paint.Styled(display.Faint, "Ctrl-C leaves, the run goes on"))
	default:
		rows = append(rows, paint.Styled(display.Faint, "Ctrl-C to detach or cancel"))
	}
	return rows[max(len(rows)-max(height/2, 1), 0):]
}

// question returns at most maxRows rows for the question on the screen. It always shows the last
// row, in which the user types the answer, and as many of the other rows as fit.
func (v View) question(k Keyboard, open []fleet.Question, width, maxRows int) []paint.Line {
	at := k.indexIn(open)
	q := open[at]
	facts := []string{phrase.Age(v.Now.Sub(q.Asked))}
	if len(open) > 1 {
		facts = append(facts, fmt.Sprintf("%d of %d, Tab for the next", at+1, len(open)))
	}
	rows := []paint.Line{parts.QuestionHeading(q, "", v.Now, facts...)}
	rows = append(rows, parts.QuestionText(q, width, 6)...)
	rows = append(rows, parts.Options(q, "")...)
	if left := len(rows) - (maxRows - 1); left > 0 && maxRows > 2 {
		rows = append(rows[:maxRows-2], paint.Styled(display.Faint, fmt.Sprintf("  … %d more", left+1)))
	} else if left > 0 {
		rows = rows[:maxRows-1]
	}
	if k.discarding {
		return append(rows, paint.Line{{Text: "> ", Style: display.Bold}, {Text: questionClosed, Style: display.Faint}})
	}
	return append(rows, parts.AnswerRow(q, k.input, width))
}

// questionClosed is shown if a question was closed while the user typed the answer.
const questionClosed = "Enter goes on: the question you typed for is gone"
