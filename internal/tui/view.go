package tui

import (
	"time"

	"gaffer/fleet"
)

// View is all that is seen at one moment.
type View struct {
	Run      fleet.Run
	Now      time.Time
	Frame    int      // of the spinner
	Keyboard Keyboard // what the person is at
	Note     string   // the last thing a person should know

	layers []int // of the tasks, from [layers]; computed if it is not given
}

// Lines are the rows of a screen of this size, from the top.
func (v View) Lines(width, height int, color bool) []string {
	if width <= 0 || height <= 0 {
		return nil
	}
	if len(v.layers) != len(v.Run.Tasks) {
		v.layers = layers(v.Run.Tasks)
	}
	foot := v.foot(width, height)
	head := v.head(width)
	head = head[:min(len(head), max(height-len(foot)-1, 0))]
	body := v.body(width, height-len(head)-len(foot))
	rows := make([]string, 0, height)
	for _, part := range [][]line{head, body, foot} {
		for _, l := range part {
			rows = append(rows, l.render(width, color))
		}
	}
	return rows[:min(len(rows), height)]
}

// maxFinal is how many rows are left on the screen for the tasks of a run.
const maxFinal = 60

// Final is the view of a run that has ended or is left: its tasks, and nothing
// to be typed.
func (v View) Final(width int, color bool) []string {
	v.layers = layers(v.Run.Tasks)
	var rows []string
	for _, part := range [][]line{v.head(width), v.body(width, maxFinal)} {
		for _, l := range part {
			rows = append(rows, l.render(width, color))
		}
	}
	return rows
}

// layers gives each task its wave as a person thinks of it: the plan's if it
// has waves, else one more than the highest of those it waits for.
func layers(tasks []fleet.Task) []int {
	at := make(map[string]int, len(tasks))
	for i, t := range tasks {
		at[t.ID] = i
	}
	found := make([]int, len(tasks))
	for i := range tasks {
		layer(tasks, at, found, i)
	}
	return found
}

// layer finds the layer of one task. In a cycle, which no plan has, it ends
// where it began.
func layer(tasks []fleet.Task, at map[string]int, found []int, i int) int {
	if found[i] > 0 {
		return found[i]
	}
	found[i] = max(tasks[i].Wave, 1)
	if tasks[i].Wave > 0 {
		return found[i]
	}
	n := 1
	for _, id := range tasks[i].After {
		if j, ok := at[id]; ok {
			n = max(n, layer(tasks, at, found, j)+1)
		}
	}
	found[i] = n
	return n
}
