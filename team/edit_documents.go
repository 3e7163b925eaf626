package team

import (
	"reflect"
	"slices"

	"gaffer/statefile/jsontree"
)

// addActiveAgent adds an agent to the list of active agents in n, the content of
// orchestrator_state.json. It also increments the counters of started agents, and logs the decision
// to start this agent, with the given reasoning.
func addActiveAgent(n *jsontree.Node, agent ActiveAgent, reasoning string) {
	n.Array("active_agents").Append(agent)
	increment(n, "iteration")
	increment(n, "total_spawns")
	iteration, _ := intOf(n.Get("iteration"))
	decision := "spawn_" + string(agent.AgentType)
	if agent.GroupID != "" {
		decision += "_group_" + agent.GroupID
	}
	n.Array("decisions_log").Append(LogEntry{iteration, decision, reasoning, agent.SpawnedAt})
}

// removeActiveAgent removes an agent from the list of active agents in n, the content of
// orchestrator_state.json. The parameter by is the agent's role, and group is the id of its group
// of tasks.
func removeActiveAgent(n *jsontree.Node, by Role, group string) {
	if n.Get("active_agents").Absent() {
		return
	}
	agents := n.Array("active_agents")
	for i, a := range agents.Items() {
		if a.Get("agent_type").Text() == string(by) && a.Get("group_id").Text() == group {
			agents.Remove(i)
			return
		}
	}
}

// editGroups edits n, the content of group_status.json: it changes the groups from previous to
// want.
func editGroups(n *jsontree.Node, previous, want Groups) {
	before, after := previous.byID(), want.byID()
	for _, g := range previous {
		if after[g.ID] == nil {
			n.Delete(g.ID)
		}
	}
	for _, g := range want {
		switch old := before[g.ID]; {
		case old == nil:
			addGroup(n, g)
		case !reflect.DeepEqual(*old, g):
			editGroup(n.Object(g.ID), *old, g)
		}
	}
}

// addGroup adds the group g to n, the content of group_status.json. If n already has an object
// whose key is g's id, this object is a note that another program has written. In this case,
// addGroup sets the members of the note that editGroup can set, and keeps its other members.
func addGroup(n *jsontree.Node, g Group) {
	note := n.Child(g.ID)
	if note == nil || note.Kind() != jsontree.Object {
		n.Set(g.ID, g)
		return
	}
	var old Group
	jsontree.Decode(note.Value(), &old)
	// Clear these two lists, so that editGroup appends all feedback and all blockers of g to the
	// lists that the note already has.
	old.TechLeadFeedback, old.Blockers = nil, nil
	editGroup(note, old, g)
}

// editGroup changes those fields of n that differ between previous and want. n is a group in
// group_status.json. editGroup edits only the fields that [Advance] can change; the name and the
// branch of a group, for example, stay unchanged.
func editGroup(n *jsontree.Node, previous, want Group) {
	set(n, "status", previous.Status, want.Status)
	set(n, "current_agent", previous.CurrentAgent, want.CurrentAgent)
	if previous.Iterations != want.Iterations {
		counters := n.Object("iterations")
		set(counters, "developer", previous.Iterations.Developer, want.Iterations.Developer)
		set(counters, "qa", previous.Iterations.QA, want.Iterations.QA)
		set(counters, "tech_lead", previous.Iterations.TechLead, want.Iterations.TechLead)
	}
	set(n, "start_time", previous.StartTime, want.StartTime)
	set(n, "end_time", previous.EndTime, want.EndTime)
	if want.DurationMinutes != nil && !reflect.DeepEqual(previous.DurationMinutes, want.DurationMinutes) {
		n.Set("duration_minutes", *want.DurationMinutes)
	}
	for _, f := range want.TechLeadFeedback[len(previous.TechLeadFeedback):] {
		n.Array("tech_lead_feedback").Append(f)
	}
	editBlockers(n, previous.Blockers, want.Blockers)
	set(n, "last_update", previous.LastUpdate, want.LastUpdate)
}

