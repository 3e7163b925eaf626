// Package session stores the status of sessions: the agents of each wave, their
// results, and their log files. Programs in other languages read and write the same
// documents. All writers take a lock that is a folder.
//
//	<root>/sessions/<session id>/status.json
//	<root>/sessions/<session id>/<agent id>.log
//	<root>/active-session -> sessions/<session id>
//
// [Store] has the operations. Callers never set values that are derived from the
// agents' statuses: the summary, the statuses of waves, and the end of the session.
// Every write computes them again. A program that stores the state of its session
// elsewhere writes the document with a [Recording]. Only a Recording sets the
// session's status directly.
package session

import "slices"

// State is the status of an agent, a session or a wave.
type State string

// The statuses of the protocol. Pending is only for waves, and Queued only for agents.
const (
	Pending   State = "pending"
	Queued    State = "queued"
	Running   State = "running"
	Complete  State = "complete"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// nextStates lists the statuses that may follow an agent's status. A status not listed is
// final.
var nextStates = map[State][]State{
	Queued:  {Running, Cancelled},
	Running: {Complete, Failed, Cancelled},
}

// nextSessionStates lists the statuses that may follow a session's status.
var nextSessionStates = map[State][]State{
	Running: {Complete, Failed, Cancelled},
}

// The statuses that the protocol allows for agents, sessions and waves.
var (
	agentStates   = []State{Queued, Running, Complete, Failed, Cancelled}
	sessionStates = []State{Running, Complete, Failed, Cancelled}
	waveStates    = []State{Pending, Running, Complete}
)

// Final reports whether s is a final status of an agent or a session. An unknown
// status is not final.
func (s State) Final() bool { return s == Complete || s == Failed || s == Cancelled }

// Label returns the text for s in the table of agents. An unknown status is returned
// unchanged.
func (s State) Label() string {
	switch s {
	case Queued:
		return "○ Queue"
	case Running:
		return "● Run"
	case Complete:
		return "✓ Done"
	case Failed:
		return "✗ Fail"
	case Cancelled:
		return "⊘ Skip"
	}
	return string(s)
}

// checkTransition returns an error unless table allows the change from one status to the other.
// subject is the agent or session in the text of the error, such as "agent 003".
func checkTransition(table map[State][]State, subject string, from, to State) error {
	if slices.Contains(table[from], to) {
		return nil
	}
	return &TransitionError{What: subject, From: from, To: to, Allowed: table[from]}
}
