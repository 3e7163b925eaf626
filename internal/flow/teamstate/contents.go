package teamstate

import (
	"slices"

	"gaffer/team"
)

// Contents returns the content of all documents that describe the session. changes has the changed
// files and the commits of each group of tasks.
func (s *Session) Contents(changes Changes) team.Contents {
	d := team.Contents{PM: s.groups.pmState(), Groups: s.groups.statuses(), Orchestrator: s.orchestrator()}
	d.PM.SessionID, d.PM.OriginalRequirements = s.start.Session, s.start.Requirements
	d.PM.Iteration, d.PM.LastUpdate = s.history.events, team.At(s.history.updated)
	d.PM.EstimatedRemaining = s.times.remaining(s.groups.list, s.groups.developers())
	for i, g := range d.Groups {
		c := s.groups.find(g.ID).withFound(changes[g.ID])
		d.Groups[i].FilesModified, d.Groups[i].Commits = clipList(c.Files), clipList(c.Commits)
	}
	for _, m := range s.mailbox.messages {
		d.Messages = append(d.Messages, m.with(changes[m.GroupID]))
	}
	return d
}

func (s *Session) orchestrator() team.OrchestratorState {
	o := team.OrchestratorState{
		SessionID: s.start.Session, Iteration: s.history.starts, TotalSpawns: s.history.starts,
		DecisionsLog: slices.Clone(s.history.log), Status: team.SessionRunning,
		StartTime: team.At(s.history.began), LastUpdate: team.At(s.history.updated),
	}
	for _, r := range s.schedule.running {
		agent := team.ActiveAgent{AgentType: r.Role, GroupID: r.Group, SpawnedAt: team.At(r.at)}
		if r.Role == team.PM {
			agent.GroupID = ""
		}
		if r.Role != "" {
			o.ActiveAgents = append(o.ActiveAgents, agent)
		}
	}
	switch {
	case s.ending.finished:
		o.Status, o.EndTime = team.SessionCompleted, team.At(s.ending.at)
	case s.ending.problem != nil:
		o.Status, o.EndTime = team.SessionError, team.At(s.ending.at)
	}

	before := team.Initialization
	switch {
	case s.ending.finished:
		before = team.Completed
	case s.history.starts > 0:
		before = team.PMPlanning
	}
	pm := team.PMState{TaskGroups: s.groups.plan.groups, ExecutionPhases: s.groups.phases()}
	o.CurrentPhase = team.CurrentPhase(pm, s.groups.statuses(), before)
	return o
}
