package team

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"gaffer/statefile/jsontree"
)

// Start records that an agent was started on a group of tasks. The parameter by is the agent's
// role, and group is the id of the group. For the project manager, group must be empty. If a
// process died during Start, Start can be repeated. Start fails in these cases, among others:
//
//   - The session is not running.
//   - Another agent is active on the group.
//   - The group's status does not allow this role.
//   - The group is pending, and its execution phase of the plan is not open.
//   - The group is pending, and a group that it depends on is not complete.
//   - The agent is a developer, and the maximum number of developers is running.
func (s *Store) Start(ctx context.Context, by Role, group, reasoning string) error {
	return s.exclusive(ctx, func(now time.Time) error {
		st, err := s.writable()
		if err != nil {
			return err
		}
		if by == PM && len(allGroups(st.pm, st.groups)) == 0 {
			st.orchestrator.CurrentPhase = PMPlanning
		}
		return s.write(ctx, now, st, stateChange{
			groups: func(groups Groups) (Groups, error) {
				st.groups = groups
				return st.start(by, group, now)
			},
			orchestrator: func(n *jsontree.Node) {
				// The agent may already be in the list, if a process died during an earlier Start.
				if !st.active(by, group) {
					addActiveAgent(n, ActiveAgent{by, group, At(now)}, reasoning)
				}
			},
		})
	})
}

func (st state) active(by Role, group string) bool {
	return slices.ContainsFunc(st.orchestrator.ActiveAgents, func(a ActiveAgent) bool {
		return a.AgentType == by && a.GroupID == group
	})
}

// workingStatus maps a role to the status that a group has while this role works on it.
var workingStatus = map[Role]GroupStatus{Developer: DevWorking, QAExpert: QATesting, TechLead: TechReview}

// start returns all groups as they are after the start of an agent. The parameter by is the agent's
// role, and id is the id of the group that the agent works on.
func (st state) start(by Role, id string, now time.Time) (Groups, error) {
	if st.orchestrator.Status != SessionRunning {
		return nil, &StartError{id, fmt.Sprintf("the session is %s", shorten(string(st.orchestrator.Status)))}
	}
	if by == PM {
		return st.groups, st.mayManage(id)
	}
	g, err := st.group(id)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(st.checkNoOtherAgent(by, g), st.mayStart(by, g)); err != nil {
		return nil, err
	}
	if at, ok := workingStatus[by]; ok && g.Status == at && !st.active(by, id) {
		// The group already has the status in which this role works, because the tech lead has
		// unblocked it, or because its earlier agent is missing from the list of active agents.
		return st.groups, nil
	}
	next, err := Advance(g, by, Answer{Status: WordStarted}, now)
	if err != nil {
		return nil, err
	}
	return st.groups.with(next), nil
}

// mayManage returns an error if the project manager cannot start. The parameter group must be
// empty, because the project manager works on no group.
func (st state) mayManage(group string) error {
	switch {
	case group != "":
		return &StartError{group, "the project manager works on no group"}
	case st.active(PM, ""):
		return &StartError{"", "the project manager is active"}
	}
	return nil
}

// checkNoOtherAgent returns an error if an agent is already active on the group g. It ignores one
// kind of agent: an agent with the same role that is in the list of active agents, but is not g's
// current agent. Then a process has added the agent to the list and died before it changed g, and
// now the start is repeated.
func (st state) checkNoOtherAgent(role Role, g Group) error {
	for _, a := range st.orchestrator.ActiveAgents {
		if a.GroupID == g.ID && (a.AgentType != role || g.CurrentAgent == role) {
			return &StartError{g.ID, fmt.Sprintf("%s is active on it", shortName(string(a.AgentType)))}
		}
	}
	return nil
}

