package session

import (
	"iter"
	"time"

	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"
)

// setDerived sets the values in a session's document that are computed from the agents' statuses:
// the summary, the statuses of waves, and the end of a session whose last agent has ended. It runs
// once before each write of the document, and changes only values that differ.
func setDerived(root *jsontree.Node, now time.Time) {
	if agents := root.Child("agents"); agents == nil || agents.Kind() != jsontree.Array {
		return
	}
	waves := root.Child("waves")
	if waves != nil && waves.Len() == 0 {
		waves = nil
	}
	sum, states := countAgents(root, waves != nil)
	setSummary(root, sum)
	if waves != nil {
		setDerivedWaves(waves, states)
	}
	if sum.Total > 0 && sum.final() && sessionState(root) == Running {
		endSession(root, now, sum.outcome())
	}
}

// countAgents counts the agents of a session's document by status. If byID is true, it also returns
// a map from the id of each agent to its status. If two agents have the same id, the map contains
// the status of the first one.
func countAgents(root *jsontree.Node, byID bool) (sum Summary, states map[string]State) {
	if byID {
		states = map[string]State{}
	}
	for agent := range agentsOf(root) {
		state := agentState(agent)
		sum.add(state)
		if !byID {
			continue
		}
		id := idOf(agent.Get("id"))
		if _, twice := states[id]; !twice {
			states[id] = state
		}
	}
	return sum, states
}

// idOf returns an agent's id as a map key. The id should be a string, but another program may have
// written any JSON value. If v is not a string, the key is the JSON text of v.
func idOf(v jsontree.Value) string {
	if id, ok := v.Str(); ok {
		return id
	}
	return string(v.Raw())
}

func sessionState(root *jsontree.Node) State { return stateOf(root.Get("status"), Running) }

func endSession(root *jsontree.Node, now time.Time, to State) {
	root.Set("status", string(to))
	root.Set("completed_at", timestamp.Format(now))
}

// setSummary updates the summary, the counts of the agents, in a session's document. If the
// existing summary is a JSON object, setSummary keeps its unknown members, and does not rewrite
// numbers that are already right. Otherwise it replaces the existing summary.
func setSummary(root *jsontree.Node, sum Summary) {
	node := root.Child("summary")
	if node == nil || node.Kind() != jsontree.Object {
		root.Set("summary", sum)
		return
	}
	for _, c := range sum.counts() {
		if f, ok := node.Get(c.name).Float(); !ok || f != float64(c.n) {
			node.Set(c.name, c.n)
		}
	}
}

type namedCount struct {
	name string
	n    int
}

// counts lists the counts in the order in which the document lists them.
func (s Summary) counts() []namedCount {
	return []namedCount{
		{"total", s.Total},
		{"queued", s.Queued},
		{"running", s.Running},
		{"complete", s.Complete},
		{"failed", s.Failed},
		{"cancelled", s.Cancelled},
	}
}

// setDerivedWaves updates the status of each wave. The map states has the status of each agent by
// agent id. If none of a wave's agents is in states, the wave stays unchanged.
func setDerivedWaves(waves *jsontree.Node, states map[string]State) {
	for _, wave := range waves.Items() {
		if wave.Kind() != jsontree.Object {
			continue
		}
		was := State(wave.Get("status").Text())
		if is, ok := waveState(was, wave.Get("agents"), states); ok && is != was {
			wave.Set("status", string(is))
		}
	}
}

// waveState computes the status of a wave from the statuses of its agents. The parameter current is
// the status of the wave in the document, ids has the ids of the wave's agents, and states has the
// status of each agent of the session by id. waveState returns false if none of the wave's agents
// is in states.
func waveState(current State, ids jsontree.Value, states map[string]State) (State, bool) {
	counts := countWave(current, ids.Items(), states)
	if counts.known == 0 {
		return current, false
	}
	return counts.state(), true
}

// waveCounts counts the agents of a wave. known is the number of the wave's agents that the session
// has. ended is how many of these have ended, and started is how many were started.
type waveCounts struct{ known, ended, started int }

// countWave counts those agents of a wave that are in states. The document does not say whether a
// cancelled agent was ever started. countWave assumes that it was if waveStatus, the status of the
// wave, is Running.
func countWave(waveStatus State, ids iter.Seq2[int, jsontree.Value], states map[string]State) (counts waveCounts) {
	for _, id := range ids {
		if state, ok := states[idOf(id)]; ok {
			counts.add(state, state == Cancelled && waveStatus == Running)
		}
	}
	return counts
}

func (c *waveCounts) add(state State, began bool) {
	c.known++
	if state.Final() {
		c.ended++
	}
	if began || state == Running || state == Complete || state == Failed {
		c.started++
	}
}

// state returns the status of the wave. It is Complete if all counted agents have ended. Otherwise
// it is Running if at least one agent was started, and Pending if none was.
func (c waveCounts) state() State {
	switch {
	case c.ended == c.known:
		return Complete
	case c.started > 0:
		return Running
	}
	return Pending
}
