package session

import (
	"slices"

	"gaffer/statefile/jsontree"
)

// updateChanged updates only the agents listed in is.Changed. The caller must make sure that no
// other program has changed the document since our last write.
func (r *Recording) updateChanged(root *jsontree.Node, is Contents) writtenDocument {
	next := r.last
	agents := slices.Collect(agentsOf(root))
	for _, i := range is.Changed {
		setAgent(agents[next.at[i]], r.withLogFile(is.Status.Agents[i]))
	}
	next.waves = r.waveStates(is.Status, next.others)
	if !slices.Equal(next.waves, r.last.waves) {
		setWaveStates(root, is.Status.Waves, next.waves)
	}
	if next.alone {
		setSummary(root, is.Status.Count())
	} else {
		sum, _ := countAgents(root, false)
		setSummary(root, sum)
	}
	setSessionMembers(root, r.id, is.Status)
	return next
}

// updateAll updates a document that another program has changed. It sets the
// recording's members, agents and waves, and keeps the members of other programs.
func (r *Recording) updateAll(root *jsontree.Node, is *Status) writtenDocument {
	setSessionMembers(root, r.id, is)
	agents := root.Array("agents")
	var next writtenDocument
	there := slices.Collect(agentsOf(root))
	place := agentIndexes(there)
	for _, a := range is.Agents {
		at, ok := place[a.ID]
		if ok {
			setAgent(there[at], r.withLogFile(a))
		} else {
			at = agents.Len()
			agents.Append(r.withLogFile(a))
		}
		next.at = append(next.at, at)
	}
	next.alone = agents.Len() == len(is.Agents)
	if waves := root.Child("waves"); waves == nil || waves.Kind() != jsontree.Array {
		root.Set("waves", []Wave{}) // waves can be derived from the agents, so no data is lost
	}
	sum, states := countAgents(root, true)
	setSummary(root, sum)
	next.others = setMembers(root, is, states)
	next.waves = r.waveStates(is, next.others)
	setWaveStates(root, is.Waves, next.waves)
	return next
}

// agentIndexes returns the index of each agent by its id. If two agents share an id, it returns the
// index of the first one, as finder does.
func agentIndexes(agents []*jsontree.Node) map[string]int {
	at := map[string]int{}
	for i, agent := range agents {
		id, ok := agent.Get("id").Str()
		if _, twice := at[id]; ok && !twice {
			at[id] = i
		}
	}
	return at
}

// setSessionMembers sets the members of the session itself: everything except agents, waves and
// summary.
func setSessionMembers(root *jsontree.Node, id string, is *Status) {
	root.Set("schema_version", SchemaVersion)
	root.Set("session_id", id)
	root.Set("source", is.Source)
	root.Set("source_file", is.SourceFile)
	root.Set("started_at", is.StartedAt)
	root.Set("completed_at", is.CompletedAt)
	root.Set("status", is.Status)
}

func setAgent(node *jsontree.Node, a Agent) {
	node.Set("name", a.Name)
	node.Set("prompt_path", a.PromptPath)
	node.Set("status", a.Status)
	node.Set("wave", a.Wave)
	node.Set("started_at", a.StartedAt)
	node.Set("completed_at", a.CompletedAt)
	node.Set("duration_seconds", a.DurationSeconds)
	node.Set("exit_code", a.ExitCode)
	node.Set("pid", a.PID)
	node.Set("log_file", a.LogFile)
	node.Set("model", a.Model)
	node.Set("error", a.Error)
}

// wavesOf returns the waves of a document by number. If two waves share a number, it returns the
// first one.
func wavesOf(root *jsontree.Node) map[int]*jsontree.Node {
	waves := map[int]*jsontree.Node{}
	for _, node := range root.Child("waves").Items() {
		n, ok := node.Get("wave").Int()
		if _, twice := waves[int(n)]; ok && !twice {
			waves[int(n)] = node
		}
	}
	return waves
}

// setMembers sets the agent ids of each wave, and appends waves that are missing. Agents of other
// programs stay in their waves; setMembers returns their counts for each wave.
func setMembers(root *jsontree.Node, is *Status, states map[string]State) []waveTally {
	ours := make(map[string]bool, len(is.Agents))
	for _, a := range is.Agents {
		ours[a.ID] = true
	}
	waves, others := wavesOf(root), make([]waveTally, len(is.Waves))
	for i, w := range is.Waves {
		node := waves[w.Wave]
		if node == nil {
			root.Child("waves").Append(w)
			continue
		}
		var theirs []jsontree.Value
		for _, id := range node.Get("agents").Items() {
			if !ours[idOf(id)] {
				theirs = append(theirs, id)
			}
		}
		others[i] = tallyOf(State(node.Get("status").Text()), slices.All(theirs), states)
		node.Set("agents", joinAgents(w.Agents, theirs))
	}
	return others
}

// joinAgents lists the agents of a wave: first ours, then those of other programs.
func joinAgents(ours []string, theirs []jsontree.Value) any {
	if len(theirs) == 0 {
		return ours
	}
	var all []any
	for _, id := range ours {
		all = append(all, id)
	}
	for _, id := range theirs {
		all = append(all, id)
	}
	return all
}

func setWaveStates(root *jsontree.Node, waves []Wave, states []State) {
	there := wavesOf(root)
	for i, w := range waves {
		there[w.Wave].Set("status", states[i])
	}
}

// waveStates returns the status of each wave. It counts the recording's agents and, from others,
// the agents of other programs. A cancelled agent of the recording counts as started if its
// StartedAt is set.
func (r *Recording) waveStates(is *Status, others []waveTally) []State {
	if len(r.members) != len(is.Waves) || r.agents != len(is.Agents) {
		r.members, r.agents = membersOf(is), len(is.Agents)
	}
	states := make([]State, len(is.Waves))
	for i, members := range r.members {
		var all waveTally
		if others != nil {
			all = others[i]
		}
		for _, at := range members {
			a := &is.Agents[at]
			all.add(a.Status, !a.StartedAt.IsZero())
		}
		states[i] = all.state()
	}
	return states
}

func membersOf(is *Status) [][]int {
	at := make(map[string]int, len(is.Agents))
	for i, a := range is.Agents {
		at[a.ID] = i
	}
	members := make([][]int, len(is.Waves))
	for i, w := range is.Waves {
		for _, id := range w.Agents {
			if position, ok := at[id]; ok {
				members[i] = append(members[i], position)
			}
		}
	}
	return members
}
