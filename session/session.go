// Package session reads and writes the status documents of sessions. A session is one run
// of several agents, and its agents run in groups, which are called waves. Each session
// has a folder with its status document and the log files of its agents. Programs in
// other languages read and write the same documents. All writers lock a document by
// creating a folder beside it.
//
//	<root>/sessions/<session id>/status.json
//	<root>/sessions/<session id>/<agent id>.log
//	<root>/active-session -> sessions/<session id>
//
// [Store] has the operations. Some values in a document follow from the statuses of the agents: the
// summary, the statuses of waves, and the status and end time of a session whose agents have all
// ended. Callers of a Store do not set these values, because every write of the Store computes them
// again. A program that stores the state of its session elsewhere, such as in a database, writes
// the document with a [Recording]. A Recording can set the session to any status, whatever its
// status was before.
package session

import "slices"

// State is the status of an agent, a session or a wave.
type State string

// The statuses that a status document may contain. Only a wave can be Pending, and only an agent
// can be Queued. A wave is never Failed or Cancelled.
const (
	Pending   State = "pending"
	Queued    State = "queued"
	Running   State = "running"
	Complete  State = "complete"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// nextStates lists the statuses that may follow each status of an agent. No status may follow a
// status that is not a key of the map.
var nextStates = map[State][]State{
	Queued:  {Running, Cancelled},
	Running: {Complete, Failed, Cancelled},
}

// nextSessionStates is like nextStates, for sessions.
var nextSessionStates = map[State][]State{
	Running: {Complete, Failed, Cancelled},
}

// The statuses that agents, sessions and waves may have in a status document.
var (
	agentStates   = []State{Queued, Running, Complete, Failed, Cancelled}
	sessionStates = []State{Running, Complete, Failed, Cancelled}
	waveStates    = []State{Pending, Running, Complete}
)

// Final reports whether s is a final status of an agent or a session. An unknown
// status is not final.
func (s State) Final() bool { return s == Complete || s == Failed || s == Cancelled }

// Label returns a short text for s, with a symbol, for the table of agents that users see. It
// returns an unknown status unchanged.
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

// checkTransition returns a [*TransitionError] if the status may not change in this way. The
// parameter table lists, for each status, the statuses that may follow it. The parameter subject
// names the agent or session in the text of the error, such as "agent 003".
func checkTransition(table map[State][]State, subject string, from, to State) error {
	if slices.Contains(table[from], to) {
		return nil
	}
	return &TransitionError{What: subject, From: from, To: to, Allowed: table[from]}
}
