package live

import (
	"fmt"
	"slices"

	"gaffer/fleet"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/paint"
	"gaffer/internal/ui/tui/parts"
	"gaffer/internal/ui/tui/stages"
)

// body returns the rows of the tasks, at most maxRows. If all tasks fit, they are sorted by stage;
// a task normally depends only on tasks of earlier stages. If there are several stages and there is
// room for headings, each stage has a heading above it. If some tasks do not fit, body returns the
// most urgent tasks, and a row that counts the other tasks.
func (v View) body(width, maxRows int) []paint.Line {
	headings := stages.Count(v.stages)
	if headings == 1 {
		headings = 0
	}
	order := stages.Order(v.stages)
	switch {
	case len(order)+headings <= maxRows:
		var lines []paint.Line
		stage := 0
		for i, row := range v.rows(width, order) {
			if n := v.stages[order[i]]; headings > 0 && n != stage {
				lines, stage = append(lines, parts.StageHeading(n)), n
			}
			lines = append(lines, row)
		}
		return lines
	case len(order) <= maxRows:
		return v.rows(width, order)
	case maxRows <= 0:
		return nil
	}
	chosen, rest := v.mostUrgent(maxRows - 1)
	return append(v.rows(width, chosen), paint.Styled(display.Faint, fmt.Sprintf("… %d more: %s", rest.Total, phrase.Counts(rest))))
}

// urgency ranks a task by how much it needs the user's attention. Rank 0 is the most urgent.
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

// mostUrgent returns the indexes of the n most urgent tasks. rest holds the number of the other
// tasks, by status.
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

// spinner holds the frames of the animated sign of a running task.
var spinner = [...]string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

// mark returns the sign of a task's status. The signs differ in shape, not only in colour.
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
