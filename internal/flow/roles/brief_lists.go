package roles

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gaffer/internal/flow/teamstate"
	"gaffer/team"
)

const (
	none    = "None."
	nothing = "Nothing yet."
)

func mode(b teamstate.Brief) string {
	switch {
	case b.Mode == team.Unplanned:
		return "yours to choose"
	case b.Step.Purpose == teamstate.Plan:
		return inlineCode(string(b.Mode)) + ", as the user has chosen; the plan must use it"
	}
	return inlineCode(string(b.Mode))
}

func branch(b teamstate.Brief) string {
	return inlineCode(cmp.Or(b.Group.BranchName, b.Status.BranchName))
}

func words(b teamstate.Brief) string {
	const most = 12
	var list []string
	for _, w := range b.Words[:min(len(b.Words), most)] {
		list = append(list, inlineCode(string(w)))
	}
	if last := len(list) - 1; last > 0 {
		return strings.Join(list[:last], ", ") + " or " + list[last]
	}
	return strings.Join(list, "")
}

// requirementItems returns the session's requirements as a list, each with its id and text. If
// there is only one requirement, the list has only its id, because the prompt's variable
// REQUIREMENTS already has its text.
func requirementItems(b teamstate.Brief, maxBytes int) string {
	if len(b.Items) == 1 {
		return fencedText(labelLine(b.Items[0].ID, "all of the requirements"), maxBytes, none)
	}
	list := make([]string, len(b.Items))
	for i, item := range b.Items {
		list[i] = labelled(item.ID, item.Text)
	}
	return fencedList(list, maxBytes, none)
}

// taskList returns a list of all tasks in the brief.
func taskList(b teamstate.Brief, maxBytes int) string {
	list := make([]string, len(b.Tasks))
	for i, t := range b.Tasks {
		list[i] = labelled(fmt.Sprintf("%s [group %s, %s]", t.ID, oneLine(t.GroupID), oneLine(string(t.Status))), t.Description)
	}
	return fencedList(list, maxBytes, none)
}

// groupTaskList returns a list of the tasks of the group on which the agent works. The brief b
// usually has only these tasks. But a brief for the project manager has the tasks of all groups, so
// groupTaskList leaves out those of other groups.
func groupTaskList(b teamstate.Brief, maxBytes int) string {
	var list []string
	for _, t := range b.Tasks {
		if b.Step.Role != team.PM || t.GroupID == b.Group.ID || slices.Contains(b.Group.Tasks, t.ID) {
			list = append(list, labelled(t.ID, t.Description))
		}
	}
	return fencedList(list, maxBytes, none)
}

// changeList returns a list of the files that a group has changed, and a list of the group's
// commits. A group is a set of tasks with a common branch. Each list may use half of maxBytes.
func changeList(b teamstate.Brief, maxBytes int) string {
	var parts []string
	for _, part := range []struct {
		name string
		list []string
	}{{"files", b.Change.Files}, {"commits, the oldest first", b.Change.Commits}} {
		if len(part.list) == 0 {
			continue
		}
		lines := make([]string, len(part.list))
		for i, line := range part.list {
			lines[i] = "  " + oneLine(line)
		}
		parts = append(parts, fmt.Sprintf("%s (%d):\n%s", part.name, len(lines), joinShortened(lines, maxBytes/2-minItem/4)))
	}
	return fencedText(strings.Join(parts, "\n"), maxBytes, nothing)
}

func blockers(b teamstate.Brief, most int) string {
	var list []string
	for _, blocker := range b.Status.Blockers {
		if !blocker.Resolved {
			list = append(list, labelLine("blocker", blocker.Description))
		}
	}
	return section("What keeps the group from going on", fencedList(list, most, ""))
}

