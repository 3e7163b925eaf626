package team

import (
	"cmp"
	"context"
	"encoding/json"

	"gaffer/statefile/jsontree"
)

// Snapshot is the state of a session: the content of its documents, and values that are computed
// from this content.
type Snapshot struct {
	PM           PMState           // the project manager's memory
	Groups       Groups            // the groups of tasks in group_status.json, then those that are only in the plan
	Orchestrator OrchestratorState // started agents and decisions
	Phase        Phase             // phase of the session, computed from the statuses of the groups
	Progress     Progress          // computed from the statuses of the groups
	Unread       []Message         // messages that were not read yet, oldest first
}

// SessionID returns the id of the session.
func (s Snapshot) SessionID() string {
	if s.PM.SessionID != "" {
		return s.PM.SessionID
	}
	return s.Orchestrator.SessionID
}

// ByStatus maps each status to the groups that have this status.
func (s Snapshot) ByStatus() map[GroupStatus][]Group {
	by := map[GroupStatus][]Group{}
	for _, g := range s.Groups {
		by[g.Status] = append(by[g.Status], g)
	}
	return by
}

// Resume loads the session and returns its state. A missing document counts as empty,
// but if all state files are missing, Resume returns a [*NoSessionError]. It returns
// an error for an unreadable document.
func (s *Store) Resume(ctx context.Context) (Snapshot, error) {
	if err := s.finishPending(ctx); err != nil {
		return Snapshot{}, err
	}
	st, err := s.loadState()
	if err != nil {
		return Snapshot{}, err
	}
	messages, err := s.Messages(ctx, Filter{Unread: true})
	if err != nil {
		return Snapshot{}, err
	}
	return Snapshot{
		PM: st.pm, Groups: allGroups(st.pm, st.groups), Orchestrator: st.orchestrator,
		Phase:    CurrentPhase(st.pm, st.groups, st.orchestrator.CurrentPhase),
		Progress: Measure(st.pm, st.groups), Unread: messages,
	}, nil
}

// state is the content of the three state files.
type state struct {
	pm           PMState
	groups       Groups
	orchestrator OrchestratorState

	unfit error // why one of the documents is missing or cannot be edited; nil if all of them can be edited
}

func (s *Store) loadState() (st state, err error) {
	there := false
	for _, part := range []struct {
		doc  Document
		into any
	}{{PMStateDoc, &st.pm}, {GroupStatusDoc, &st.groups}, {OrchestratorDoc, &st.orchestrator}} {
		kind, err := s.load(part.doc, part.into)
		if err != nil {
			return st, err
		}
		there = there || kind != jsontree.Missing
		st.unfit = cmp.Or(st.unfit, s.checkPresent(part.doc, kind), s.checkForm(part.doc, kind))
	}
	if !there {
		return st, &NoSessionError{Root: s.root}
	}
	return st, nil
}

// writable returns the same state as loadState. It also returns an error if one of the documents is
// missing or cannot be edited.
func (s *Store) writable() (state, error) {
	st, err := s.loadState()
	return st, cmp.Or(err, st.unfit)
}

// checkPresent returns an error if the document d is missing. No update may create an empty
// document instead, because that would say that nothing was done yet.
func (s *Store) checkPresent(d Document, kind jsontree.Kind) error {
	if kind != jsontree.Missing {
		return nil
	}
	return &NoSessionError{Root: s.root, Missing: d}
}

// MarshalJSON writes a snapshot with the member names that the documents use.
func (s Snapshot) MarshalJSON() ([]byte, error) {
	unread := List[Message](s.Unread)
	var b struct {
		SessionID    string            `json:"session_id"`
		Mode         Mode              `json:"mode"`
		Status       SessionStatus     `json:"status"`
		Phase        Phase             `json:"current_phase"`
		Iteration    int               `json:"iteration"`
		TotalSpawns  int               `json:"total_spawns"`
		Percentage   float64           `json:"completion_percentage"`
		Completed    List[string]      `json:"completed_groups"`
		InProgress   List[string]      `json:"in_progress_groups"`
		Pending      List[string]      `json:"pending_groups"`
		Free         int               `json:"free_developers"`
		ActiveAgents List[ActiveAgent] `json:"active_agents"`
		Groups       Groups            `json:"groups"`
		Stuck        json.RawMessage   `json:"stuck"`
		Unread       List[Message]     `json:"unread_messages"`
	}
	o, p := s.Orchestrator, s.Progress
	b.SessionID, b.Mode, b.Status, b.Phase = s.SessionID(), s.PM.Mode, o.Status, s.Phase
	b.Iteration, b.TotalSpawns, b.Percentage = o.Iteration, o.TotalSpawns, p.Percentage
	b.Completed, b.InProgress, b.Pending = p.Completed, p.InProgress, p.Pending
	b.Free, b.ActiveAgents, b.Groups, b.Unread = FreeDevelopers(o.ActiveAgents), o.ActiveAgents, s.Groups, unread
	var err error
	if b.Stuck, err = s.stuck(); err != nil {
		return nil, err
	}
	return marshal(b)
}

// stuck returns a JSON object with the groups on which a role was started too often. The key is the
// group's id. The value lists the counters of the group that exceed their limits.
func (s Snapshot) stuck() ([]byte, error) {
	var ids []string
	found := map[string][]Escalation{}
	for _, g := range s.Groups {
		if e := Stuck(g); len(e) > 0 {
			ids, found[g.ID] = append(ids, g.ID), e
		}
	}
	return marshalObject(len(ids), func(i int) (string, any) { return ids[i], found[ids[i]] })
}
