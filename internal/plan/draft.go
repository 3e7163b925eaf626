package plan

import (
	"errors"
	"slices"

	"gaffer/statefile"
)

// maxTasks is the maximum number of tasks in a plan.
const maxTasks = 20_000

// draft is a plan that was read but not checked yet. It includes the positions of the tasks in the
// file, so that checks can report problems with line numbers.
type draft struct {
	Plan
	positions []taskPositions // for each task in Plan.Tasks: where its id, its prompt and its dependencies are in the file
}

type taskPositions struct {
	id, prompt position
	after      []position // positions of the ids in Task.After; empty if they are unknown
}

// reference returns the position in the file of Task.After[k], the id of a task that this task
// waits for. If that position is unknown, it returns the position of the task's own id.
func (p taskPositions) reference(k int) position {
	if k < len(p.after) {
		return p.after[k]
	}
	return p.id
}

func (d *draft) add(t Task, at taskPositions) {
	d.Tasks = append(d.Tasks, t)
	d.positions = append(d.positions, at)
}

// check reports problems with the ids, references and files of tasks, and with cycles. The
// parameter word is the word for a task in these reports, for example "bead".
func (d *draft) check(r *reporter, word string) {
	switch {
	case len(d.Tasks) == 0 && len(r.problems) == 0:
		r.report(position{}, "found no %ss, want one at least", word)
	case len(d.Tasks) > maxTasks:
		r.report(d.positions[maxTasks].id, "found %d %ss, want %d at most", len(d.Tasks), word, maxTasks)
		return
	}
	d.checkIDs(r, word)
	d.checkReferences(r, word)
	d.checkFiles(r)
	g := d.Graph()
	for _, c := range g.cycles() {
		r.report(d.positions[c.tasks[0]].reference(0), "the %ss wait for each other: %s", word, g.text(c))
	}
}

func (d *draft) checkIDs(r *reporter, word string) {
	lines := map[string]int{}
	for i, t := range d.Tasks {
		at := d.positions[i].id
		if t.ID == "" {
			continue // the task has no id, which the reader has already reported
		}
		if bad, ok := errors.AsType[*statefile.NameError](statefile.CheckName(word, t.ID)); ok {
			r.report(at, "the id %.60q %s", t.ID, bad.Problem)
		}
		if line, taken := lines[t.ID]; taken {
			r.report(at, "the id %q is already used by the %s in line %d", t.ID, word, line)
			continue
		}
		lines[t.ID] = at.line
	}
}

func (d *draft) checkReferences(r *reporter, word string) {
	ids := make([]string, len(d.Tasks))
	known := make(map[string]bool, len(d.Tasks))
	for i, t := range d.Tasks {
		ids[i], known[t.ID] = t.ID, true
	}
	for i, t := range d.Tasks {
		for k, id := range t.After {
			at := d.positions[i].reference(k)
			switch {
			case id == t.ID:
				r.report(at, "%s %q waits for itself", word, id)
			case !known[id]:
				r.report(at, "no %s has the id %q, which %q waits for", word, id, t.ID)
				r.suggest(id, ids)
			}
		}
	}
}

func (d *draft) checkFiles(r *reporter) {
	for i, t := range d.Tasks {
		for _, file := range t.Files {
			if problem := checkPattern(file); problem != "" {
				r.report(d.positions[i].id, "files: %.80q %s", file, problem)
			}
		}
	}
}

// dropDone removes the tasks that are marked as Done. It also removes their ids from the lists
// After of other tasks.
func (p *Plan) dropDone() {
	done := map[string]bool{}
	for _, t := range p.Tasks {
		if t.Done {
			done[t.ID] = true
		}
	}
	p.Tasks = slices.DeleteFunc(slices.Clone(p.Tasks), func(t Task) bool { return t.Done })
	for i, t := range p.Tasks {
		p.Tasks[i].After = slices.DeleteFunc(slices.Clone(t.After), func(id string) bool { return done[id] })
	}
}