// historyList returns a list of what happened to a group in earlier steps. The prompt needs it,
// because gaffer starts a new agent for each step, which does not remember the earlier ones. The
// tech lead's decisions are listed with the latest first.
func historyList(b teamstate.Brief, maxBytes int) string {
	g := b.Status
	list := []string{starts(g), tests(g.TestResults), labelLine("gaffer could not merge what was approved", b.Unmerged)}
	for _, f := range slices.Backward(g.TechLeadFeedback) {
		list = append(list, labelLine(fmt.Sprintf("the tech lead, time %d, %s", f.Iteration, oneLine(string(f.Decision))), f.Feedback))
	}
	for _, blocker := range g.Blockers {
		if blocker.Resolved {
			list = append(list, labelLine("a blocker that was removed", blocker.Description), labelLine("  by", blocker.Resolution))
		}
	}
	return section("What happened to the group before", fencedList(list, maxBytes, ""))
}

func starts(g team.Group) string {
	n := g.Iterations
	if n == (team.Iterations{}) {
		return ""
	}
	return fmt.Sprintf("started so far: developer %d, QA %d, tech lead %d", n.Developer, n.QA, n.TechLead)
}

func tests(r *team.TestResults) string {
	if r == nil {
		return ""
	}
	var list []string
	for _, kind := range []struct {
		name  string
		count *team.TestCount
	}{{"unit", r.UnitTests}, {"integration", r.IntegrationTests}, {"contract", r.ContractTests}, {"end to end", r.E2ETests}} {
		if kind.count != nil {
			list = append(list, fmt.Sprintf("%s %d of %d", kind.name, kind.count.Passed, kind.count.Total))
		}
	}
	return labelLine("tests passed", strings.Join(list, ", "))
}

// groupList returns a list of the groups into which the project manager has divided the tasks:
// first the groups that have a status, then the groups that exist only in the plan.
func groupList(b teamstate.Brief, maxBytes int) string {
	list := make([]string, 0, len(b.Groups))
	for _, g := range b.Groups {
		list = append(list, group(g, planned(b.Plan, g.ID)))
	}
	for _, p := range b.Plan {
		if !slices.ContainsFunc(b.Groups, func(g team.Group) bool { return g.ID == p.ID }) {
			list = append(list, group(team.Group{ID: p.ID, Name: p.Name, Status: team.Pending}, p))
		}
	}
	return fencedList(list, maxBytes, none)
}

func planned(plan []team.TaskGroup, id string) team.TaskGroup {
	if i := slices.IndexFunc(plan, func(p team.TaskGroup) bool { return p.ID == id }); i >= 0 {
		return plan[i]
	}
	return team.TaskGroup{}
}

func group(g team.Group, p team.TaskGroup) string {
	last := ""
	if n := len(g.TechLeadFeedback); n > 0 {
		last = string(g.TechLeadFeedback[n-1].Decision) + ", " + g.TechLeadFeedback[n-1].Feedback
	}
	return joinLines(
		fmt.Sprintf("group %s (%s): %s", oneLine(g.ID), oneLine(g.Name), oneLine(string(g.Status))),
		labelLine("  tasks", commas(p.Tasks)), labelLine("  depends on", commas(p.DependsOn)),
		labelLine("  files planned", commas(p.FilesAffected)), labelLine("  files changed", commas(g.FilesModified)),
		indented(starts(g)), indented(tests(g.TestResults)), labelLine("  the tech lead's last word", last),
	)
}

func phases(b teamstate.Brief, most int) string {
	list := make([]string, len(b.Phases))
	for i, p := range b.Phases {
		list[i] = fmt.Sprintf("phase %s (%s): %s", strconv.Itoa(p.PhaseNumber), oneLine(string(p.Status)), commas(p.GroupIDs))
	}
	return fencedList(list, most, none)
}

func again(b teamstate.Brief, most int) string {
	wrong := fencedText(b.Step.Again, most/4, "")
	if wrong == "" {
		return ""
	}
	if said := fencedText(b.Unusable, most-most/4, ""); said != "" {
		wrong += "\n\nThat answer was:\n\n" + said
	}
	return section("Only the answer is wanted now", `You were started for this before, and your answer could not be used:

`+wrong+`

Only the answer is wanted now, without this mistake. What you did in the project is still there: do not do it again, but
look at it as far as you need to answer truthfully. Give the answer as a whole, exactly in the form described above.`)
}
