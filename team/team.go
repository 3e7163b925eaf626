// Package team keeps the team protocol: a project manager plans groups of
// tasks, developers work on them, a QA expert tests and a tech lead reviews.
// Three state files and three message files below one folder are the memory of
// agents that forget everything between two starts.
//
// Decisions are pure: [Advance] moves a group, [Route] says who is next,
// [ParseAnswer] reads what an agent said. A [Store] holds the folder and writes
// what was decided, each document in place, so that what other programs put
// there stays. It is told one move at a time, or by [Store.Record] all that the
// documents are to say.
package team

// Role is who does something. It is called agent_type and current_agent in the
// documents.
type Role string

// The roles. None is the current agent of a group that no agent works on. Gaffer
// is the program itself, which merges what was approved; it is never an agent.
const (
	PM        Role = "pm"
	Developer Role = "developer"
	QAExpert  Role = "qa_expert"
	TechLead  Role = "tech_lead"
	None      Role = "none"
	Gaffer    Role = "gaffer"
)

// GroupStatus is where a group stands. A word that is not listed here is kept
// and shown as it is, and never counts as complete.
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

// GroupStatuses lists the statuses in the order in which a group passes them.
func GroupStatuses() []GroupStatus {
	return []GroupStatus{
		Pending, DevWorking, DevBlocked, WaitingQA, QATesting,
		QAFailed, WaitingReview, TechReview, ChangesRequested, Complete,
	}
}

// Work is the status in the project manager's words.
func (s GroupStatus) Work() WorkStatus {
	switch s {
	case Pending:
		return WorkPending
	case Complete:
		return WorkComplete
	}
	return WorkInProgress
}

// WorkStatus is where a task, a planned group or an execution phase stands in
// the project manager's memory.
type WorkStatus string

// The statuses in the project manager's memory. Only a group is ever assigned.
const (
	WorkPending    WorkStatus = "pending"
	WorkAssigned   WorkStatus = "assigned"
	WorkInProgress WorkStatus = "in_progress"
	WorkComplete   WorkStatus = "complete"
)

// Phase is the stage that the whole session is in.
type Phase string

// The phases, in their order.
const (
	Initialization   Phase = "initialization"
	PMPlanning       Phase = "pm_planning"
	DeveloperWorking Phase = "developer_working"
	PhaseQATesting   Phase = "qa_testing"
	PhaseTechReview  Phase = "tech_review"
	PMFinalCheck     Phase = "pm_final_check"
	Completed        Phase = "completed"
)

// SessionStatus says whether a session is still going on.
type SessionStatus string

// The statuses of a session.
const (
	SessionRunning   SessionStatus = "running"
	SessionCompleted SessionStatus = "completed"
	SessionError     SessionStatus = "error"
)

// Mode is how the project manager decided to work. It is null in the document
// before planning.
type Mode string

// The modes.
const (
	Unplanned Mode = ""
	Simple    Mode = "simple"
	Parallel  Mode = "parallel"
)

// MarshalJSON writes a mode that is not decided yet as null.
func (m Mode) MarshalJSON() ([]byte, error) {
	if m == Unplanned {
		return []byte("null"), nil
	}
	return marshal(string(m))
}

// MaxDevelopers is how many developers may run at the same time.
const MaxDevelopers = 4
