package session

import (
	"math"
	"time"

	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"
)

// stateOf reads a status without making a string for the words it knows. A
// missing one is what every writer means by it.
func stateOf(v jsontree.Value, missing State) State {
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
		return missing
	}
	return State(v.String())
}

func agentState(agent *jsontree.Node) State { return stateOf(agent.Get("status"), Queued) }

// startAgent makes a queued agent run. A pid of 0 is one that is not known.
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

// endAgent ends an agent as to. It leaves the exit code alone: a cancelled
// agent has none.
func endAgent(agent *jsontree.Node, now time.Time, to State) error {
	if err := moveAgent(agent, to); err != nil {
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
	if err := move(next, "agent "+agent.Get("id").Text(), agentState(agent), to); err != nil {
		return err
	}
	agent.Set("status", string(to))
	return nil
}

// secondsSince is the difference of the two times as they stand in the
// document, so that it always agrees with them. If they are less than a second
// apart it is 1, since monitors take 0 for unknown. It is 0 if the clock was set
// back.
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

// clearMember makes a member null, and leaves a missing one missing.
func clearMember(n *jsontree.Node, name string) {
	if !n.Get(name).Absent() {
		n.Set(name, nil)
	}
}
