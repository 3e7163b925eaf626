package watch

import (
	"gaffer/internal/text/cells"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/tui/paint"
)

// helpLines returns the rows of the help screen: the keys and what they do.
func helpLines(width int) (lines []paint.Line) {
	for _, k := range []struct{ key, does string }{
		{"↑ ↓  j k", "up and down; PgUp PgDn, Home End (g G) go further"},
		{"Enter", "open what is chosen: a question, a run, a task, a worker's task"},
		{"Esc", "back: the filter, the log, the place"},
		{"Tab", "next section; in a question the next question"},
		{"/", "filter: what is shown has the text in it; Esc takes it away"},
		{"a", "answer: the question of what is chosen, else the oldest"},
		{"c", "cancel the run or the task that is chosen; asks first"},
		{"C", "cancel the run that is looked at; asks first"},
		{"r", "try a task again that failed or was cancelled"},
		{"l", "the log on the whole screen; ← → go sideways, End follows"},
		{"q", "leave; what runs goes on"},
		{"", ""},
		{"In a question", "a number chooses an option, other text is the answer;"},
		{"", "d denies, Ctrl-D denies with the text as the reason; asks first"},
	} {
		line := paint.Line{{Text: cells.Fill(k.key, 13), Style: display.Bold}, {Text: "  " + k.does}}
		if width < 50 {
			line = paint.Line{{Text: cells.Fill(k.key, 9), Style: display.Bold}, {Text: " " + k.does}}
		}
		lines = append(lines, line)
	}
	return lines
}
