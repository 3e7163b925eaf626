package plan

import (
	"bufio"
	"fmt"
	"slices"
	"strings"

	"gaffer/internal/cli/env"
	"gaffer/internal/plan"
	"gaffer/internal/text/cells"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
)

// Maximum sizes in the drawing, in columns and rows of a terminal.
const (
	columns  = 80
	maxID    = 24
	maxAgent = 18
	// A stage (see [picture]) with more than maxRows+1 tasks is drawn as maxRows tasks and a row
	// "… and N more".
	maxRows = 40
)

// picture draws a plan as boxes, one below the other. Each box is a stage: tasks that wait only for
// tasks in the boxes above. Beside each task, picture shows which tasks it waits for.
type picture struct {
	env   *env.Env
	out   *bufio.Writer
	plan  plan.Plan
	tasks map[string]plan.Task
	lower lowerWaves
	width struct{ id, name, agent, box int }
}

func draw(e *env.Env, p plan.Plan) error {
	pic := &picture{env: e, out: bufio.NewWriter(e.Out), plan: p, tasks: map[string]plan.Task{}}
	for _, t := range p.Tasks {
		pic.tasks[t.ID] = t
	}
	waves := p.Waves()
	pic.lower = newLowerWaves(pic.tasks, waves)
	pic.measure()
	pic.title(len(waves))
	for i, ids := range waves {
		pic.box(i+1, ids, i+1 == len(waves))
	}
	return pic.out.Flush()
}

// measure sets the widths of the table columns in the boxes, and the width of the boxes, which is
// at most 80 columns of the terminal.
func (p *picture) measure() {
	w := &p.width
	needs := 0
	for _, t := range p.plan.Tasks {
		w.id = max(w.id, min(cells.Width(display.OneLine(t.ID)), maxID))
		w.name = max(w.name, cells.Width(shownName(t)))
		w.agent = max(w.agent, min(cells.Width(agent(t)), maxAgent))
		needs = max(needs, cells.Width(p.needs(t)))
	}
	// fixed is the width of a row whose columns name and needs are empty. A row has the form
	// │ ✓ id  name  agent  ← needs │
	fixed := 6 + w.id + columnWidth(w.agent)
	room := columns - fixed - 2
	w.name = min(w.name, max(room-columnWidth(needs), room/2))
	w.box = min(columns, max(fixed+columnWidth(w.name)+columnWidth(needs), 30))
}

// columnWidth returns the width of a column with the two spaces before it. An empty column has the
// width 0, because it is not drawn.
func columnWidth(column int) int {
	if column == 0 {
		return 0
	}
	return column + 2
}

func (p *picture) title(stages int) {
	size := fmt.Sprintf("%s in %s", phrase.Count(len(p.plan.Tasks), "task"), phrase.Count(stages, "stage"))
	if len(p.plan.Tasks) == 0 {
		size = "nothing is left to do"
	}
	fmt.Fprintf(p.out, "%s: %s\n", p.env.Paint(p.env.Out, display.Bold, display.Line(p.plan.Name, 50)), size)
	var facts []string
	if p.plan.Parallel > 0 {
		facts = append(facts, fmt.Sprintf("at most %d at once", p.plan.Parallel))
	}
	switch p.plan.OnFailure {
	case plan.Stop:
		facts = append(facts, "a failure stops the rest")
	case plan.StopNow:
		facts = append(facts, "a failure stops the rest, also what runs")
	}
	if b := p.plan.Budget; b.USD > 0 {
		facts = append(facts, fmt.Sprintf("%g USD at most", b.USD))
	}
	if b := p.plan.Budget; b.Tokens > 0 {
		facts = append(facts, fmt.Sprintf("%d tokens at most", b.Tokens))
	}
	if len(facts) > 0 {
		fmt.Fprintln(p.out, strings.Join(facts, ", "))
	}
}

// box draws the box of stage n. ids are the ids of its tasks. last is true if no stage follows.
func (p *picture) box(n int, ids []string, last bool) {
	head := fmt.Sprintf("┌─ stage %d ", n)
	fmt.Fprintf(p.out, "%s%s┐\n", head, strings.Repeat("─", p.width.box-cells.Width(head)-1))
	for i, id := range ids {
		if i == maxRows && len(ids) > maxRows+1 {
			p.line(fmt.Sprintf("  … and %d more", len(ids)-maxRows), "")
			break
		}
		p.line(p.row(p.tasks[id]))
	}
	middle := p.width.box / 2
	if last {
		fmt.Fprintf(p.out, "└%s┘\n", strings.Repeat("─", p.width.box-2))
		return
	}
	fmt.Fprintf(p.out, "└%s┬%s┘\n", strings.Repeat("─", middle-1), strings.Repeat("─", p.width.box-middle-2))
	fmt.Fprintf(p.out, "%s▼\n", strings.Repeat(" ", middle))
}

// line writes a row of the box. The row shows the parameter text, followed by the parameter faint
// in a faint style.
func (p *picture) line(text, faint string) {
	room := p.width.box - 4
	text = cells.Truncate(text, room)
	faint = cells.Truncate(faint, room-cells.Width(text))
	pad := strings.Repeat(" ", room-cells.Width(text)-cells.Width(faint))
	fmt.Fprintf(p.out, "│ %s%s%s │\n", text, p.env.Paint(p.env.Out, display.Faint, faint), pad)
}

func (p *picture) row(t plan.Task) (text, faint string) {
	mark := " "
	if t.Done {
		mark = "✓"
	}
	w := p.width
	text = mark + " " + cells.Fill(display.OneLine(t.ID), w.id)
	if w.name > 0 {
		text += "  " + cells.Fill(shownName(t), w.name)
	}
	if w.agent > 0 {
		text += "  " + cells.Fill(agent(t), w.agent)
	}
	if needs := p.needs(t); needs != "" {
		return text, "  " + needs
	}
	return text, ""
}

// needs returns a text that says what task t waits for, such as "← api, all of stage 1". The text
// lists the task ids in t.After. If there are more than four, it lists three of them and says how
// many more there are. Then comes the text of [lowerWaves.unnamed], which describes the tasks that
// t waits for because of its wave number.
func (p *picture) needs(t plan.Task) string {
	const most = 4
	words := slices.Clone(t.After)
	if len(words) > most {
		words = append(words[:most-1:most-1], fmt.Sprintf("%d more", len(words)-most+1))
	}
	if all := p.lower.unnamed(t, p.tasks); all != "" {
		words = append(words, all)
	}
	if len(words) == 0 {
		return ""
	}
	return "← " + display.Printable(strings.Join(words, ", "))
}

// shownName returns a task's name, or "" if it equals the id.
func shownName(t plan.Task) string {
	if t.Name == t.ID {
		return ""
	}
	return display.OneLine(t.Name)
}

func agent(t plan.Task) string {
	return display.OneLine(t.Agent + " " + t.Model)
}
