package tui

import (
	"time"

	"gaffer/fleet"
	"gaffer/internal/ui/tui/paint"
	"gaffer/internal/ui/tui/waves"
)

// View holds everything that is shown at one moment.
type View struct {
	Run      fleet.Run
	Now      time.Time
	Frame    int      // frame of the spinner
	Keyboard Keyboard // state of the user's input
	Note     string   // the last message for the user

	layers []int // stages of the tasks, from [waves.Of]; computed if missing
}

// Lines returns the rows of a screen of this size, from the top.
func (v View) Lines(width, height int, color bool) []string {
	if width <= 0 || height <= 0 {
		return nil
	}
	if len(v.layers) != len(v.Run.Tasks) {
		v.layers = waves.Of(v.Run.Tasks)
	}
	foot := v.foot(width, height)
	head := v.head(width)
	head = head[:min(len(head), max(height-len(foot)-1, 0))]
	body := v.body(width, height-len(head)-len(foot))
	rows := make([]string, 0, height)
	for _, part := range [][]paint.Line{head, body, foot} {
		for _, l := range part {
			rows = append(rows, l.Render(width, color))
		}
	}
	return rows[:min(len(rows), height)]
}

// maxFinal is the maximum number of rows for tasks that stay on the screen after the
// view has ended.
const maxFinal = 60

// Final returns the view of a run that has ended or that the user leaves: its tasks,
// without an input line.
func (v View) Final(width int, color bool) []string {
	v.layers = waves.Of(v.Run.Tasks)
	var rows []string
	for _, part := range [][]paint.Line{v.head(width), v.body(width, maxFinal)} {
		for _, l := range part {
			rows = append(rows, l.Render(width, color))
		}
	}
	return rows
}
