package teamstate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gaffer/statefile/jsontree"
	"gaffer/team"
)

// readPlan reads the project manager's first plan. dropped lists the requirements that the plan
// leaves out, with reasons. wanted is the mode that the user has chosen. If the plan cannot be
// used, the error says why.
func readPlan(body jsontree.Value, wanted team.Mode, items []Item) (p plan, dropped []string, err error) {
	p.mode = team.Mode(body.Get("mode").Text())
	p.reasoning = clip(body.Get("mode_reasoning").Text(), maxText)
	switch {
	case body.Kind() != jsontree.Object:
		return p, nil, errors.New("it has no plan: a JSON object with mode, tasks and groups is needed")
	case p.mode != team.Simple && p.mode != team.Parallel:
		return p, nil, fmt.Errorf("mode is %q; it must be %s or %s", clip(string(p.mode), 60), team.Simple, team.Parallel)
	case wanted != team.Unplanned && p.mode != wanted:
		return p, nil, fmt.Errorf("mode is %s, but %s was asked for", p.mode, wanted)
	}
	d, err := readDraft(body)
	if err != nil {
		return p, nil, err
	}
	if p.mode == team.Simple {
		err = d.simplify()
	}
	if err != nil {
		return p, nil, err
	}
	if dropped, err = checkRequirements(items, d.tasks, body.Get("out_of_scope")); err != nil {
		return p, nil, err
	}
	if len(d.groups) == 0 {
		return p, nil, errors.New("it has no groups")
	}
	if p.phases, err = readPhases(body.Get("phases"), p.mode, d.groups); err != nil {
		return p, nil, err
	}
	p, err = p.with(d, nil)
	return p, dropped, err
}

// simplify prepares a plan with the mode [team.Simple]. It gives the only group of tasks the id
// mainGroup, and removes the group's dependencies. It returns an error if the plan does not have
// exactly one group.
func (d *draft) simplify() error {
	if len(d.groups) != 1 {
		return fmt.Errorf("simple mode has one group, this has %d", len(d.groups))
	}
	d.groups[0].ID, d.groups[0].DependsOn = mainGroup, nil
	for i := range d.tasks {
		d.tasks[i].GroupID = mainGroup
	}
	return nil
}

// readPhases reads the phases of a plan. If v lists no phases or the mode is [team.Simple],
// readPhases creates the phases from the dependencies between the groups of tasks.
func readPhases(v jsontree.Value, mode team.Mode, groups []team.TaskGroup) ([]phase, error) {
	var given []team.ExecutionPhase
	for _, item := range v.Items() {
		var ph team.ExecutionPhase
		jsontree.Decode(item, &ph)
		given = append(given, ph)
	}
	if len(given) == 0 || mode == team.Simple {
		return phasesOf(groups, nil), nil
	}
	slices.SortStableFunc(given, func(a, b team.ExecutionPhase) int { return cmp.Compare(a.PhaseNumber, b.PhaseNumber) })
	var phases []phase
	seen := map[string]bool{}
	for _, ph := range given {
		if n := len(ph.GroupIDs); n == 0 || n > team.MaxDevelopers {
			return nil, fmt.Errorf("phase %d has %d groups; it must have 1 to %d", ph.PhaseNumber, n, team.MaxDevelopers)
		}
		for _, id := range ph.GroupIDs {
			if seen[id] || !slices.ContainsFunc(groups, func(g team.TaskGroup) bool { return g.ID == id }) {
				return nil, fmt.Errorf("phase %d has group %q, which is not planned or is listed twice", ph.PhaseNumber, clip(id, 60))
			}
			seen[id] = true
		}
		phases = append(phases, phase{groups: slices.Clone(ph.GroupIDs)})
	}
	return phases, nil
}

// with returns a copy of the plan p to which the groups and tasks of the draft d are added. A group
// of the draft replaces a group of p with the same id. movable holds the ids of tasks of p that the
// draft may move to other groups.
func (p plan) with(d draft, movable []string) (plan, error) {
	p.tasks, p.groups = slices.Clone(p.tasks), slices.Clone(p.groups)
	for _, t := range d.tasks {
		switch i := p.task(t.ID); {
		case i < 0:
			p.tasks = append(p.tasks, t.Task)
		case slices.Contains(movable, t.ID):
			p.tasks[i].GroupID = t.GroupID
		default:
			return p, fmt.Errorf("task %s already exists", t.ID)
		}
	}
	for _, g := range d.groups {
		for _, id := range g.Tasks {
			i := p.task(id)
			if i < 0 || d.task(id) < 0 && !slices.Contains(movable, id) {
				return p, fmt.Errorf("group %s has task %q, which is not planned, or another group's", g.ID, clip(id, 60))
			}
			p.tasks[i].GroupID = g.ID
		}
		p.put(g)
	}
	return p, p.checkAll()
}

