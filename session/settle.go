package session

import (
	"iter"
	"time"

	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"
)

// settle sets what follows from the agents: the summary, the waves' statuses,
// and the end of a session whose last agent has ended. It runs once for each
// write, reads every agent, and touches only what has changed.
func settle(root *jsontree.Node, now time.Time) {
	if agents := root.Child("agents"); agents == nil || agents.Kind() != jsontree.Array {
		return
	}
	waves := root.Child("waves")
	if waves != nil && waves.Len() == 0 {
		waves = nil
	}
	sum, states := survey(root, waves != nil)
	setSummary(root, sum)
	if waves != nil {
		settleWaves(waves, states)
	}
	if sum.Total > 0 && sum.final() && sessionState(root) == Running {
		endSession(root, now, sum.outcome())
	}
}

// survey reads every agent once: how many are in which status, and if asked
// for, who. Where two share an id the first one counts, as for a finder.
func survey(root *jsontree.Node, who bool) (sum Summary, states map[string]State) {
	if who {
		states = map[string]State{}
	}
	for agent := range agentsOf(root) {
		state := agentState(agent)
		sum.add(state)
		if !who {
			continue
		}
		id := idOf(agent.Get("id"))
		if _, twice := states[id]; !twice {
			states[id] = state
		}
	}
	return sum, states
}

// idOf is what an id is known by in a wave. One that is no string is not of the
// protocol and cannot be asked for, but is still another's than the next.
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

// setSummary keeps members that the protocol does not have, and the spelling
// of numbers that are right. What is not an object is replaced: it is derived.
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

// counts lists the members in the protocol's order.
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

// settleWaves leaves alone a wave whose agents are not known.
func settleWaves(waves *jsontree.Node, states map[string]State) {
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

// waveState is what a wave that was in state was is in, by its agents, and
// false if it has none that is known.
func waveState(was State, ids jsontree.Value, states map[string]State) (State, bool) {
	all := tallyOf(was, ids.Items(), states)
	if all.known == 0 {
		return was, false
	}
	return all.state(), true
}

// tally counts the agents of a wave.
type tally struct{ known, final, ran int }

// tallyOf counts those of the agents that are known. Of one that was cancelled,
// that its wave was running before is all that tells that it ran.
func tallyOf(was State, ids iter.Seq2[int, jsontree.Value], states map[string]State) (all tally) {
	for _, id := range ids {
		if state, ok := states[idOf(id)]; ok {
			all.add(state, state == Cancelled && was == Running)
		}
	}
	return all
}

func (t *tally) add(state State, began bool) {
	t.known++
	if state.Final() {
		t.final++
	}
	if began || state == Running || state == Complete || state == Failed {
		t.ran++
	}
}

// state is complete when all agents have ended, and running once one has run.
func (t tally) state() State {
	switch {
	case t.final == t.known:
		return Complete
	case t.ran > 0:
		return Running
	}
	return Pending
}
