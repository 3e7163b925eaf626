package tui

import (
	"fmt"
	"strings"
	"time"

	"gaffer/fleet"
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
		rows = append(rows, paint.Styled(display.Yellow, "‖ no task starts any more: "+phrase.Line(v.Run.Stopping)))
	}
	return rows
}

func (v View) title(width int) paint.Line {
	r := v.Run
	left := paint.Line{{Text: display.Line(r.Name, 40), Style: display.Bold}, {Text: "  " + display.Printable(r.ID), Style: display.Faint}}
	end := v.Now
	if !r.Ended.IsZero() {
		end = r.Ended
	}
	facts := []string{}
	if spent := spentOf(r); spent != "" {
		facts = append(facts, spent)
	}
	if !r.Created.IsZero() {
		facts = append(facts, phrase.Elapsed(max(end.Sub(r.Created), time.Duration(0))))
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

func spentOf(r fleet.Run) string {
	spent := phrase.Spent(r.Spent)
	if r.Budget.USD > 0 {
		return fmt.Sprintf("%s of $%.2f", strings.TrimSpace(orZero(spent)), r.Budget.USD)
	}
	return spent
}

func orZero(spent string) string {
	if spent == "" {
		return "$0.00"
	}
	return spent
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
