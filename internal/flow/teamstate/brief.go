package teamstate

import (
	"slices"

	"gaffer/team"
)

// Brief returns the information that the agent of a step needs for its prompt.
func (s *Session) Brief(step Step, changes Changes) Brief {
	b := Brief{
		Step: step, Session: s.start.Session, Requirements: s.start.Requirements, Items: slices.Clone(s.items),
		Mode: s.groups.plan.mode, Developers: s.start.Developers, Tests: slices.Clone(s.start.Tests),
		Words: Words(step.Purpose),
	}
	if b.Mode == team.Unplanned {
		b.Mode = s.start.Mode
	}
	if step.Role == team.PM {
		d := s.Contents(changes)
		b.Groups, b.Tasks, b.Plan, b.Phases = d.Groups, d.PM.AllTasks, d.PM.TaskGroups, d.PM.ExecutionPhases
		b.Missing = s.manager.missing
		if s.manager.asked != "" {
			b.Missing = "You asked the user: " + s.manager.asked + "\n" + noReply
		}
		if step.Again != "" {
			b.Unusable = s.manager.unusable
		}
	}
	g := s.groups.find(step.Group)
	if g == nil {
		return b
	}
	c := g.withFound(changes[g.id])
	b.Change = Change{Files: clipList(c.Files), Commits: clipList(c.Commits)}
	b.Group, b.Status = s.groups.plan.group(g.id), g.status
	b.Group.Status, b.Group.BranchName = s.groups.progress(g.id), s.start.branch(g.id)
	b.Status.FilesModified, b.Status.Commits = b.Change.Files, b.Change.Commits
	b.Work, b.Guidance = g.work, joinNewest(g.advice)
	b.Issues, b.Unmerged = slices.Clone(g.issues), g.unmerged
	b.Escalated = step.Purpose == Work && g.escalated
	b.Messages = s.mailbox.messagesTo(step.Role, g.id, changes[g.id])
	if step.Role != team.PM {
		b.Tasks = s.groups.plan.tasksOf(g.id)
		if step.Again != "" {
			b.Unusable = g.unusable
		}
	}
	if step.Role == team.Developer || step.Purpose == Split {
		b.Feedback = joinNewest(g.feedback)
	}
	return b
}
