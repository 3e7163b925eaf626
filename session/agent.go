package session

import (
	"math"
	"time"

	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"
)

// stateOf returns the status in v. If v is missing or null, it returns defaultState, because all
// programs that use session documents treat a missing status in this way. For speed, it allocates
// no string if v is a known status of an agent or a session.
func stateOf(v jsontree.Value, defaultState State) State {
	switch string(v.Raw()) {
	case `"queued"`:
		return Queued
	case `"running"`:
		return Running
	case `"complete"`:
		return Complete
	case `"failed"`:
		return Failed
	case `"cancelled"`:
		return Cancelled
	case "", "null":
		return defaultState
	}
	return State(v.String())
}

func agentState(agent *jsontree.Node) State { return stateOf(agent.Get("status"), Queued) }

// startAgent changes the status of a queued agent to running. A pid of 0 means that the process id
// is unknown.
func startAgent(agent *jsontree.Node, now time.Time, pid int) error {
	if err := moveAgent(agent, Running); err != nil {
		return err
	}
	agent.Set("started_at", timestamp.Format(now))
	if pid != 0 {
		agent.Set("pid", pid)
	} else {
		clearMember(agent, "pid")
	}
	return nil
}

// endAgent changes the status of an agent to the final status in the parameter final, such as
// Complete. It does not set the exit code, because a cancelled agent has none. Callers set it for
// agents that have one.
func endAgent(agent *jsontree.Node, now time.Time, final State) error {
	if err := moveAgent(agent, final); err != nil {
		return err
	}
	agent.Set("completed_at", timestamp.Format(now))
	if seconds, ok := secondsSince(agent.Get("started_at"), now); ok {
		agent.Set("duration_seconds", seconds)
	}
	clearMember(agent, "pid")
	return nil
}

func moveAgent(agent *jsontree.Node, to State) error {
	if err := checkTransition(nextStates, "agent "+agent.Get("id").Text(), agentState(agent), to); err != nil {
		return err
	}
	agent.Set("status", string(to))
	return nil
}

// secondsSince returns the number of seconds from started to now, or false if started is not a
// time. It first truncates now to whole seconds, as gaffer does with all times in session
// documents. There are two special cases:
//
//   - If now is less than a millisecond after started, or less than a second before it, the
//     result is 1. It is not 0, because programs that display sessions take a duration of 0 as
//     unknown.
//   - If now is a second or more before started, the clock was set back, and the result is 0.
func secondsSince(started jsontree.Value, now time.Time) (float64, bool) {
	var from Time
	if started.Absent() || from.DecodeJSON(started) != nil {
		return 0, false
	}
	seconds := now.Truncate(time.Second).Sub(from.Time).Seconds()
	if seconds > -1 && seconds < 0.001 {
		return 1, true
	}
	return max(0, math.Round(seconds*1000)/1000), true
}

// clearMember sets the member called name of the JSON object n to null. If n has no such member,
// clearMember does not add it.
func clearMember(n *jsontree.Node, name string) {
	if !n.Get(name).Absent() {
		n.Set(name, nil)
	}
}
