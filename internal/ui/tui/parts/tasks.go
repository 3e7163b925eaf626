package parts

import (
	"fmt"
	"time"

	"gaffer/fleet"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/paint"
)

// TaskTable is a table of tasks. Its columns are as wide as their contents.
type TaskTable struct {
	Now time.Time
	// Detailed adds two columns. One shows the status of the task in words. The other shows how
	// gaffer knows what the agent does, and how old this information is (see [Source]).
	Detailed bool
}

// Indexes of the columns, from left to right. The column colDoing, which says what the task does,
// gets the width that the other columns leave.
const (
	colStatus = iota
	colID
	colName
	colTime
	colTry
	colUsing
	colDoing
	colSource
	colTokens
	colCost
)

// Rows returns one row for each task. A column that is empty in all rows is left out.
func (t TaskTable) Rows(tasks []fleet.Task, width int) []paint.Line {
	cols := []paint.Column{
		colStatus: {Max: 11},
		colID:     {Max: 20},
		colName:   {Max: 28, Drop: 1},
		colTime:   {Max: 8, Right: true, Drop: 8},
		colTry:    {Max: 7, Drop: 4},
		colUsing:  {Max: 24, Drop: 6},
		colDoing:  {Max: 200, Min: 16, Flex: true, Drop: 7},
		colSource: {Max: 18, Min: 10, Right: true, Drop: 2},
		colTokens: {Max: 6, Right: true, Drop: 3},
		colCost:   {Max: 8, Right: true, Drop: 5},
	}
	switch {
	case t.Detailed:
		cols[colTime].Min, cols[colDoing].Min = 7, 22
		if width < 90 {
			cols[colID].Max = 14
		}
	case width < 58:
		cols[colID].Max = 12
	}
	table := paint.Table{Columns: cols}
	for _, task := range tasks {
		table.Add(t.cells(task)...)
	}
	return table.Rows(width)
}

func (t TaskTable) cells(task fleet.Task) []paint.Span {
	// quiet is the style of the task's id, name and attempt number.
	quiet := display.Style("")
	if task.Status == fleet.Queued || task.Status == fleet.Cancelled {
		quiet = display.Faint
	}
	cells := []paint.Span{
		colID:    {Text: display.Line(task.ID, 40), Style: quiet},
		colTry:   {Text: phrase.AttemptNumber(task), Style: quiet},
		colUsing: {Text: phrase.Using(task, task.Attempt), Style: display.Faint},
		colDoing: Doing(task, t.Now),
		colCost:  {},
	}
	if task.Name != task.ID {
		cells[colName] = paint.Span{Text: display.Line(task.Name, 60), Style: quiet}
	}
	if d, ok := phrase.WorkTime(task.Attempt, t.Now); ok {
		cells[colTime] = paint.Span{Text: phrase.Elapsed(d), Style: display.Faint}
		cells[colTokens] = paint.Span{Text: phrase.Tokens(task.Attempt.Spent.Tokens), Style: display.Faint}
		cells[colCost] = paint.Span{Text: phrase.Money(task.Attempt.Spent.USD), Style: display.Faint}
	}
	if t.Detailed {
		cells[colStatus] = TaskBadge(task)
		cells[colTry].Style = display.Faint
		cells[colSource] = paint.Span{Text: Source(task, t.Now), Style: display.Faint}
	}
	return cells
}

// Doing returns what a task does at the moment, why it does nothing, or how it ended.
func Doing(t fleet.Task, now time.Time) paint.Span {
	doing := paint.Span{Text: phrase.Doing(t, now)}
	switch {
	case t.Status == fleet.Failed:
		doing.Style = display.Red
	case phrase.Waiting(t):
		doing.Style = display.Yellow
	case t.Status == fleet.Queued || t.Status == fleet.Cancelled:
		doing.Style = display.Faint
	}
	return doing
}

// Source says how gaffer knows what the agent of a task does, and how old this information is. For
// example, "output 4s" means that it was read from the agent's output 4 s ago. Source returns "" if
// the task is not running or nothing is known about the agent.
func Source(t fleet.Task, now time.Time) string {
	a := t.Attempt
	if a == nil || t.Status != fleet.Running || a.Said.IsZero() {
		return ""
	}
	age := phrase.Age(max(now.Sub(a.Said), 0))
	if a.Source == "" {
		return age
	}
	return display.Line(a.Source, 12) + " " + age
}

// StageHeading returns the heading above the tasks of a stage. A run is divided into stages by the
// dependencies between its tasks (see package stages).
func StageHeading(stage int) paint.Line {
	return paint.Styled(display.Faint, fmt.Sprintf("stage %d", stage))
}