// mayStart returns an error if the agent is a developer and the maximum number of developers is
// running. If g is pending, it also returns an error if g's execution phase is not open, or if a
// group that g depends on is not complete. The parameter by is the agent's role.
func (st state) mayStart(by Role, g Group) error {
	if by == Developer && !st.active(by, g.ID) && FreeDevelopers(st.orchestrator.ActiveAgents) == 0 {
		return &StartError{g.ID, fmt.Sprintf("%d developers are running, which is the limit", MaxDevelopers)}
	}
	if g.Status != Pending {
		return nil
	}
	if _, open := openGroups(st.pm, allGroups(st.pm, st.groups)).Find(g.ID); !open {
		return &StartError{g.ID, "its phase is not open yet"}
	}
	for _, planned := range st.pm.TaskGroups {
		if planned.ID != g.ID {
			continue
		}
		for _, id := range planned.DependsOn {
			if before, _ := st.groups.Find(id); before.Status != Complete {
				return &StartError{g.ID, fmt.Sprintf("group %s, which it depends on, is not complete", id)}
			}
		}
	}
	return nil
}

// StartError reports that an agent cannot start now. Group is empty for the project manager.
type StartError struct{ Group, Problem string }

func (e *StartError) Error() string {
	if e.Group == "" {
		return "start: " + e.Problem
	}
	return fmt.Sprintf("start on group %s: %s", e.Group, e.Problem)
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *StartError) Conflict() bool { return true }

func (st state) group(id string) (Group, error) {
	g, ok := allGroups(st.pm, st.groups).Find(id)
	if !ok {
		return Group{}, &GroupError{ID: id, Known: allGroups(st.pm, st.groups)}
	}
	return g, nil
}

// with returns a copy of the list gs in which g replaces the group with the same id. If no group
// has this id, g is appended.
func (gs Groups) with(g Group) Groups {
	i := slices.IndexFunc(gs, func(old Group) bool { return old.ID == g.ID })
	if i < 0 {
		return append(slices.Clone(gs), g)
	}
	gs = slices.Clone(gs)
	gs[i] = g
	return gs
}

// GroupError reports that no group has the id ID. Known lists the existing groups.
type GroupError struct {
	ID    string
	Known Groups
}

func (e *GroupError) Error() string {
	var ids []string
	for _, g := range e.Known {
		ids = append(ids, g.ID)
	}
	return fmt.Sprintf("group %q: there is none; the session has %v", e.ID, ids)
}

// NotFound returns true, so that commands exit with code 3 and the server answers with status 404.
func (e *GroupError) NotFound() bool { return true }

// Answer records an agent's answer, removes the agent from the active agents, and returns which
// roles are next. If the agent's role may not use the status word in the answer, Answer returns
// both a routing and an [*UnknownWordError]. In this case, if the agent works on a group, Answer
// records the word ERROR for the group instead of the agent's word. If the session does not allow
// the answer, Answer returns another error and changes nothing.
func (s *Store) Answer(ctx context.Context, by Role, group string, said Answer) (Routing, error) {
	next, unknown := Route(by, said.Status)
	err := s.exclusive(ctx, func(now time.Time) error {
		st, err := s.writable()
		if err != nil {
			return err
		}
		if by == PM {
			return s.answerPM(ctx, now, st, said)
		}
		if unknown != nil {
			said = Answer{Status: WordError, Summary: append([]string{unknown.Error()}, said.Summary...)}
		}
		return s.write(ctx, now, st, stateChange{
			groups: func(groups Groups) (Groups, error) {
				st.groups = groups
				return st.answer(by, group, said, now)
			},
			orchestrator: func(n *jsontree.Node) { removeActiveAgent(n, by, group) },
		})
	})
	if err != nil {
		return Routing{}, err
	}
	return next, unknown
}

// answer returns all groups as they are after an agent's answer, which is the parameter said. The
// parameter by is the agent's role, and id is the id of the agent's group.
func (st state) answer(by Role, id string, said Answer, now time.Time) (Groups, error) {
	g, err := st.group(id)
	if err != nil {
		return nil, err
	}
	moved, err := Advance(g, by, said, now)
	return st.groups.with(moved), err
}

