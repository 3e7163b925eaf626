package tui

import (
	"fmt"
	"slices"

	"gaffer/fleet"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/paint"
	"gaffer/internal/ui/tui/parts"
	"gaffer/internal/ui/tui/waves"
)

// body returns the tasks in at most room rows. If all tasks fit, they stand under the
// headings of their stages; else the most urgent tasks come first.
func (v View) body(width, room int) []paint.Line {
	headings := waves.Count(v.layers)
	if headings == 1 {
		headings = 0
	}
	order := waves.Order(v.layers)
	switch {
	case len(order)+headings <= room:
		var lines []paint.Line
		stage := 0
		for i, row := range v.rows(width, order) {
			if n := v.layers[order[i]]; headings > 0 && n != stage {
				lines, stage = append(lines, parts.StageHeading(n)), n
			}
			lines = append(lines, row)
		}
		return lines
	case len(order) <= room:
		return v.rows(width, order)
	case room <= 0:
		return nil
	}
	chosen, rest := v.mostUrgent(room - 1)
	return append(v.rows(width, chosen), paint.Styled(display.Faint, fmt.Sprintf("… %d more: %s", rest.Total, phrase.Counts(rest))))
}

// urgency ranks tasks by how much they need the user's attention; the lowest comes
// first.
func urgency(t fleet.Task) int {
	switch {
	case phrase.Waiting(t):
		return 0
	case t.Status == fleet.Running:
		return 1
	case t.Status == fleet.Failed:
		return 2
	case t.Status == fleet.Queued && !t.RetryAt.IsZero():
		return 3
	case t.Status == fleet.Queued:
		return 4
	case t.Status == fleet.Cancelled:
		return 5
	}
	return 6
}

// mostUrgent returns the n most urgent tasks and counts the others.
func (v View) mostUrgent(n int) (tasks []int, rest fleet.Counts) {
	var by [7][]int
	for i, t := range v.Run.Tasks {
		u := urgency(t)
		by[u] = append(by[u], i)
	}
	all := slices.Concat(by[:]...)
	for _, i := range all[n:] {
		rest.Add(v.Run.Tasks[i].Status)
	}
	return all[:n], rest
}
