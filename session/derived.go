package session

import (
	"iter"
	"time"

	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"
)

// setDerived sets the values that follow from the agents' statuses: the summary, the statuses of
// waves, and the end of a session whose last agent has ended. It runs once per write, and changes
// only values that differ.
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

// countAgents counts the agents by status. If byID is true, it also returns the status of each
// agent, by agent id. If two agents share an id, it returns the status of the first one.
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

// idOf returns an agent id as a map key. The protocol allows only strings as ids. For any other
// value the key is its JSON text.
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

// setSummary updates the summary in the document. If the summary is an object, setSummary keeps its
// unknown members, and does not rewrite numbers that are already right. It replaces a summary that
// is not an object.
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

// counts lists the members of the summary in the protocol's order.
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

// setDerivedWaves updates the status of each wave. states has the status of each agent by agent id.
// If none of a wave's agents is in states, the wave stays unchanged.
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

// waveState computes the status of a wave from the statuses of its agents. ids has the ids of these
// agents, and states has the status of each agent by id. current is the status of the wave in the
// document. waveState returns false if none of the agents is in states.
func waveState(current State, ids jsontree.Value, states map[string]State) (State, bool) {
	all := tallyOf(current, ids.Items(), states)
	if all.known == 0 {
		return current, false
	}
	return all.state(), true
}

// waveTally counts the agents of a wave: known is the number of agents that the document contains,
// final is how many of them have ended, and ran is how many of them were started.
type waveTally struct{ known, final, ran int }

// tallyOf counts the agents of a wave that are in states. A document does not say whether a
// cancelled agent was ever started. tallyOf assumes that it was started if the wave is running.
func tallyOf(waveStatus State, ids iter.Seq2[int, jsontree.Value], states map[string]State) (all waveTally) {
	for _, id := range ids {
		if state, ok := states[idOf(id)]; ok {
			all.add(state, state == Cancelled && waveStatus == Running)
		}
	}
	return all
}

func (t *waveTally) add(state State, began bool) {
	t.known++
	if state.Final() {
		t.final++
	}
	if began || state == Running || state == Complete || state == Failed {
		t.ran++
	}
}

// state returns complete if all known agents have ended. If not, it returns running if at least one
// was started, and pending if none was.
func (t waveTally) state() State {
	switch {
	case t.final == t.known:
		return Complete
	case t.ran > 0:
		return Running
	}
	return Pending
}