// answerPM records the project manager's answer. The status word COMPLETE ends the session, if
// CheckComplete allows it. Any other word only removes the project manager from the active agents.
// If the answer contains a plan or opens the next execution phase, the caller records that with
// [Store.Plan] or [Store.OpenPhase].
func (s *Store) answerPM(ctx context.Context, now time.Time, st state, answer Answer) error {
	ends := answer.Status == WordComplete
	if ends {
		if err := CheckComplete(PM, answer.Status, st.pm, st.groups); err != nil {
			return err
		}
		st.orchestrator.CurrentPhase = Completed
	}
	return s.write(ctx, now, st, stateChange{orchestrator: func(n *jsontree.Node) {
		removeActiveAgent(n, PM, "")
		if ends {
			n.Set("status", SessionCompleted)
			n.Set("end_time", At(now))
		}
	}})
}

// stateChange is a change of a session's state, in up to three documents.
type stateChange struct {
	// The function groups receives the groups from group_status.json and returns them as they are
	// after the change. It is called several times for one change. It is nil if the change concerns
	// no group.
	groups func(Groups) (Groups, error)
	// orchestrator edits orchestrator_state.json.
	orchestrator func(*jsontree.Node)
	// The function plan edits pm_state.json. It may be nil: the values that are computed from the
	// groups' statuses are updated in any case.
	plan func(*jsontree.Node)
}

// documentEdit is the part of a stateChange that edits one document.
type documentEdit struct {
	doc    Document
	change func(*jsontree.Node) error
}

// write applies the change m to the documents: first to orchestrator_state.json, then to
// group_status.json, then to the values in pm_state.json that are computed from the groups'
// statuses. If the process dies in between, an agent may be listed as active although its group has
// not changed. Repeating the same change corrects that and counts the agent's start only once. If
// the change contains a plan, pm_state.json is written first, because groups without a plan would
// seem to have no dependencies. If m.groups returns an error, or one of the documents cannot be
// edited, write changes nothing.
func (s *Store) write(ctx context.Context, now time.Time, was state, m stateChange) error {
	edits, err := m.edits(was)
	if err != nil {
		return err
	}
	for _, e := range edits {
		if err := s.tryEdit(e, now); err != nil {
			return err
		}
	}
	for _, e := range edits {
		if err := s.update(ctx, e.doc, now, e.change); err != nil {
			return err
		}
	}
	return nil
}

// edits returns the edits of the documents that make the change m. They must be written in the
// returned order. The parameter old is the state before the change.
func (m stateChange) edits(old state) ([]documentEdit, error) {
	if m.groups == nil {
		m.groups = func(groups Groups) (Groups, error) { return groups, nil }
	}
	groups, err := m.groups(old.groups)
	if err != nil {
		return nil, err
	}
	orchestrator := documentEdit{OrchestratorDoc, func(n *jsontree.Node) error {
		m.orchestrator(n)
		set(n, "current_phase", Phase(n.Get("current_phase").Text()), CurrentPhase(old.pm, groups, old.orchestrator.CurrentPhase))
		return nil
	}}
	status := documentEdit{GroupStatusDoc, func(n *jsontree.Node) (err error) {
		var found Groups
		jsontree.Decode(n.Value(), &found)
		if groups, err = m.groups(found); err != nil {
			return err
		}
		editGroups(n, found, groups)
		return nil
	}}
	memory := documentEdit{PMStateDoc, func(n *jsontree.Node) error {
		if m.plan != nil {
			m.plan(n)
		}
		editPM(n, groups)
		return nil
	}}
	if m.plan != nil {
		return []documentEdit{memory, orchestrator, status}, nil
	}
	return []documentEdit{orchestrator, status, memory}, nil
}

// tryEdit applies an edit to a copy of its document in memory, to find errors before anything is
// written.
func (s *Store) tryEdit(e documentEdit, now time.Time) error {
	doc, err := s.files[e.doc].Load()
	if err != nil {
		return err
	}
	return cmp.Or(s.revise(e.doc, doc, now, e.change), doc.Err())
}
