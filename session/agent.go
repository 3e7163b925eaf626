package session

import (
	"math"
	"time"

	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"
)

// stateOf returns the status in v. If v is missing or null, it returns defaultState, because all
// programs of this protocol treat a missing status in this way. For the statuses of agents and
// sessions it allocates no string.
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

// startAgent moves a queued agent to running. A pid of 0 means that the pid is unknown.
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

// endAgent moves an agent to a final status. It does not set the exit code, because a cancelled
// agent has none.
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
// time. It truncates now to whole seconds, because gaffer writes the times in the document in this
// way. It returns 1 instead of 0, because monitors treat a duration of 0 as unknown. It also
// returns 1 if the truncated now is less than a second before started. If it is a second or more
// before started, the clock was set back, and secondsSince returns 0.
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

// clearMember sets the member of n that is called name to null. If n lacks the member, clearMember
// does not add it.
func clearMember(n *jsontree.Node, name string) {
	if !n.Get(name).Absent() {
		n.Set(name, nil)
	}
}
