package tui

import (
	"cmp"
	"fmt"
	"strings"

	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/paint"
)

// head returns the facts about the whole run: its name, progress, cost and paused
// lanes.
func (v View) head(width int) []paint.Line {
	rows := []paint.Line{v.title(width), v.bar(width)}
	for _, l := range v.Run.Lanes {
		rows = append(rows, paint.Styled(display.Yellow, "‖ "+phrase.Paused(l, v.Now)))
	}
	if v.Run.Stopping != "" && !v.Run.Status.Final() {
		rows = append(rows, paint.Styled(display.Yellow, "‖ "+phrase.Stopping(v.Run)))
	}
	return rows
}

func (v View) title(width int) paint.Line {
	r := v.Run
	left := paint.Line{{Text: display.Line(r.Name, 40), Style: display.Bold}, {Text: "  " + display.Printable(r.ID), Style: display.Faint}}
	spent := phrase.Spent(r.Spent)
	if r.Budget.USD > 0 {
		spent = fmt.Sprintf("%s of $%.2f", cmp.Or(spent, "$0.00"), r.Budget.USD)
	}
	facts := []string{}
	if spent != "" {
		facts = append(facts, spent)
	}
	if took := phrase.RunTook(r, v.Now); took != "" {
		facts = append(facts, took)
	}
	right := paint.Plain(strings.Join(facts, "  "))
	if left.Width()+right.Width()+2 > width {
		left = left[:1] // the name is more useful than the id
	}
	if left.Width()+right.Width()+2 > width && len(facts) > 1 {
		right = paint.Plain(facts[1])
	}
	return paint.Apart(left, right, width)
}

func (v View) bar(width int) paint.Line {
	c := v.Run.Counts
	words := fmt.Sprintf(" %d/%d  %s", c.Complete, c.Total, phrase.Counts(c))
	room := min(width-len(words), 30)
	if room < 6 || c.Total == 0 {
		return paint.Plain(strings.TrimLeft(words, " "))
	}
	return append(paint.Bar(c, room), paint.Span{Text: words})
}
