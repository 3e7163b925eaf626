package teamstate

import (
	"cmp"
	"slices"

	"gaffer/team"
)

// Picture returns the content of all documents.
func (s *Session) Picture(w World) team.Picture {
	p := team.Picture{PM: s.memory(), Groups: s.statuses(), Orchestrator: s.orchestrator()}
	for i, g := range p.Groups {
		c := s.group(g.ID).withFound(w.Changes[g.ID])
		p.Groups[i].FilesModified, p.Groups[i].Commits = lines(c.Files), lines(c.Commits)
	}
	for _, m := range s.messages {
		p.Messages = append(p.Messages, m.with(w.Changes[m.GroupID]))
	}
	return p
}

// memory returns the content of the project manager's document.
func (s *Session) memory() team.PMState {
	pm := team.PMState{
		SessionID: s.start.Session, Mode: s.plan.mode, ModeReasoning: s.plan.reasoning,
		OriginalRequirements: s.start.Requirements,
		AllTasks:             s.tasks(), TaskGroups: s.taskGroups(), ExecutionPhases: s.phases(),
		Iteration: s.folds, LastUpdate: team.At(s.updated), EstimatedRemaining: s.estimate(),
	}
	done := team.Measure(pm, s.statuses())
	pm.CompletedGroups, pm.InProgressGroups, pm.PendingGroups = done.Completed, done.InProgress, done.Pending
	pm.CompletionPercentage = done.Percentage
	return pm
}

func (s *Session) statuses() team.Groups {
	var all team.Groups
	for _, g := range s.groups {
		all = append(all, g.status)
	}
	return all
}

func (s *Session) tasks() []team.Task {
	tasks := slices.Clone(s.plan.tasks)
	for i, t := range tasks {
		if g := s.group(t.GroupID); g == nil || g.untouched() && t.Status != "" {
			continue // keep the status that another program wrote
		}
		tasks[i].Status = s.progress(t.GroupID)
	}
	return tasks
}

func (s *Session) taskGroups() []team.TaskGroup {
	groups := slices.Clone(s.plan.groups)
	for i, g := range groups {
		if s.group(g.ID).untouched() {
			groups[i].Status = cmp.Or(g.Status, s.progress(g.ID))
			continue
		}
		groups[i].Status, groups[i].BranchName = s.progress(g.ID), s.Branch(g.ID)
	}
	return groups
}

// progress returns the status of a group in the project manager's terms.
func (s *Session) progress(group string) team.WorkStatus {
	return s.group(group).status.Status.Work()
}

func (s *Session) phases() []team.ExecutionPhase {
	var phases []team.ExecutionPhase
	for i, ph := range s.plan.phases {
		phases = append(phases, team.ExecutionPhase{
			PhaseNumber: cmp.Or(ph.number, i+1), GroupIDs: slices.Clone(ph.groups),
			ParallelCount: min(len(ph.groups), s.developers()), Status: s.phaseStatus(ph),
		})
	}
	return phases
}

func (s *Session) phaseStatus(ph phase) team.WorkStatus {
	switch {
	case !ph.opened:
		return team.WorkPending
	case slices.ContainsFunc(ph.groups, func(id string) bool { return !s.group(id).complete() }):
		return team.WorkInProgress
	}
	return team.WorkComplete
}

// orchestrator returns the content of the orchestrator's document.
func (s *Session) orchestrator() team.OrchestratorState {
	o := team.OrchestratorState{
		SessionID: s.start.Session, CurrentPhase: s.currentPhase(), Iteration: s.spawns, TotalSpawns: s.spawns,
		DecisionsLog: slices.Clone(s.log), Status: team.SessionRunning,
		StartTime: team.At(s.began), LastUpdate: team.At(s.updated),
	}
	for _, r := range s.running {
		agent := team.ActiveAgent{AgentType: r.Role, GroupID: r.Group, SpawnedAt: team.At(r.at)}
		if r.Role == team.PM {
			agent.GroupID = ""
		}
		if r.Role != "" {
			o.ActiveAgents = append(o.ActiveAgents, agent)
		}
	}
	switch {
	case s.finished:
		o.Status, o.EndTime = team.SessionCompleted, team.At(s.ended)
	case s.problem != nil:
		o.Status, o.EndTime = team.SessionError, team.At(s.ended)
	}
	return o
}

func (s *Session) currentPhase() team.Phase {
	was := team.Initialization
	switch {
	case s.finished:
		was = team.Completed
	case s.spawns > 0:
		was = team.PMPlanning
	}
	pm := team.PMState{TaskGroups: s.plan.groups, ExecutionPhases: s.phases()}
	return team.CurrentPhase(pm, s.statuses(), was)
}
