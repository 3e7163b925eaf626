package team

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gaffer/statefile/jsontree"
)

// Plan is the plan that the project manager has made for the session.
type Plan struct {
	Mode      Mode
	Reasoning string
	Tasks     []Task
	Groups    []TaskGroup
	Phases    []ExecutionPhase // steps that open one after the other; if empty, each group waits only for its dependencies
}

// Plan records the project manager's plan. If the plan has execution phases, Plan also opens the
// first one, so that its groups of tasks can start. Existing groups that are not in the plan are
// deleted, and new groups are pending. Plan also removes the project manager from the active
// agents. It returns a [*BadPlanError] if the plan cannot be executed. If a group of an earlier
// plan has already started, Plan changes nothing and returns a [*TransitionError].
func (s *Store) Plan(ctx context.Context, p Plan) error {
	if err := p.Check(); err != nil {
		return err
	}
	return s.exclusive(ctx, func(now time.Time) error {
		st, err := s.writable()
		if err != nil {
			return err
		}
		for _, g := range st.groups {
			if g.Status != Pending {
				return &TransitionError{Group: g.ID, From: g.Status, By: PM, Word: "plan", Next: following(g.Status)}
			}
		}
		return s.writePlan(ctx, now, p, st)
	})
}

func (s *Store) writePlan(ctx context.Context, now time.Time, p Plan, st state) error {
	phases := slices.Clone(p.Phases)
	for i := range phases {
		phases[i].Status = WorkPending
		if i == 0 {
			phases[i].Status = WorkInProgress
		}
	}
	st.pm.TaskGroups, st.pm.ExecutionPhases = p.Groups, phases
	return s.write(ctx, now, st, stateChange{
		plan: func(n *jsontree.Node) {
			n.Set("mode", p.Mode)
			n.Set("mode_reasoning", p.Reasoning)
			n.Set("all_tasks", List[Task](p.Tasks))
			n.Set("task_groups", TaskGroups(p.Groups))
			n.Set("execution_phases", List[ExecutionPhase](phases))
		},
		groups:       func(found Groups) (Groups, error) { return plannedGroups(p, found, At(now)), nil },
		orchestrator: func(n *jsontree.Node) { removeActiveAgent(n, PM, "") },
	})
}

// plannedGroups returns the groups of the plan p. If the parameter existing contains a group with
// the same id, plannedGroups returns that group unchanged; otherwise it returns a new group. Groups
// that are only in existing are left out.
func plannedGroups(p Plan, existing Groups, now Time) Groups {
	var groups Groups
	there := existing.byID()
	for _, planned := range p.Groups {
		g := newGroup(planned, now)
		if begun := there[planned.ID]; begun != nil {
			g = *begun
		}
		groups = append(groups, g)
	}
	return groups
}

// OpenPhase opens the next execution phase of the plan, so that the groups in it can start. It
// returns the number of this phase. It also removes the project manager from the active agents. It
// returns a [*PhaseError] if a group of an open phase is not complete yet, or if all phases are
// already open.
func (s *Store) OpenPhase(ctx context.Context) (number int, err error) {
	err = s.exclusive(ctx, func(now time.Time) error {
		st, err := s.writable()
		if err != nil {
			return err
		}
		for _, g := range openGroups(st.pm, allGroups(st.pm, st.groups)) {
			if g.Status != Complete {
				return &PhaseError{fmt.Sprintf("group %s is %s", g.ID, g.Status)}
			}
		}
		i := slices.IndexFunc(st.pm.ExecutionPhases, func(p ExecutionPhase) bool { return p.Status == WorkPending })
		if i < 0 {
			return &PhaseError{"there is none left"}
		}
		number = st.pm.ExecutionPhases[i].PhaseNumber
		st.pm.ExecutionPhases[i].Status = WorkInProgress
		return s.write(ctx, now, st, stateChange{
			plan:         func(n *jsontree.Node) { openPhase(n, i) },
			orchestrator: func(n *jsontree.Node) { removeActiveAgent(n, PM, "") },
		})
	})
	return number, err
}

func openPhase(n *jsontree.Node, i int) {
	for at, phase := range n.Array("execution_phases").Items() {
		if at == i {
			phase.Set("status", WorkInProgress)
		}
	}
}

// PhaseError reports why the next execution phase of the plan cannot be opened.
type PhaseError struct{ Problem string }

func (e *PhaseError) Error() string { return "open next phase: " + e.Problem }

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *PhaseError) Conflict() bool { return true }
