package watch

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"gaffer/fleet"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/paint"
)

// Prefixes of the keys of rows.
const (
	questionKey = "question "
	runKey      = "run "
	workerKey   = "worker "
	taskKey     = "task "
)

// fleetList returns the list of the whole fleet, open questions first.
func (m Model) fleetList(width int) list {
	var keys []string
	var lines []paint.Line
	section := func(title string, ids []string, rows []paint.Line) {
		if len(rows) == 0 {
			return
		}
		keys, lines = append(keys, ""), append(lines, paint.Styled(display.Bold, title))
		keys, lines = append(keys, ids...), append(lines, rows...)
	}
	filter := m.stack[0].filter
	width -= markWidth
	questions, asked := m.questionRows(filter, width)
	section(fmt.Sprintf("Questions (%d)", len(asked)), questions, asked)
	if lanes := m.laneRows(filter); len(lanes) > 0 {
		section(fmt.Sprintf("Lanes (%d)", len(lanes)), make([]string, len(lanes)), lanes)
	}
	runs, ran := m.runRows(filter, width)
	section(fmt.Sprintf("Runs (%d)", len(ran)), runs, ran)
	workers, worked := m.workerRows(filter, width)
	section(fmt.Sprintf("Workers (%d)", len(worked)), workers, worked)
	return list{keys, func(from, to int) []paint.Line { return lines[from:to] }}
}

func (m Model) questionRows(filter string, width int) (keys []string, rows []paint.Line) {
	t := table{columns: []paint.Column{{Most: 9}, {Most: 29}, {Most: 400, Least: 30, Flex: true}, {Most: 20, Drop: 1}, {Most: 7, Least: 7, Right: true, Drop: 2}}}
	for _, q := range m.fleet.Questions {
		run := m.runName(q.Run)
		if !fits(filter, q.Name, q.Text, run) {
			continue
		}
		keys = append(keys, questionKey+q.ID)
		t.add(waiting, cell(display.Line(q.Name, 60), ""), cell(phrase.Line(q.Text), display.Yellow), cell(run, display.Faint), cell(phrase.Age(m.now.Sub(q.Asked)), display.Faint))
	}
	return keys, t.rows(width)
}

// laneRows returns a row for each paused lane. The rows cannot be chosen, because
// there is no action for a lane.
func (m Model) laneRows(filter string) (rows []paint.Line) {
	for _, l := range m.fleet.Lanes {
		if l.Until.After(m.now) && fits(filter, l.Name, l.Reason) {
			rows = append(rows, m.laneRow("  ", l))
		}
	}
	return rows
}

func (m Model) laneRow(indent string, l fleet.Lane) paint.Line {
	return paint.Line{{Text: indent + "‖ " + phrase.Paused(l, m.now), Style: display.Yellow}, {Text: ", " + phrase.Age(l.Until.Sub(m.now)) + " to go", Style: display.Faint}}
}

// runRows returns the running runs, then the ended ones.
func (m Model) runRows(filter string, width int) (keys []string, rows []paint.Line) {
	t := table{columns: []paint.Column{
		{Most: 11},
		{Most: 28},
		{Most: 16, Drop: 1}, // project
		{Most: 10, Drop: 5}, // progress bar
		{Most: 11, Right: true, Drop: 6},
		{Most: 80, Least: 20, Flex: true, Drop: 2},
		{Most: 8, Right: true, Drop: 3},
		{Most: 8, Least: 7, Right: true, Drop: 4},
		{Most: 24, Drop: 1}, // run id
	}}
	if width < 130 {
		t.columns[8].Most = 0 // the other columns are more useful
	}
	several := m.severalProjects()
	for _, r := range m.sortedRuns() {
		if !fits(filter, r.Name, r.ID, r.Project, string(r.Status)) {
			continue
		}
		project := ""
		if several {
			project = display.Line(path.Base(r.Project), 40)
		}
		keys = append(keys, runKey+r.ID)
		t.add(
			badgeOf(r.Status), cell(nameOf(r), ""), cell(project, display.Faint), bar(r, 10),
			cell(fmt.Sprintf("%d/%d", r.Counts.Complete, r.Counts.Total), ""), cell(m.runWords(r), ""),
			cell(phrase.Money(r.Spent.USD), display.Faint), cell(m.took(r), display.Faint), cell(display.Printable(r.ID), display.Faint),
		)
	}
	return keys, t.rows(width)
}

// runWords summarizes a run: its stop request, open questions and tasks by status.
func (m Model) runWords(r fleet.Run) string {
	n := 0
	for _, q := range m.fleet.Questions {
		if q.Run == r.ID {
			n++
		}
	}
	var words []string
	if n > 0 {
		words = append(words, fmt.Sprintf("%d waiting", n))
	}
	for _, c := range []struct {
		n    int
		word fleet.Status
	}{{r.Counts.Failed, fleet.Failed}, {r.Counts.Running, fleet.Running}, {r.Counts.Queued, fleet.Queued}, {r.Counts.Cancelled, fleet.Cancelled}} {
		if c.n > 0 {
			words = append(words, fmt.Sprintf("%d %s", c.n, c.word))
		}
	}
	if r.Stopping != "" && !r.Status.Final() {
		words = append([]string{"stopping"}, words...)
	}
	return strings.Join(words, ", ")
}

