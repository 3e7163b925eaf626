// Package team implements the team protocol. A team consists of agents with different roles:
// a project manager plans groups of tasks, developers work on them, a QA expert tests and a
// tech lead reviews. Three state files and three message files in one folder are the memory
// of the agents, which remember nothing between two starts.
//
// Decisions are pure functions: [Advance] changes the status of a group, [Route]
// returns which role is next, [ParseAnswer] parses an agent's answer. A [Store] writes
// the results to the folder. It edits each document in place and keeps what other
// programs have added. Most of its methods write one change; [Store.Record] writes the
// complete content of all documents.
package team

// Role is a role in the team, such as developer. The documents call it agent_type and
// current_agent.
type Role string

// The roles. None means that no agent works on a group. Gaffer means this program, which merges
// approved work; no agent has this role.
const (
	PM        Role = "pm"
	Developer Role = "developer"
	QAExpert  Role = "qa_expert"
	TechLead  Role = "tech_lead"
	None      Role = "none"
	Gaffer    Role = "gaffer"
)

// GroupStatus is the status of a group. gaffer keeps an unknown status, shows it as it is, and
// never counts it as complete.
type GroupStatus string

// The statuses of a group.
const (
	Pending          GroupStatus = "pending"
	DevWorking       GroupStatus = "dev_working"
	DevBlocked       GroupStatus = "dev_blocked"
	WaitingQA        GroupStatus = "waiting_qa"
	QATesting        GroupStatus = "qa_testing"
	QAFailed         GroupStatus = "qa_failed"
	WaitingReview    GroupStatus = "waiting_review"
	TechReview       GroupStatus = "tech_review"
	ChangesRequested GroupStatus = "changes_requested"
	Complete         GroupStatus = "complete"
)

// GroupStatuses lists all statuses of a group, roughly in the order in which a group passes through
// them.
func GroupStatuses() []GroupStatus {
	return []GroupStatus{
		Pending, DevWorking, DevBlocked, WaitingQA, QATesting,
		QAFailed, WaitingReview, TechReview, ChangesRequested, Complete,
	}
}

// Work converts a status of group_status.json to the corresponding status of pm_state.json.
func (s GroupStatus) Work() WorkStatus {
	switch s {
	case Pending:
		return WorkPending
	case Complete:
		return WorkComplete
	}
	return WorkInProgress
}

// WorkStatus is the status of a task, a planned group or an execution phase in pm_state.json.
type WorkStatus string

// The statuses in pm_state.json. Only a planned group can have the status assigned.
const (
	WorkPending    WorkStatus = "pending"
	WorkAssigned   WorkStatus = "assigned"
	WorkInProgress WorkStatus = "in_progress"
	WorkComplete   WorkStatus = "complete"
)

// Phase is the phase of the whole session.
type Phase string

// The phases of a session, in order.
const (
	Initialization   Phase = "initialization"
	PMPlanning       Phase = "pm_planning"
	DeveloperWorking Phase = "developer_working"
	PhaseQATesting   Phase = "qa_testing"
	PhaseTechReview  Phase = "tech_review"
	PMFinalCheck     Phase = "pm_final_check"
	Completed        Phase = "completed"
)

// SessionStatus is the status of a session.
type SessionStatus string

// The statuses of a session.
const (
	SessionRunning   SessionStatus = "running"
	SessionCompleted SessionStatus = "completed"
	SessionError     SessionStatus = "error"
)

// Mode is how the team works: simple with one group, or parallel with any number of groups. The
// project manager chooses the mode. Until then, the mode is null in pm_state.json.
type Mode string

// The modes of a team.
const (
	Unplanned Mode = ""
	Simple    Mode = "simple"
	Parallel  Mode = "parallel"
)

// MarshalJSON writes the mode as a string, or as null if it is not chosen yet.
func (m Mode) MarshalJSON() ([]byte, error) {
	if m == Unplanned {
		return []byte("null"), nil
	}
	return marshal(string(m))
}

// MaxDevelopers is the maximum number of developers that run at the same time.
const MaxDevelopers = 4