func editBlockers(n *jsontree.Node, was, now List[Blocker]) {
	if slices.Equal(was, now) {
		return
	}
	blockers := n.Array("blockers")
	for i, b := range blockers.Items() {
		if i < len(was) && b.Kind() == jsontree.Object {
			set(b, "resolved", was[i].Resolved, now[i].Resolved)
			set(b, "resolution", was[i].Resolution, now[i].Resolution)
		}
	}
	for _, b := range now[len(was):] {
		blockers.Append(b)
	}
}

// set sets the member called name of the object n to want. If previous and want are equal, set does
// nothing, so that the member keeps its formatting.
func set[T comparable](n *jsontree.Node, name string, previous, want T) {
	if previous != want {
		n.Set(name, want)
	}
}

// editPM sets the values in pm_state.json that are computed from the statuses of the groups, such
// as the percentage of complete groups.
func editPM(n *jsontree.Node, groups Groups) {
	var pm PMState
	jsontree.Decode(n.Value(), &pm)
	p, by := Measure(pm, groups), groups.byID()
	setList(n, "completed_groups", pm.CompletedGroups, p.Completed)
	setList(n, "in_progress_groups", pm.InProgressGroups, p.InProgress)
	setList(n, "pending_groups", pm.PendingGroups, p.Pending)
	set(n, "completion_percentage", pm.CompletionPercentage, p.Percentage)
	eachPart(n.Child("task_groups"), func(key string, group *jsontree.Node) {
		id := group.Get("id").Text()
		if id == "" {
			id = key
		}
		followGroup(group, by[id])
	})
	eachPart(n.Child("all_tasks"), func(_ string, task *jsontree.Node) {
		followGroup(task, by[task.Get("group_id").Text()])
	})
	eachPart(n.Child("execution_phases"), func(_ string, phase *jsontree.Node) {
		var p ExecutionPhase
		if p.DecodeJSON(phase.Value()) == nil && p.Status == WorkInProgress && allComplete(by, p.GroupIDs) {
			phase.Set("status", WorkComplete)
		}
	})
}

func setList(n *jsontree.Node, name string, was, now List[string]) {
	if !slices.Equal(was, now) {
		n.Set(name, now)
	}
}

// eachPart calls the function visit for each object in the list n, with an empty key. Some programs
// write a map instead of a list. In this case, eachPart calls visit for each object in the map,
// with its key.
func eachPart(n *jsontree.Node, visit func(key string, part *jsontree.Node)) {
	if n == nil {
		return
	}
	for _, item := range n.Items() {
		if item.Kind() == jsontree.Object {
			visit("", item)
		}
	}
	for key, member := range n.Members() {
		if member.Kind() == jsontree.Object {
			visit(key, member)
		}
	}
}

// followGroup updates the status of n to match the status of the group g. n is an object in
// pm_state.json: the planned group with the id of g, or one of the tasks of g. followGroup does
// nothing if g is nil or n has no status. It keeps a status that the protocol does not define.
// While g is pending, it also keeps the status "assigned".
func followGroup(n *jsontree.Node, g *Group) {
	was := WorkStatus(n.Get("status").Text())
	if g == nil || !slices.Contains([]WorkStatus{WorkPending, WorkAssigned, WorkInProgress, WorkComplete}, was) {
		return
	}
	now := WorkInProgress
	switch g.Status {
	case Pending:
		now = WorkPending
		if was == WorkAssigned {
			return
		}
	case Complete:
		now = WorkComplete
	}
	set(n, "status", was, now)
}

func allComplete(groups map[string]*Group, ids []string) bool {
	return len(ids) > 0 && !slices.ContainsFunc(ids, func(id string) bool {
		g := groups[id]
		return g == nil || g.Status != Complete
	})
}
