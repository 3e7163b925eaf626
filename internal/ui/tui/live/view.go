package live

import (
	"fmt"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/paint"
	"gaffer/internal/ui/tui/stages"
)

// View holds everything that the live view shows at one moment.
type View struct {
	Run      fleet.Run
	Now      time.Time
	Frame    int      // number of the current frame of the spinner, the animated sign of running tasks
	Keyboard Keyboard // state of the user's input
	Note     string   // last message for the user

	stages []int // stage (step in the order of execution) of each task, from [stages.Of]; nil if not computed yet
}

// Lines returns the rows of a screen of this width and height, from the top.
func (v View) Lines(width, height int, color bool) []string {
	if width <= 0 || height <= 0 {
		return nil
	}
	if len(v.stages) != len(v.Run.Tasks) {
		v.stages = stages.Of(v.Run.Tasks)
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

// maxFinal is the maximum number of rows of tasks that remain in the terminal after the view has
// ended.
const maxFinal = 60

// Final returns the rows that remain in the terminal when the run has ended or the user leaves: the
// head and the tasks, without a question or a list of keys.
func (v View) Final(width int, color bool) []string {
	v.stages = stages.Of(v.Run.Tasks)
	var rows []string
	for _, part := range [][]paint.Line{v.head(width), v.body(width, maxFinal)} {
		for _, l := range part {
			rows = append(rows, l.Render(width, color))
		}
	}
	return rows
}

// head returns the rows at the top of the screen: the run's name, cost and progress, the paused
// agent accounts and reached cost limits, the reason if no task starts any more, and a warning if
// most of the budget is spent.
func (v View) head(width int) []paint.Line {
	rows := []paint.Line{v.title(width), v.bar(width)}
	for _, l := range v.Run.Lanes {
		rows = append(rows, paint.Styled(display.Yellow, "‖ "+phrase.Paused(l, v.Now)))
	}
	if v.Run.Stopping != "" && !v.Run.Status.Final() {
		rows = append(rows, paint.Styled(display.Yellow, "‖ "+phrase.Stopping(v.Run)))
	}
	if warning := phrase.BudgetWarning(v.Run); warning != "" && !v.Run.Status.Final() {
		rows = append(rows, paint.Styled(display.Yellow, "! "+warning))
	}
	return rows
}

func (v View) title(width int) paint.Line {
	r := v.Run
	left := paint.Line{{Text: display.Line(r.Name, 40), Style: display.Bold}, {Text: "  " + display.Printable(r.ID), Style: display.Faint}}
	spent := phrase.SpentOf(r.SpentNow(), r.Budget)
	facts := []string{}
	if spent != "" {
		facts = append(facts, spent)
	}
	if took := phrase.RunDuration(r, v.Now); took != "" {
		facts = append(facts, took)
	}
	right := paint.Plain(strings.Join(facts, "  "))
	if left.Width()+right.Width()+2 > width {
		left = left[:1] // not enough room: drop the run's id, because its name is more useful
	}
	if left.Width()+right.Width()+2 > width && len(facts) > 1 {
		right = paint.Plain(facts[1])
	}
	return paint.Ends(left, right, width)
}

func (v View) bar(width int) paint.Line {
	c := v.Run.Counts
	words := fmt.Sprintf(" %d/%d  %s", c.Complete, c.Total, phrase.Counts(c))
	room := min(width-len(words), 30)
	if room < 6 || c.Total == 0 {
		return paint.Plain(strings.TrimLeft(words, " "))
	}
	return append(paint.Bar(c, room), paint.Span{Text: words})
}
