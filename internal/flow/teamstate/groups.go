package teamstate

import (
	"cmp"
	"slices"
	"time"

	"gaffer/team"
)

// groupSet holds the project manager's plan and the state of each group of tasks in the plan.
type groupSet struct {
	start *Start
	plan  plan     // empty until the project manager has made a plan
	list  []*group // groups of the plan, in the order of the plan
}

// find returns the group with this id, or nil if there is none.
func (s *groupSet) find(id string) *group {
	for _, g := range s.list {
		if g.id == id {
			return g
		}
	}
	return nil
}

// adopt replaces the plan by p. Groups of tasks that were in the earlier plan keep their state, and
// new groups get the status pending.
func (s *groupSet) adopt(p plan, at time.Time) {
	s.plan = p
	for _, planned := range p.groups {
		g := s.find(planned.ID)
		if g == nil {
			g = newGroup(planned.ID, s.start.Iterations)
			g.status.BranchName, g.status.LastUpdate = s.start.branch(planned.ID), team.At(at)
			s.list = append(s.list, g)
		}
		g.status.Name = planned.Name
	}
}

// developers returns how many developers may work at the same time. If the plan has the mode
// [team.Simple], only one may.
func (s *groupSet) developers() int {
	if s.plan.mode == team.Simple {
		return 1
	}
	return s.start.Developers
}

// openComplete reports whether all groups of tasks in the open phases of the plan are complete.
// Agents may work only on groups in open phases.
func (s *groupSet) openComplete() bool {
	for _, g := range s.list {
		if s.plan.open(g.id) && !g.complete() {
			return false
		}
	}
	return true
}

// dependenciesComplete reports whether all groups that the group with this id depends on are
// complete.
func (s *groupSet) dependenciesComplete(id string) bool {
	for _, other := range s.plan.group(id).DependsOn {
		if !s.find(other).complete() {
			return false
		}
	}
	return true
}

// statuses returns the content of the document group_status.json. The changed files and the commits
// of the groups are missing; [Session.Contents] adds them.
func (s *groupSet) statuses() team.Groups {
	var all team.Groups
	for _, g := range s.list {
		all = append(all, g.status)
	}
	return all
}

// pmState returns those fields of the document pm_state.json that follow from the plan and from the
// state of the groups of tasks in it.
func (s *groupSet) pmState() team.PMState {
	pm := team.PMState{
		Mode: s.plan.mode, ModeReasoning: s.plan.reasoning,
		AllTasks: slices.Clone(s.plan.tasks), TaskGroups: slices.Clone(s.plan.groups), ExecutionPhases: s.phases(),
	}
	for i, t := range pm.AllTasks {
		if g := s.find(t.GroupID); g == nil || g.untouched() && t.Status != "" {
			// Keep the status of a task that has no group. Also keep the status from another
			// program's documents if gaffer has not started an agent for the group yet.
			continue
		}
		pm.AllTasks[i].Status = s.progress(t.GroupID)
	}
	for i, g := range pm.TaskGroups {
		if s.find(g.ID).untouched() {
			pm.TaskGroups[i].Status = cmp.Or(g.Status, s.progress(g.ID))
			continue
		}
		pm.TaskGroups[i].Status, pm.TaskGroups[i].BranchName = s.progress(g.ID), s.start.branch(g.ID)
	}
	done := team.Measure(pm, s.statuses())
	pm.CompletedGroups, pm.InProgressGroups, pm.PendingGroups = done.Completed, done.InProgress, done.Pending
	pm.CompletionPercentage = done.Percentage
	return pm
}

// progress returns the status of a group in the words of pm_state.json, which has fewer statuses
// than group_status.json.
func (s *groupSet) progress(id string) team.WorkStatus { return s.find(id).status.Status.Work() }

func (s *groupSet) phases() []team.ExecutionPhase {
	var phases []team.ExecutionPhase
	for i, ph := range s.plan.phases {
		status := team.WorkComplete
		switch {
		case !ph.opened:
			status = team.WorkPending
		case slices.ContainsFunc(ph.groups, func(id string) bool { return !s.find(id).complete() }):
			status = team.WorkInProgress
		}
		phases = append(phases, team.ExecutionPhase{
			PhaseNumber: cmp.Or(ph.number, i+1), GroupIDs: slices.Clone(ph.groups),
			ParallelCount: min(len(ph.groups), s.developers()), Status: status,
		})
	}
	return phases
}
