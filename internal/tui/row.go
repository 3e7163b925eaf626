package tui

import (
	"time"

	"gaffer/fleet"
	"gaffer/internal/cli/env"
	"gaffer/internal/tui/cells"
	"gaffer/internal/tui/phrase"
)

// column is one thing told of every task.
type column struct {
	text  func(fleet.Task, time.Time) string
	most  int
	right bool
	width int // 0 leaves the column out
}

// The columns in the order of the screen, after the mark. What the task does
// takes the room that the others leave.
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

func columns() [numColumns]column {
	return [numColumns]column{
		colID:   {text: func(t fleet.Task, _ time.Time) string { return env.Line(t.ID, 40) }, most: 20},
		colName: {text: func(t fleet.Task, _ time.Time) string { return nameOf(t) }, most: 28},
		colTime: {text: elapsed, most: 8, right: true},
		colTry:  {text: func(t fleet.Task, _ time.Time) string { return phrase.Try(t) }, most: 7},
		colDoing: {text: func(t fleet.Task, now time.Time) string {
			return phrase.Doing(t, now)
		}, most: 200},
		colTokens: {text: func(t fleet.Task, _ time.Time) string { return phrase.Tokens(spent(t).Tokens) }, most: 6, right: true},
		colCost:   {text: func(t fleet.Task, _ time.Time) string { return phrase.Money(spent(t).USD) }, most: 8, right: true},
	}
}

// nameOf is empty if it says no more than the id.
func nameOf(t fleet.Task) string {
	if t.Name == t.ID {
		return ""
	}
	return env.Line(t.Name, 60)
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

// rows draws tasks in columns that are as wide as what stands in them.
func (v View) rows(width int, tasks []int) []line {
	cols := columns()
	texts := make([][numColumns]string, len(tasks))
	for i, task := range tasks {
		for c := range cols {
			texts[i][c] = cols[c].text(v.Run.Tasks[task], v.Now)
			cols[c].width = max(cols[c].width, min(cells.Width(texts[i][c]), cols[c].most))
		}
	}
	divide(&cols, width)
	rows := make([]line, len(tasks))
	for i, task := range tasks {
		rows[i] = v.row(v.Run.Tasks[task], texts[i], cols)
	}
	return rows
}

const (
	markWidth = 2 // the mark and a space
	gap       = "  "
	leastText = 16 // what is left for what the task does, if anything is
)

// divide takes columns out until the rest fits: the least needed first.
func divide(cols *[numColumns]column, width int) {
	if width < 60 {
		cols[colID].width = min(cols[colID].width, 12)
	}
	doing := cols[colDoing].width
	for _, drop := range []int{colName, colTokens, colTry, colCost, colDoing, colTime} {
		rest := width - markWidth
		for c := range cols {
			if c != colDoing && cols[c].width > 0 {
				rest -= cols[c].width + len(gap)
			}
		}
		if doing == 0 {
			rest += len(gap) // there is none after the last column
		}
		if rest >= min(doing, leastText) {
			cols[colDoing].width = min(doing, rest)
			return
		}
		cols[drop].width = 0
		if drop == colDoing {
			doing = 0
		}
	}
	cols[colID].width = min(cols[colID].width, max(width-markWidth, 0))
}

func (v View) row(t fleet.Task, texts [numColumns]string, cols [numColumns]column) line {
	mark, style := v.mark(t)
	l := line{{mark, style}, {text: " "}}
	for c, col := range cols {
		if col.width == 0 {
			continue
		}
		if c != colID {
			l = append(l, span{text: gap})
		}
		text, style := cells.Fill(texts[c], col.width), textStyle(t, c)
		if col.right {
			text, style = cells.FillLeft(texts[c], col.width), env.Faint
		}
		if texts[c] == "" {
			style = ""
		}
		l = append(l, span{text, style})
	}
	return l
}

func textStyle(t fleet.Task, c int) env.Style {
	switch {
	case c == colDoing && t.Status == fleet.Failed:
		return env.Red
	case c == colDoing && phrase.Waiting(t):
		return env.Yellow
	case t.Status == fleet.Queued, t.Status == fleet.Cancelled:
		return env.Faint
	}
	return ""
}

// spinner are the frames of the mark of a task that runs.
var spinner = [...]string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

// mark is the sign of a task's status. Each has a shape of its own.
func (v View) mark(t fleet.Task) (string, env.Style) {
	switch {
	case phrase.Waiting(t):
		return "?", env.Yellow
	case t.Status == fleet.Running && t.Attempt != nil && t.Attempt.State == "retrying":
		return "↻", env.Yellow
	case t.Status == fleet.Running:
		return spinner[v.Frame%len(spinner)], env.Green
	case t.Status == fleet.Queued && !t.RetryAt.IsZero():
		return "↻", env.Yellow
	case t.Status == fleet.Queued:
		return "○", env.Faint
	case t.Status == fleet.Complete:
		return "✓", env.Green
	case t.Status == fleet.Failed:
		return "✗", env.Red
	}
	return "⊘", env.Faint
}
