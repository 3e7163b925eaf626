package tui

import (
	"fmt"
	"slices"

	"gaffer/fleet"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/paint"
	"gaffer/internal/ui/tui/waves"
)

// body returns the tasks in at most room rows. If all tasks fit, they stand under the
// headings of their stages; else the most urgent tasks come first.
func (v View) body(width, room int) []paint.Line {
	n := len(v.Run.Tasks)
	if headings := v.headings(); n+headings <= room {
		return v.all(width)
	}
	if n <= room {
		return v.rows(width, waves.Order(v.layers))
	}
	if room <= 0 {
		return nil
	}
	chosen, rest := v.chosen(room - 1)
	return append(v.rows(width, chosen), paint.Styled(display.Faint, more(rest)))
}

// headings returns the number of rows that the headings take: none if all tasks are
// in one stage.
func (v View) headings() int {
	if n := waves.Count(v.layers); n > 1 {
		return n
	}
	return 0
}

func (v View) all(width int) []paint.Line {
	order := waves.Order(v.layers)
	rows := v.rows(width, order)
	if v.headings() == 0 {
		return rows
	}
	var headed []paint.Line
	last := 0
	for i, task := range order {
		if n := v.layers[task]; n != last {
			headed = append(headed, paint.Styled(display.Faint, fmt.Sprintf("stage %d", n)))
			last = n
		}
		headed = append(headed, rows[i])
	}
	return headed
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

// chosen returns the n most urgent tasks and counts the others.
func (v View) chosen(n int) (chosen []int, rest fleet.Counts) {
	var by [7][]int
	for i, t := range v.Run.Tasks {
		u := urgency(t)
		by[u] = append(by[u], i)
	}
	all := slices.Concat(by[:]...)
	for _, i := range all[n:] {
		add(&rest, v.Run.Tasks[i].Status)
	}
	return all[:n], rest
}

func add(c *fleet.Counts, s fleet.Status) {
	c.Total++
	switch s {
	case fleet.Queued:
		c.Queued++
	case fleet.Running:
		c.Running++
	case fleet.Complete:
		c.Complete++
	case fleet.Failed:
		c.Failed++
	case fleet.Cancelled:
		c.Cancelled++
	}
}

func more(rest fleet.Counts) string {
	return fmt.Sprintf("… %d more: %s", rest.Total, phrase.Counts(rest))
}