func (p *plan) put(g team.TaskGroup) {
	i := slices.IndexFunc(p.groups, func(other team.TaskGroup) bool { return other.ID == g.ID })
	if i < 0 {
		p.groups = append(p.groups, g)
		return
	}
	p.groups[i] = g
}

func (p plan) task(id string) int {
	return slices.IndexFunc(p.tasks, func(t team.Task) bool { return t.ID == id })
}

// checkAll returns an error if a task is in several groups, or if the method check finds a problem.
// It ignores groups that another program has completed.
func (p plan) checkAll() error {
	in := map[string]string{}
	for _, g := range p.groups {
		if p.settled[g.ID] {
			continue
		}
		for _, id := range g.Tasks {
			if other, twice := in[id]; twice {
				return fmt.Errorf("task %s is in group %s and in group %s", id, other, g.ID)
			}
			in[id] = g.ID
		}
	}
	return p.check()
}

// split returns a plan in which the group of tasks with the id stuck is split as body describes.
// The group keeps its id, but some of its tasks move to new groups in the same phase. Groups that
// depend on the split group also depend on the new groups.
func (p plan) split(stuck string, body jsontree.Value) (plan, error) {
	d, err := readDraft(body)
	if err != nil {
		return p, err
	}
	was := p.group(stuck)
	added, err := d.parts(p, was)
	if err != nil {
		return p, err
	}
	next := p
	next.groups, next.phases = slices.Clone(p.groups), slices.Clone(p.phases)
	for i, g := range next.groups {
		if slices.Contains(g.DependsOn, stuck) {
			next.groups[i].DependsOn = slices.Concat(g.DependsOn, added)
		}
	}
	at := &next.phases[p.phaseOf(stuck)]
	at.groups = slices.Concat(at.groups, added)
	return next.with(d, was.Tasks)
}

// parts returns the ids of the new groups in a draft that splits the group stuck. It returns an
// error if the draft is not a valid split of that group.
func (d draft) parts(p plan, stuck team.TaskGroup) (added []string, err error) {
	var tasks []string
	for _, g := range d.groups {
		tasks = append(tasks, g.Tasks...)
		switch {
		case g.ID == stuck.ID:
		case p.group(g.ID).ID != "":
			return nil, fmt.Errorf("group %s already exists", g.ID)
		default:
			added = append(added, g.ID)
		}
	}
	switch {
	case len(added) == len(d.groups):
		return nil, fmt.Errorf("one of the groups must still be called %s: it goes on in its branch", stuck.ID)
	case len(added) == 0:
		return nil, fmt.Errorf("group %s is not split: give new groups too, or say %s with advice", stuck.ID, team.WordContinue)
	}
	for _, id := range stuck.Tasks {
		if !slices.Contains(tasks, id) {
			return nil, fmt.Errorf("task %s of group %s is in none of the groups", id, stuck.ID)
		}
	}
	return added, nil
}

// extend returns a copy of the plan that also has the groups of tasks in body. These groups are in
// additional phases, which are still closed. extend returns an error if the plan already has one of
// the groups.
func (p plan) extend(body jsontree.Value) (plan, error) {
	d, err := readDraft(body)
	if err != nil {
		return p, err
	}
	var there []string
	for _, g := range p.groups {
		there = append(there, g.ID)
	}
	for _, g := range d.groups {
		if slices.Contains(there, g.ID) {
			return p, fmt.Errorf("group %s already exists", g.ID)
		}
	}
	next := p
	next.phases = slices.Concat(p.phases, phasesOf(d.groups, there))
	return next.with(d, nil)
}

// checkRequirements returns an error if a requirement is neither covered by a task nor dropped with
// a reason. It returns the dropped requirements with their reasons. If there is only one
// requirement, tasks need not say that they cover it.
func checkRequirements(items []Item, tasks []draftTask, outOfScope jsontree.Value) (dropped []string, err error) {
	named := map[string]bool{}
	for _, t := range tasks {
		for _, r := range t.requirements {
			named[strings.ToUpper(strings.TrimSpace(r))] = true
		}
	}
	for i, v := range outOfScope.Items() {
		requirement, reason := oneLine(v.Get("requirement").Text()), strings.TrimSpace(clip(v.Get("reason").Text(), maxText))
		switch {
		case reason == "":
			return nil, fmt.Errorf("requirement %q is out of scope for no reason", clip(requirement, 60))
		case i < maxList:
			dropped = append(dropped, requirement+": "+reason)
		}
		named[strings.ToUpper(requirement)] = true
	}
	if len(items) == 1 {
		return dropped, nil
	}
	return dropped, uncovered(items, named)
}

func uncovered(items []Item, named map[string]bool) error {
	var missing []string
	for _, item := range items {
		if !named[item.ID] {
			missing = append(missing, item.ID)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("no task names %s in its requirements, and out_of_scope does not either", strings.Join(missing, ", "))
}
