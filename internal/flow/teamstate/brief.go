package teamstate

import (
	"slices"

	"gaffer/team"
)

// Brief returns the information that the role of a step needs.
func (s *Session) Brief(step Step, w World) Brief {
	b := Brief{
		Step: step, Session: s.start.Session, Requirements: s.start.Requirements, Items: slices.Clone(s.items),
		Mode: s.plan.mode, Developers: s.start.Developers, Tests: slices.Clone(s.start.Tests),
		Words: Words(step.Purpose),
	}
	if b.Mode == team.Unplanned {
		b.Mode = s.start.Mode
	}
	if step.Role == team.PM {
		s.briefManager(&b, w)
	}
	if g := s.group(step.Group); g != nil {
		s.briefGroup(&b, g, w)
	}
	return b
}

func (s *Session) briefManager(b *Brief, w World) {
	p := s.Picture(w)
	b.Groups, b.Tasks, b.Plan, b.Phases = p.Groups, p.PM.AllTasks, p.PM.TaskGroups, p.PM.ExecutionPhases
	b.Missing = s.manager.missing
	if s.manager.asked != "" {
		b.Missing = "You asked the user: " + s.manager.asked + "\n" + noReply
	}
	if b.Step.Again != "" {
		b.Unusable = s.manager.unusable
	}
}

func (s *Session) briefGroup(b *Brief, g *group, w World) {
	c := g.withFound(w.Changes[g.id])
	b.Change = Change{Files: lines(c.Files), Commits: lines(c.Commits)}
	b.Group, b.Status = s.plan.group(g.id), g.status
	b.Group.Status, b.Group.BranchName = s.progress(g.id), s.Branch(g.id)
	b.Status.FilesModified, b.Status.Commits = b.Change.Files, b.Change.Commits
	b.Work, b.Guidance = g.work, newest(g.advice)
	b.Issues, b.Unmerged = slices.Clone(g.issues), g.unmerged
	b.Escalated = b.Step.Purpose == Work && g.escalated
	if b.Step.Again != "" && b.Step.Role != team.PM {
		b.Unusable = g.unusable
	}
	b.Messages = s.mail(g.id, b.Step.Role, w)
	if b.Step.Role != team.PM {
		b.Tasks = s.plan.tasksOf(g.id)
	}
	if b.Step.Role == team.Developer || b.Step.Purpose == Split {
		b.Feedback = newest(g.feedback)
	}
}
