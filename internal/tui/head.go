package tui

import (
	"fmt"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/cli/env"
	"gaffer/internal/tui/phrase"
)

// head is what holds for the whole run: its name, how far it is, what it cost,
// which lanes are paused.
func (v View) head(width int) []line {
	rows := []line{v.title(width), v.bar(width)}
	for _, l := range v.Run.Lanes {
		rows = append(rows, styled(env.Yellow, "‖ "+phrase.Paused(l, v.Now)))
	}
	if v.Run.Stopping != "" && !v.Run.Status.Final() {
		rows = append(rows, styled(env.Yellow, "‖ no task starts any more: "+phrase.Line(v.Run.Stopping)))
	}
	return rows
}

func (v View) title(width int) line {
	r := v.Run
	left := line{{env.Line(r.Name, 40), env.Bold}, {"  " + env.Printable(r.ID), env.Faint}}
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
	right := plain(strings.Join(facts, "  "))
	if left.width()+right.width()+2 > width {
		left = left[:1] // the name says more than the id
	}
	if left.width()+right.width()+2 > width && len(facts) > 1 {
		right = plain(facts[1])
	}
	return apart(left, right, width)
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

// The parts of the bar are told apart by their shape, and by colour as well.
const (
	barDone = "█"
	barLost = "▒"
	barOpen = "░"
)

func (v View) bar(width int) line {
	c := v.Run.Counts
	words := fmt.Sprintf(" %d/%d  %s", c.Complete, c.Total, phrase.Counts(c))
	room := min(width-len(words), 30)
	if room < 6 || c.Total == 0 {
		return plain(strings.TrimLeft(words, " "))
	}
	done, lost := share(c.Complete, c.Total, room), share(c.Failed+c.Cancelled, c.Total, room)
	lost = min(lost, room-done)
	return line{
		{strings.Repeat(barDone, done), env.Green},
		{strings.Repeat(barLost, lost), env.Red},
		{strings.Repeat(barOpen, room-done-lost), env.Faint},
		{text: words},
	}
}

// share is how many of room stand for n of total: never none for some, and all
// for all only.
func share(n, total, room int) int {
	if n == 0 {
		return 0
	}
	return max(n*room/total, 1)
}
