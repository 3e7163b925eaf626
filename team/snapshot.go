package team

import (
	"cmp"
	"context"
	"encoding/json"

	"gaffer/statefile/jsontree"
)

// Snapshot is where a session stands: what its documents say, and what follows
// from it.
type Snapshot struct {
	PM           PMState           // the project manager's memory
	Groups       Groups            // the groups that have begun, then the planned ones
	Orchestrator OrchestratorState // what was started and decided
	Phase        Phase             // derived from the groups
	Progress     Progress          // derived from the groups
	Unread       []Message         // oldest first
}

// SessionID returns the id of the session.
func (s Snapshot) SessionID() string {
	if s.PM.SessionID != "" {
		return s.PM.SessionID
	}
	return s.Orchestrator.SessionID
}

// ByStatus returns the groups by their status.
func (s Snapshot) ByStatus() map[GroupStatus][]Group {
	by := map[GroupStatus][]Group{}
	for _, g := range s.Groups {
		by[g.Status] = append(by[g.Status], g)
	}
	return by
}

// Resume loads the session and says where it stands. A document that is not
// there counts as empty, unless none of the state files is: that is a
// [*NoSessionError]. One that cannot be read is an error.
func (s *Store) Resume(ctx context.Context) (Snapshot, error) {
	if err := s.settled(ctx); err != nil {
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
		PM: st.pm, Groups: known(st.pm, st.groups), Orchestrator: st.orchestrator,
		Phase:    CurrentPhase(st.pm, st.groups, st.orchestrator.CurrentPhase),
		Progress: Measure(st.pm, st.groups), Unread: messages,
	}, nil
}

// state is the content of the three state files.
type state struct {
	pm           PMState
	groups       Groups
	orchestrator OrchestratorState

	unfit error // why one of them cannot be written to
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
		st.unfit = cmp.Or(st.unfit, s.checkThere(part.doc, kind), s.checkForm(part.doc, kind))
	}
	if !there {
		return st, &NoSessionError{Root: s.root}
	}
	return st, nil
}

// writable is loadState for a change of several documents: none is changed if
// one of them cannot be.
func (s *Store) writable() (state, error) {
	st, err := s.loadState()
	return st, cmp.Or(err, st.unfit)
}

// checkThere refuses to go on without a document: a new one would claim that
// nothing was done yet.
func (s *Store) checkThere(d Document, kind jsontree.Kind) error {
	if kind != jsontree.Missing {
		return nil
	}
	return &NoSessionError{Root: s.root, Missing: d}
}

// MarshalJSON writes a snapshot for programs: the documents' own words.
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

// stuck writes the groups with a counter past its limit, by their ids.
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
