package team

import "gaffer/statefile/jsontree"

// OrchestratorState is the content of orchestrator_state.json: which agents the orchestrator has
// started, its decisions, and the progress of the session.
type OrchestratorState struct {
	SessionID    string            `json:"session_id"`
	CurrentPhase Phase             `json:"current_phase"`
	ActiveAgents List[ActiveAgent] `json:"active_agents"`
	Iteration    int               `json:"iteration"`    // how many agents were started
	TotalSpawns  int               `json:"total_spawns"` // the same number as Iteration; the protocol has both
	DecisionsLog List[LogEntry]    `json:"decisions_log"`
	Status       SessionStatus     `json:"status"`
	StartTime    Time              `json:"start_time"`
	EndTime      Time              `json:"end_time"`
	LastUpdate   Time              `json:"last_update"`
}

// DecodeJSON reads the content of the document. It also accepts a counter that is written with a
// decimal point, such as 5.0.
func (o *OrchestratorState) DecodeJSON(v jsontree.Value) error {
	type plain OrchestratorState
	if err := decodeObject(v, (*plain)(o)); err != nil {
		return err
	}
	return decodeCounts(v, map[string]*int{"iteration": &o.Iteration, "total_spawns": &o.TotalSpawns})
}

// ActiveAgent is an agent that was started and has not answered yet. GroupID is the id of the group
// of tasks that the agent works on. It is empty for the project manager.
type ActiveAgent struct {
	AgentType Role   `json:"agent_type"`
	GroupID   string `json:"group_id,omitempty"`
	SpawnedAt Time   `json:"spawned_at"`
}

// LogEntry is one decision of the orchestrator, for example to start an agent.
type LogEntry struct {
	Iteration int    `json:"iteration"`
	Decision  string `json:"decision"`
	Reasoning string `json:"reasoning"`
	Timestamp Time   `json:"timestamp,omitzero"`
}
