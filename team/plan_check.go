package team

import (
	"fmt"
	"slices"
	"strings"
)

// Check returns a [*BadPlanError] if the plan cannot be executed. The main conditions are:
//
//   - In simple mode there is exactly one group of tasks.
//   - The ids of the groups are unique, and the dependencies between groups form no cycle.
//   - If there are more than MaxDevelopers groups, the plan divides them into execution phases.
//   - If there are phases, each group is in exactly one phase, and the groups that it depends on
//     are in the same phase or in earlier ones.
//   - A phase has at most MaxDevelopers groups.
func (p Plan) Check() error {
	ids := map[string]bool{}
	for _, g := range p.Groups {
		if g.ID == "" || ids[g.ID] {
			return badPlan("group id %q is empty or is listed twice", g.ID)
		}
		ids[g.ID] = true
	}
	switch {
	case p.Mode != Simple && p.Mode != Parallel:
		return badPlan("mode is %q; it must be %s or %s", p.Mode, Simple, Parallel)
	case len(p.Groups) == 0:
		return badPlan("it has no groups")
	case p.Mode == Simple && len(p.Groups) > 1:
		return badPlan("simple mode has one group, this has %d", len(p.Groups))
	case len(p.Groups) > MaxDevelopers && len(p.Phases) == 0:
		return badPlan("%d groups need phases of at most %d", len(p.Groups), MaxDevelopers)
	}
	if err := p.checkDependencies(ids); err != nil {
		return err
	}
	return p.checkPhases(ids)
}

func (p Plan) checkDependencies(ids map[string]bool) error {
	for _, g := range p.Groups {
		for _, id := range g.DependsOn {
			if !ids[id] || id == g.ID {
				return badPlan("group %s depends on %q, which is not another group", g.ID, id)
			}
		}
	}
	if circle := p.cycle(); circle != nil {
		return badPlan("groups depend on each other in a cycle: %s", strings.Join(circle, " → "))
	}
	return nil
}

// cycle returns the ids of groups that depend on each other in a cycle, with the first id repeated
// at the end. It returns nil if there is no cycle.
func (p Plan) cycle() []string {
	w := cycleSearch{needs: map[string][]string{}, entered: map[string]bool{}, left: map[string]bool{}}
	for _, g := range p.Groups {
		w.needs[g.ID] = g.DependsOn
	}
	for _, g := range p.Groups {
		if found := w.circleFrom(g.ID); found != nil {
			return found
		}
	}
	return nil
}

// cycleSearch is a depth-first search for a cycle of dependencies between groups. It visits each
// group at most once.
type cycleSearch struct {
	needs         map[string][]string // maps the id of a group to the ids of the groups that it depends on
	path          []string            // ids of the groups from the start of the search to the current group
	entered, left map[string]bool     // groups whose visit has started, and groups whose visit is finished
}

func (w *cycleSearch) circleFrom(id string) []string {
	if w.left[id] {
		return nil
	}
	w.path = append(w.path, id)
	if w.entered[id] {
		return w.path[slices.Index(w.path, id):]
	}
	w.entered[id] = true
	for _, next := range w.needs[id] {
		if found := w.circleFrom(next); found != nil {
			return found
		}
	}
	w.left[id] = true
	w.path = w.path[:len(w.path)-1]
	return nil
}

func (p Plan) checkPhases(ids map[string]bool) error {
	if len(p.Phases) == 0 {
		return nil
	}
	at, numbers := map[string]int{}, map[int]bool{}
	for i, phase := range p.Phases {
		if phase.PhaseNumber != 0 && numbers[phase.PhaseNumber] {
			return badPlan("phase %d is listed twice", phase.PhaseNumber)
		}
		numbers[phase.PhaseNumber] = true
		if err := phase.check(ids); err != nil {
			return err
		}
		for _, id := range phase.GroupIDs {
			if _, twice := at[id]; twice {
				return badPlan("group %s is in two phases, or twice in one", id)
			}
			at[id] = i
		}
	}
	return p.checkPhaseOrder(at)
}

func (p ExecutionPhase) check(ids map[string]bool) error {
	switch {
	case len(p.GroupIDs) == 0:
		return badPlan("phase %d has no groups", p.PhaseNumber)
	case len(p.GroupIDs) > MaxDevelopers:
		return badPlan("phase %d has %d groups, more than %d", p.PhaseNumber, len(p.GroupIDs), MaxDevelopers)
	}
	for _, id := range p.GroupIDs {
		if !ids[id] {
			return badPlan("phase %d has group %q, which is not planned", p.PhaseNumber, id)
		}
	}
	return nil
}

// checkPhaseOrder returns an error if a group is in no execution phase, or depends on a group in a
// later phase. Such a dependency could never be met, because a phase opens only after the groups of
// all earlier phases are complete. phaseIndex maps the id of a group to the index of its phase.
func (p Plan) checkPhaseOrder(phaseIndex map[string]int) error {
	for _, g := range p.Groups {
		if _, ok := phaseIndex[g.ID]; !ok {
			return badPlan("group %s is in no phase", g.ID)
		}
		for _, id := range g.DependsOn {
			if phaseIndex[id] > phaseIndex[g.ID] {
				return badPlan("group %s depends on %s, which is in a later phase", g.ID, id)
			}
		}
	}
	return nil
}

// BadPlanError reports a plan that cannot be executed.
type BadPlanError struct{ Problem string }

func badPlan(format string, args ...any) error {
	return &BadPlanError{fmt.Sprintf(format, args...)}
}

func (e *BadPlanError) Error() string { return "plan: " + e.Problem }

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (e *BadPlanError) Invalid() bool { return true }
