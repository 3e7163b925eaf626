package parts

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/paint"
)

// Chosen is the style of the row that is chosen in a list: reverse video.
const Chosen display.Style = "7"

// QuestionHeading returns the heading of a question. It says which task or agent asks, followed by
// the texts in facts, such as how long ago it asked. If the question has a time limit, the heading
// also says which answer is used after that time. run is the name of the question's run, or empty.
func QuestionHeading(q fleet.Question, run string, now time.Time, facts ...string) paint.Line {
	who := display.Line(q.Name, 50)
	if run != "" {
		who += " of " + run
	}
	if !q.Expires.IsZero() {
		facts = append(facts, fmt.Sprintf("in %s the answer is %q", phrase.Age(q.Expires.Sub(now)), phrase.Line(q.Default)))
	}
	return paint.Line{{Text: "? " + who + " asks", Style: display.Yellow}, {Text: "  " + strings.Join(facts, ", "), Style: display.Faint}}
}

// QuestionText returns the text of a question in at most maxRows rows.
func QuestionText(q fleet.Question, width, maxRows int) (rows []paint.Line) {
	for _, text := range paint.Wrap(q.Text, width-2, maxRows) {
		rows = append(rows, paint.Plain("  "+text))
	}
	return rows
}

// Options returns a row for each numbered answer to a question. If the parameter typed is the
// number of an answer, the row of that answer is marked.
func Options(q fleet.Question, typed string) (rows []paint.Line) {
	for i, choice := range q.Choices() {
		mark, style := "  ", display.Style("")
		if typed == strconv.Itoa(i+1) {
			mark, style = "▸ ", Chosen
		}
		rows = append(rows, paint.Line{{Text: fmt.Sprintf("%s%d ", mark, i+1), Style: display.Bold}, {Text: phrase.Line(choice.Text), Style: style}})
	}
	return rows
}

// AnswerRow returns the row in which the user types the answer to a question.
func AnswerRow(q fleet.Question, typed Input, width int) paint.Line {
	row := typed.Row("> ", width)
	switch {
	case typed != "":
		return row
	case len(q.Options) > 0:
		return append(row, paint.Span{Text: "a number or text, and Enter; d denies", Style: display.Faint})
	}
	return append(row, paint.Span{Text: "text and Enter; d denies", Style: display.Faint})
}

// ParseAnswer interprets the text that the user has typed. A number chooses the answer with this
// number among those that [Options] shows. A single d denies the request. Anything else is the text
// of the answer. ParseAnswer returns an error if the question has options, but none with the typed
// number.
func ParseAnswer(q fleet.Question, typed Input) (fleet.Reply, error) {
	if typed.Trimmed() == "d" {
		return fleet.Reply{Deny: true}, nil
	}
	return q.Reply(typed.Trimmed())
}
