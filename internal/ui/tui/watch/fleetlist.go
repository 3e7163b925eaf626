package watch

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/paint"
	"gaffer/internal/ui/tui/parts"
)

// fleetList is the content of the first screen: a list of the open questions, paused agent
// accounts, runs and workers of the whole fleet.
type fleetList struct{}

func (fleetList) focus() (Focus, bool)                     { return Focus{}, true }
func (fleetList) path(_ snapshot, names []string) []string { return names }

func (fleetList) keys() []string {
	return []string{"Enter open", "a answer", "c cancel", "/ filter", "Tab section", "q leave", "? help"}
}

func (fleetList) empty(s snapshot) string {
	switch {
	case s.read.IsZero():
		return "reading the fleet …"
	case s.where != "":
		return "nothing runs, and no worker was ever heard of: 'gaffer worker' starts one, 'gaffer run PLAN' a run"
	}
	return "nothing runs here: 'gaffer run PLAN' begins a run"
}

func (fleetList) summary(s snapshot, _ int) []paint.Line {
	if s.read.IsZero() {
		return []paint.Line{nil}
	}
	line := paint.Line{{Text: "✓ no agent waits for you", Style: display.Green}}
	if n := len(s.fleet.Questions); n > 0 {
		age := phrase.Age(max(s.now.Sub(s.fleet.Questions[0].Asked), 0))
		line = paint.Line{{Text: "? " + phrase.Count(n, "question") + ", the oldest " + age, Style: display.Yellow}}
	}
	running, failed, online := 0, 0, 0
	for _, r := range s.fleet.Runs {
		if !r.Status.Final() {
			running, failed = running+r.Counts.Running, failed+r.Counts.Failed
		}
	}
	for _, w := range s.fleet.Workers {
		if w.Online() {
			online++
		}
	}
	line = append(line, paint.Span{Text: fmt.Sprintf("   ● %d running", running)})
	if failed > 0 {
		line = append(line, paint.Span{Text: fmt.Sprintf("   ✗ %d failed", failed), Style: display.Red})
	}
	if n := len(s.fleet.Workers); n > 0 {
		line = append(line, paint.Span{Text: fmt.Sprintf("   workers %d/%d online", online, n), Style: display.Faint})
	}
	return []paint.Line{line}
}

func (fleetList) list(s snapshot, f filter, width int) list {
	var items []item
	var lines []paint.Line
	width -= markWidth
	for _, section := range []struct {
		title string
		rows  func(s snapshot, f filter, width int) ([]item, []paint.Line)
	}{{"Questions", questionRows}, {"Lanes", laneRows}, {"Runs", runRows}, {"Workers", workerRows}} {
		if ids, rows := section.rows(s, f, width); len(rows) > 0 {
			items, lines = append(items, item{}), append(lines, paint.Styled(display.Bold, fmt.Sprintf("%s (%d)", section.title, len(rows))))
			items, lines = append(items, ids...), append(lines, rows...)
		}
	}
	return list{items, func(from, to int) []paint.Line { return lines[from:to] }}
}

func cell(text string, style display.Style) paint.Span { return paint.Span{Text: text, Style: style} }

func questionRows(s snapshot, f filter, width int) (items []item, rows []paint.Line) {
	t := paint.Table{Columns: []paint.Column{{Max: 9}, {Max: 29}, {Max: 400, Min: 30, Flex: true}, {Max: 20, Drop: 1}, {Max: 7, Min: 7, Right: true, Drop: 2}}}
	for _, q := range s.fleet.Questions {
		run := s.runName(q.Run)
		if !f.matches(q.Name, q.Text, run) {
			continue
		}
		items = append(items, item{questionItem, q.ID})
		t.Add(parts.Waiting, cell(display.Line(q.Name, 60), ""), cell(phrase.Line(q.Text), display.Yellow), cell(run, display.Faint), cell(phrase.Age(s.now.Sub(q.Asked)), display.Faint))
	}
	return items, t.Rows(width)
}

// laneRows returns a row for each paused agent account and each cost limit that is reached. The
// rows cannot be chosen, because there is no action for them.
func laneRows(s snapshot, f filter, _ int) (items []item, rows []paint.Line) {
	for _, l := range s.fleet.Lanes {
		if l.Until.After(s.now) && f.matches(l.Name, l.Reason) {
			items, rows = append(items, item{}), append(rows, append(paint.Line{{Text: "  "}}, pausedLane(l, s.now)...))
		}
	}
	return items, rows
}

func pausedLane(l fleet.Lane, now time.Time) paint.Line {
	return paint.Line{{Text: "‖ " + phrase.Paused(l, now), Style: display.Yellow}, {Text: ", " + phrase.Age(l.Until.Sub(now)) + " to go", Style: display.Faint}}
}

