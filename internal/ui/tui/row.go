package tui

import (
	"gaffer/fleet"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/paint"
	"gaffer/internal/ui/tui/parts"
)

// rows draws the tasks with these indexes.
func (v View) rows(width int, indexes []int) []paint.Line {
	tasks := make([]fleet.Task, len(indexes))
	for i, index := range indexes {
		tasks[i] = v.Run.Tasks[index]
	}
	rows := parts.TaskTable{Now: v.Now}.Rows(tasks, width-2)
	for i, task := range tasks {
		rows[i] = append(paint.Line{v.mark(task), {Text: " "}}, rows[i]...)
	}
	return rows
}

// spinner holds the frames of the mark of a running task.
var spinner = [...]string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

// mark returns the sign of a task's status. Each sign has a different shape.
func (v View) mark(t fleet.Task) paint.Span {
	switch {
	case phrase.Waiting(t):
		return paint.Span{Text: "?", Style: display.Yellow}
	case t.Status == fleet.Running && t.Attempt != nil && t.Attempt.State == "retrying":
		return paint.Span{Text: "↻", Style: display.Yellow}
	case t.Status == fleet.Running:
		return paint.Span{Text: spinner[v.Frame%len(spinner)], Style: display.Green}
	case t.Status == fleet.Queued && !t.RetryAt.IsZero():
		return paint.Span{Text: "↻", Style: display.Yellow}
	case t.Status == fleet.Queued:
		return paint.Span{Text: "○", Style: display.Faint}
	case t.Status == fleet.Complete:
		return paint.Span{Text: "✓", Style: display.Green}
	case t.Status == fleet.Failed:
		return paint.Span{Text: "✗", Style: display.Red}
	}
	return paint.Span{Text: "⊘", Style: display.Faint}
}
