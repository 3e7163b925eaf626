package tui

import (
	"time"

	"gaffer/fleet"
	"gaffer/internal/ui/tui/paint"
	"gaffer/internal/ui/tui/waves"
)

// View is all that is seen at one moment.
type View struct {
	Run      fleet.Run
	Now      time.Time
	Frame    int      // of the spinner
	Keyboard Keyboard // what the person is at
	Note     string   // the last thing a person should know

	layers []int // of the tasks, from [waves.Of]; computed if it is not given
}

// Lines are the rows of a screen of this size, from the top.
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

// maxFinal is how many rows are left on the screen for the tasks of a run.
const maxFinal = 60

// Final is the view of a run that has ended or is left: its tasks, and nothing
// to be typed.
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
