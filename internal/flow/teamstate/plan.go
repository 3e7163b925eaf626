package teamstate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gaffer/team"
)

// plan is the project manager's plan. While a session uses a plan, only the method openNext changes
// it in place. All other changes replace the plan by a changed copy.
type plan struct {
	mode      team.Mode
	reasoning string
	tasks     []team.Task
	groups    []team.TaskGroup
	phases    []phase
	settled   map[string]bool // set of ids of groups that another program has completed; the method checkGroup skips these groups
}

// phase is a set of groups of tasks. Agents may work on these groups once the phase is open. An
// open phase is never closed again.
type phase struct {
	groups []string
	opened bool
	// number is the phase's number in a plan that another program has written. 0 means that the
	// phase's position in the plan is its number.
	number int
}

const (
	maxGroups = 64     // maximum number of groups in a plan
	maxTasks  = 1000   // maximum number of tasks in a plan
	mainGroup = "main" // id of the only group of tasks in a plan with the mode [team.Simple]
)

// group returns the planned group with this id, or an empty group if there is none.
func (p plan) group(id string) team.TaskGroup {
	for _, g := range p.groups {
		if g.ID == id {
			return g
		}
	}
	return team.TaskGroup{}
}

// tasksOf returns the tasks of a group in the order of the plan.
func (p plan) tasksOf(group string) []team.Task {
	var tasks []team.Task
	for _, t := range p.tasks {
		if t.GroupID == group {
			tasks = append(tasks, t)
		}
	}
	return tasks
}

// phaseOf returns the index of the phase that contains the group, or -1 if no phase does.
func (p plan) phaseOf(group string) int {
	return slices.IndexFunc(p.phases, func(ph phase) bool { return slices.Contains(ph.groups, group) })
}

// open reports whether the phase of a group of tasks is open.
func (p plan) open(group string) bool {
	i := p.phaseOf(group)
	return i >= 0 && p.phases[i].opened
}

func (p plan) phaseLeft() bool {
	return slices.ContainsFunc(p.phases, func(ph phase) bool { return !ph.opened })
}

// openNext opens the plan's first closed phase, and returns its number and its groups of tasks. The
// caller must make sure that there is a closed phase.
func (p *plan) openNext() (number int, groups []string) {
	i := slices.IndexFunc(p.phases, func(ph phase) bool { return !ph.opened })
	p.phases[i].opened = true
	return cmp.Or(p.phases[i].number, i+1), p.phases[i].groups
}

// check returns an error if the plan is too large, if the method checkGroup finds a problem, or if
// groups of tasks depend on each other in a cycle.
func (p plan) check() error {
	switch {
	case len(p.groups) > maxGroups:
		return fmt.Errorf("it has %d groups, more than %d", len(p.groups), maxGroups)
	case len(p.tasks) > maxTasks:
		return fmt.Errorf("it has %d tasks, more than %d", len(p.tasks), maxTasks)
	}
	for _, g := range p.groups {
		if err := p.checkGroup(g); err != nil {
			return err
		}
	}
	if stuck := p.cycle(); len(stuck) > 0 {
		return fmt.Errorf("groups %s depend on each other in a circle", strings.Join(stuck, ", "))
	}
	return nil
}

// checkGroup returns an error if a group of tasks is empty, has no phase, or depends on a group
// that cannot be complete before it, such as a group in a later phase. It does not check groups
// that another program has completed.
func (p plan) checkGroup(g team.TaskGroup) error {
	own := p.phaseOf(g.ID)
	switch {
	case p.settled[g.ID]:
		return nil
	case len(g.Tasks) == 0:
		return fmt.Errorf("group %s has no tasks", g.ID)
	case own < 0:
		return fmt.Errorf("group %s is in no phase", g.ID)
	}
	for _, id := range g.DependsOn {
		switch at := p.phaseOf(id); {
		case id == g.ID || p.group(id).ID == "":
			return fmt.Errorf("group %s depends on %q, which is not another group", g.ID, clip(id, 60))
		case at > own:
			return fmt.Errorf("group %s of phase %d depends on group %s of phase %d, which opens later", g.ID, own+1, id, at+1)
		}
	}
	return nil
}

// cycle returns the ids of the groups of tasks that can never start, because they are in a cycle of
// dependencies or depend on a group in a cycle.
func (p plan) cycle() []string {
	var stuck, done []string
	var open []team.TaskGroup
	for _, g := range p.groups {
		if p.settled[g.ID] {
			done = append(done, g.ID)
		} else {
			open = append(open, g)
		}
	}
	_, left := layers(open, done)
	for _, g := range left {
		stuck = append(stuck, g.ID)
	}
	return stuck
}

// layers sorts groups of tasks into layers by their dependencies. A group in a layer depends only
// on groups in earlier layers and on groups whose ids are in done. The result cyclic holds the
// groups that fit in no layer, because they depend, directly or indirectly, on a cycle or on an
// unknown group.
func layers(groups []team.TaskGroup, done []string) (sorted [][]string, cyclic []team.TaskGroup) {
	placed := map[string]bool{}
	for _, id := range done {
		placed[id] = true
	}
	cyclic = groups
	for len(cyclic) > 0 {
		var layer []string
		var later []team.TaskGroup
		for _, g := range cyclic {
			if slices.ContainsFunc(g.DependsOn, func(id string) bool { return !placed[id] }) {
				later = append(later, g)
			} else {
				layer = append(layer, g.ID)
			}
		}
		if len(layer) == 0 {
			return sorted, cyclic
		}
		for _, id := range layer {
			placed[id] = true
		}
		sorted, cyclic = append(sorted, layer), later
	}
	return sorted, nil
}

// phasesOf makes phases of groups of tasks. Each phase has at most [team.MaxDevelopers] groups, all
// of one layer (see the function layers), and no phase is open yet. Groups that fit in no layer come
// last; the method plan.check rejects them later.
func phasesOf(groups []team.TaskGroup, done []string) []phase {
	in, left := layers(groups, done)
	var rest []string
	for _, g := range left {
		rest = append(rest, g.ID)
	}
	var phases []phase
	for _, layer := range append(in, rest) {
		for part := range slices.Chunk(layer, team.MaxDevelopers) {
			phases = append(phases, phase{groups: part})
		}
	}
	return phases
}