// runRows returns a row for each run: first the runs that have not ended, then the others.
func runRows(s snapshot, f filter, width int) (items []item, rows []paint.Line) {
	t := paint.Table{Columns: []paint.Column{
		{Max: 11},
		{Max: 28},
		{Max: 16, Drop: 1}, // project
		{Max: 10, Drop: 5}, // progress bar
		{Max: 11, Right: true, Drop: 6},
		{Max: 80, Min: 20, Flex: true, Drop: 2},
		{Max: 8, Right: true, Drop: 3},
		{Max: 8, Min: 7, Right: true, Drop: 4},
		{Max: 24, Drop: 1}, // run id
	}}
	if width < 130 {
		t.Columns[8].Max = 0 // hide the run ids on a narrow terminal
	}
	runs := s.fleet.Runs
	severalProjects := slices.ContainsFunc(runs, func(r fleet.Run) bool { return path.Base(r.Project) != path.Base(runs[0].Project) })
	sorted := slices.Clone(runs)
	slices.SortStableFunc(sorted, func(a, b fleet.Run) int { return compareBool(a.Status.Final(), b.Status.Final()) })
	for _, r := range sorted {
		if !f.matches(r.Name, r.ID, r.Project, string(r.Status)) {
			continue
		}
		project := ""
		if severalProjects {
			project = display.Line(path.Base(r.Project), 40)
		}
		badge := parts.Badge(r.Status)
		items = append(items, item{runItem, r.ID})
		t.Add(
			badge, cell(nameOf(r), ""), cell(project, display.Faint),
			// A table cell has only one style. The parts of the progress bar are still
			// distinguishable, because they consist of different characters.
			cell(paint.Bar(r.Counts, 10).Render(10, false), badge.Style),
			cell(fmt.Sprintf("%d/%d", r.Counts.Complete, r.Counts.Total), ""), cell(runState(s, r), ""),
			cell(phrase.Money(r.Spent.USD), display.Faint), cell(phrase.RunDuration(r, s.now), display.Faint), cell(display.Printable(r.ID), display.Faint),
		)
	}
	return items, t.Rows(width)
}

// compareBool compares two values for sorting: false comes first.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// runState describes a run in words, such as "stopping, 1 waiting, 2 running". The words say
// whether the run is stopping, how many questions are open ("waiting"), and how many tasks have
// each status. It leaves out complete tasks.
func runState(s snapshot, r fleet.Run) string {
	var words []string
	if r.Stopping != "" && !r.Status.Final() {
		words = append(words, "stopping")
	}
	waiting := 0
	for _, q := range s.fleet.Questions {
		if q.Run == r.ID {
			waiting++
		}
	}
	for _, c := range []struct {
		n    int
		word string
	}{{waiting, "waiting"}, {r.Counts.Failed, "failed"}, {r.Counts.Running, "running"}, {r.Counts.Queued, "queued"}, {r.Counts.Cancelled, "cancelled"}} {
		if c.n > 0 {
			words = append(words, fmt.Sprintf("%d %s", c.n, c.word))
		}
	}
	return strings.Join(words, ", ")
}

// workerRows returns a row for each worker: first the online workers, then the others. Both are
// sorted by name, so that rows do not move while the user reads them.
func workerRows(s snapshot, f filter, width int) (items []item, rows []paint.Line) {
	t := paint.Table{Columns: []paint.Column{
		{Max: 9},
		{Max: 24},
		{Max: 12, Drop: 9},
		{Max: 20, Min: 11, Right: true, Drop: 3}, // how and when the status in the previous column was learned: "output 4s ago"
		{Max: 40, Min: 16, Flex: true, Drop: 8},
		{Max: 11, Right: true, Drop: 6},
		{Max: 15, Min: 12, Right: true, Drop: 7},
		{Max: 30, Drop: 2},
		{Max: 16, Drop: 1},
	}}
	sorted := slices.Clone(s.fleet.Workers)
	slices.SortStableFunc(sorted, func(a, b fleet.Worker) int {
		return cmp.Or(compareBool(!a.Online(), !b.Online()), strings.Compare(a.Name, b.Name))
	})
	for _, w := range sorted {
		labels := display.Line(strings.Join(w.UserLabels(), ", "), 60)
		if !f.matches(w.Name, w.Host, w.WorkerStatus, w.ClaudeStatus, w.Task, labels) {
			continue
		}
		online := cell("● online", display.Green)
		if !w.Online() {
			online = cell("○ offline", display.Red)
		}
		source := strings.TrimSpace(display.Line(w.Source, 12) + " " + ago(w.ClaudeSince, s.now))
		items = append(items, item{workerItem, w.ID})
		t.Add(
			online, cell(display.Line(w.Name, 40), ""), agentBadge(w), cell(source, display.Faint), cell(workerDoes(s, w), ""),
			cell(slots(w), display.Faint), cell("seen "+ago(w.LastSeen, s.now), display.Faint), cell(labels, display.Faint), cell(display.Line(w.Version, 40), display.Faint),
		)
	}
	return items, t.Rows(width)
}

// agentBadge returns the badge for the status that a worker has last reported for its agents, or an
// empty cell if it has reported none.
func agentBadge(w fleet.Worker) paint.Span {
	switch w.ClaudeStatus {
	case "waiting":
		return parts.Waiting
	case "idle":
		return cell("○ idle", display.Faint)
	case "":
		return paint.Span{}
	}
	return parts.Badge(fleet.Status(w.ClaudeStatus))
}

// workerDoes returns the task of a worker and, if it is known, the name of the task's run. An agent
// that the user has started by hand is listed like a worker. For such an agent, workerDoes returns
// what the agent waits for or, if that is empty, the agent's folder.
func workerDoes(s snapshot, w fleet.Worker) string {
	if w.ByHand {
		return display.Line(cmp.Or(w.For, w.Dir), 60)
	}
	run, task, ok := strings.Cut(w.Task, "/")
	if !ok {
		return display.Line(w.Task, 60)
	}
	return display.Line(task, 60) + ofRun(s, run)
}

func slots(w fleet.Worker) string {
	switch {
	case w.Slots == 0:
		return ""
	case w.Held == 0 && w.Source == "": // an older gaffer, which does not report the number of running attempts
		return phrase.Count(w.Slots, "slot")
	}
	return fmt.Sprintf("%d/%d slots", w.Held, w.Slots)
}

// ago formats the time that has passed since at, such as "4s ago". It returns "" if at is zero.
func ago(at, now time.Time) string {
	if at.IsZero() {
		return ""
	}
	return phrase.Age(max(now.Sub(at), 0)) + " ago"
}