func (m Model) workerRows(filter string, width int) (keys []string, rows []paint.Line) {
	t := table{columns: []paint.Column{
		{Most: 9},
		{Most: 24},
		{Most: 12, Drop: 9},
		{Most: 20, Least: 11, Right: true, Drop: 3}, // source of the state, and its age
		{Most: 40, Least: 16, Flex: true, Drop: 8},
		{Most: 11, Right: true, Drop: 6},
		{Most: 15, Least: 12, Right: true, Drop: 7},
		{Most: 30, Drop: 2},
		{Most: 16, Drop: 1},
	}}
	for _, w := range sortedWorkers(m.fleet.Workers) {
		labels := display.Line(strings.Join(w.Own(), ", "), 60)
		if !fits(filter, w.Name, w.Host, w.WorkerStatus, w.ClaudeStatus, w.Task, labels) {
			continue
		}
		keys = append(keys, workerKey+w.ID)
		t.add(
			workerBadge(w), cell(display.Line(w.Name, 40), ""), agentBadge(w), cell(m.saying(w), display.Faint), cell(m.workerTask(w), ""),
			cell(slots(w), display.Faint), cell("seen "+ago(w.LastSeen, m.now), display.Faint), cell(labels, display.Faint), cell(display.Line(w.Version, 40), display.Faint),
		)
	}
	return keys, t.rows(width)
}

// saying returns the source of a worker's agent status and the age of that status.
func (m Model) saying(w fleet.Worker) string {
	words := []string{}
	if w.Source != "" {
		words = append(words, display.Line(w.Source, 12))
	}
	if !w.ClaudeSince.IsZero() {
		words = append(words, ago(w.ClaudeSince, m.now))
	}
	return strings.Join(words, " ")
}

// workerTask returns a worker's task, with the name of its run if that is known. For
// an agent that the user has started, it returns what the agent waits for, or its
// folder.
func (m Model) workerTask(w fleet.Worker) string {
	if w.ByHand {
		return display.Line(cmp.Or(w.For, w.Dir), 60)
	}
	run, task, ok := strings.Cut(w.Task, "/")
	if !ok {
		return display.Line(w.Task, 60)
	}
	if name := m.runName(run); name != "" {
		return display.Line(task, 60) + " of " + name
	}
	return display.Line(task, 60)
}

func slots(w fleet.Worker) string {
	switch {
	case w.Slots == 0:
		return ""
	case w.Held == 0 && w.Source == "": // an older worker, which does not report how many slots are in use
		return phrase.Count(w.Slots, "slot")
	}
	return fmt.Sprintf("%d/%d slots", w.Held, w.Slots)
}

// sortedWorkers returns the online workers first, each group sorted by name, so that
// rows do not move while the user reads them.
func sortedWorkers(list []fleet.Worker) []fleet.Worker {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b fleet.Worker) int {
		if a.Online() != b.Online() {
			if a.Online() {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list
}

func (m Model) sortedRuns() []fleet.Run {
	list := slices.Clone(m.fleet.Runs)
	slices.SortStableFunc(list, func(a, b fleet.Run) int {
		switch {
		case a.Status.Final() == b.Status.Final():
			return 0
		case a.Status.Final():
			return 1
		}
		return -1
	})
	return list
}

func (m Model) severalProjects() bool {
	return slices.ContainsFunc(m.fleet.Runs, func(r fleet.Run) bool { return path.Base(r.Project) != path.Base(m.fleet.Runs[0].Project) })
}

// runName returns a run's name, or "" if the run is unknown.
func (m Model) runName(id string) string {
	if m.run.ID == id {
		return nameOf(m.run)
	}
	for _, r := range m.fleet.Runs {
		if r.ID == id {
			return nameOf(r)
		}
	}
	return ""
}

func nameOf(r fleet.Run) string {
	if name := display.Line(r.Name, 60); name != "" {
		return name
	}
	return display.Printable(r.ID)
}

// bar returns a run's progress bar in the style of its badge. The parts of the bar
// differ by shape.
func bar(r fleet.Run, room int) paint.Span {
	return paint.Span{Text: paint.Bar(r.Counts, room).Render(room, false), Style: badgeOf(r.Status).Style}
}

// fits reports whether one of the texts contains the filter, ignoring case.
func fits(filter string, texts ...string) bool {
	return filter == "" || slices.ContainsFunc(texts, func(text string) bool {
		return strings.Contains(strings.ToLower(text), strings.ToLower(filter))
	})
}
