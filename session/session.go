// Package session keeps the status of sessions: which agents run in which
// waves, what became of them, and where their logs are. The documents are
// shared with writers in other languages, under a lock that is a folder.
//
//	<root>/sessions/<session id>/status.json
//	<root>/sessions/<session id>/<agent id>.log
//	<root>/active-session -> sessions/<session id>
//
// [Store] has the operations. What follows from the agents' statuses (the
// summary, the waves' statuses, the end of the session) is never set by a
// caller: it is worked out anew in every write. A program that keeps the truth
// about its session elsewhere writes it with a [Recording], which alone is told
// how the session stands.
package session

import "slices"

// State is a word in the status field of an agent, a session or a wave.
type State string

// The words. Pending is only for waves, Queued only for agents.
const (
	Pending   State = "pending"
	Queued    State = "queued"
	Running   State = "running"
	Complete  State = "complete"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// next lists what may follow an agent's status. A status not listed is final.
var next = map[State][]State{
	Queued:  {Running, Cancelled},
	Running: {Complete, Failed, Cancelled},
}

// nextSession is next for a session.
var nextSession = map[State][]State{
	Running: {Complete, Failed, Cancelled},
}

// The words that each kind of thing may have.
var (
	agentStates   = []State{Queued, Running, Complete, Failed, Cancelled}
	sessionStates = []State{Running, Complete, Failed, Cancelled}
	waveStates    = []State{Pending, Running, Complete}
)

// Final reports whether nothing may follow s, for an agent as for a session. A
// word that the protocol does not have is not final.
func (s State) Final() bool { return s == Complete || s == Failed || s == Cancelled }

// Label is how the table of agents shows s. A word that the protocol does not
// have is shown as it is.
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

// move checks one transition. what names the thing for the error.
func move(table map[State][]State, what string, from, to State) error {
	if slices.Contains(table[from], to) {
		return nil
	}
	return &TransitionError{What: what, From: from, To: to, Allowed: table[from]}
}
