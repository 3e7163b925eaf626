package tui

import (
	"time"

	"gaffer/fleet"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/paint"
)

// The columns in the order of the screen, after the mark. The column of what the task
// does takes the space that the others leave.
const (
	colID = iota
	colName
	colTime
	colTry
	colDoing
	colTokens
	colCost
	numColumns
)

// columns returns the columns after the mark, which is drawn separately.
func columns(width int) []paint.Column {
	cols := []paint.Column{
		colID:     {Most: 20},
		colName:   {Most: 28, Drop: 1},
		colTime:   {Most: 8, Right: true, Drop: 6},
		colTry:    {Most: 7, Drop: 3},
		colDoing:  {Most: 200, Least: 16, Flex: true, Drop: 5},
		colTokens: {Most: 6, Right: true, Drop: 2},
		colCost:   {Most: 8, Right: true, Drop: 4},
	}
	if width < 60 {
		cols[colID].Most = 12
	}
	return cols
}

func texts(t fleet.Task, now time.Time) []string {
	return []string{
		colID: display.Line(t.ID, 40), colName: nameOf(t), colTime: elapsed(t, now), colTry: phrase.Try(t), colDoing: phrase.Doing(t, now),
		colTokens: phrase.Tokens(spent(t).Tokens), colCost: phrase.Money(spent(t).USD),
	}
}

// nameOf returns the task's name, or "" if it equals the id.
func nameOf(t fleet.Task) string {
	if t.Name == t.ID {
		return ""
	}
	return display.Line(t.Name, 60)
}

func elapsed(t fleet.Task, now time.Time) string {
	if d, ok := phrase.Took(t.Attempt, now); ok {
		return phrase.Elapsed(d)
	}
	return ""
}

func spent(t fleet.Task) fleet.Cost {
	if t.Attempt == nil {
		return fleet.Cost{}
	}
	return t.Attempt.Spent
}

// rows draws tasks in columns that are as wide as their contents.
func (v View) rows(width int, tasks []int) []paint.Line {
	cols := columns(width)
	all := make([][]string, len(tasks))
	for i, task := range tasks {
		all[i] = texts(v.Run.Tasks[task], v.Now)
	}
	paint.Fit(cols, all, width-markWidth)
	rows := make([]paint.Line, len(tasks))
	for i, task := range tasks {
		t := v.Run.Tasks[task]
		mark, style := v.mark(t)
		rows[i] = append(paint.Line{{Text: mark, Style: style}, {Text: " "}}, paint.Row(cols, all[i], styles(t))...)
	}
	return rows
}

const markWidth = 2 // the mark and a space

func styles(t fleet.Task) []display.Style {
	list := make([]display.Style, numColumns)
	for c := range list {
		list[c] = textStyle(t, c)
	}
	return list
}

func textStyle(t fleet.Task, c int) display.Style {
	switch {
	case c == colTime, c == colTokens, c == colCost:
		return display.Faint
	case c == colDoing && t.Status == fleet.Failed:
		return display.Red
	case c == colDoing && phrase.Waiting(t):
		return display.Yellow
	case t.Status == fleet.Queued, t.Status == fleet.Cancelled:
		return display.Faint
	}
	return ""
}

// spinner holds the frames of the mark of a running task.
var spinner = [...]string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

// mark returns the sign of a task's status. Each sign has a different shape.
func (v View) mark(t fleet.Task) (string, display.Style) {
	switch {
	case phrase.Waiting(t):
		return "?", display.Yellow
	case t.Status == fleet.Running && t.Attempt != nil && t.Attempt.State == "retrying":
		return "↻", display.Yellow
	case t.Status == fleet.Running:
		return spinner[v.Frame%len(spinner)], display.Green
	case t.Status == fleet.Queued && !t.RetryAt.IsZero():
		return "↻", display.Yellow
	case t.Status == fleet.Queued:
		return "○", display.Faint
	case t.Status == fleet.Complete:
		return "✓", display.Green
	case t.Status == fleet.Failed:
		return "✗", display.Red
	}
	return "⊘", display.Faint
}
