package session

import (
	"slices"

	"gaffer/statefile/jsontree"
)

// updateChanged updates the document of a session if only some agents have changed: it sets the
// agents whose indexes are in want.Changed, the values that are computed from the agents, such as
// the summary, and the members of the session itself. The caller must make sure that no other
// program has changed the document since r last wrote it.
func (r *Recording) updateChanged(root *jsontree.Node, want Contents) writtenDocument {
	next := r.last
	agents := slices.Collect(agentsOf(root))
	for _, i := range want.Changed {
		setAgent(agents[next.at[i]], r.withLogFile(want.Status.Agents[i]))
	}
	next.waves = r.waveStates(want.Status, next.others)
	if !slices.Equal(next.waves, r.last.waves) {
		setWaveStates(root, want.Status.Waves, next.waves)
	}
	if next.alone {
		setSummary(root, want.Status.Count())
	} else {
		sum, _ := countAgents(root, false)
		setSummary(root, sum)
	}
	setSessionMembers(root, r.id, want.Status)
	return next
}

// updateAll updates the whole document: all agents, all waves, the summary and the members of the
// session itself. It is needed, for example, if another program has changed the document. It keeps
// the agents, waves and JSON members that other programs have added.
func (r *Recording) updateAll(root *jsontree.Node, want *Status) writtenDocument {
	setSessionMembers(root, r.id, want)
	agents := root.Array("agents")
	var next writtenDocument
	there := slices.Collect(agentsOf(root))
	place := agentIndexes(there)
	for _, a := range want.Agents {
		at, ok := place[a.ID]
		if ok {
			setAgent(there[at], r.withLogFile(a))
		} else {
			at = agents.Len()
			agents.Append(r.withLogFile(a))
		}
		next.at = append(next.at, at)
	}
	next.alone = agents.Len() == len(want.Agents)
	if waves := root.Child("waves"); waves == nil || waves.Kind() != jsontree.Array {
		root.Set("waves", []Wave{}) // the old value is not an array, so no waves are lost
	}
	sum, states := countAgents(root, true)
	setSummary(root, sum)
	next.others = setMembers(root, want, states)
	next.waves = r.waveStates(want, next.others)
	setWaveStates(root, want.Waves, next.waves)
	return next
}

// agentIndexes returns a map from the id of each agent to the agent's index in the parameter
// agents. If two agents share an id, the map has the index of the first one.
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

// setSessionMembers sets the JSON members that describe the session as a whole. These are all
// members of the document except agents, waves and summary.
func setSessionMembers(root *jsontree.Node, id string, want *Status) {
	root.Set("schema_version", SchemaVersion)
	root.Set("session_id", id)
	root.Set("source", want.Source)
	root.Set("source_file", want.SourceFile)
	root.Set("started_at", want.StartedAt)
	root.Set("completed_at", want.CompletedAt)
	root.Set("status", want.Status)
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

// wavesOf returns the waves of a document by wave number. If two waves have the same number, the
// map contains the first of them.
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

// setMembers sets the list of agent ids of each wave, and appends waves that are missing in the
// document. The parameter states has the status of each agent by agent id. If other programs have
// added agents to a wave, these agents stay in it. For each wave, setMembers returns the counts of
// these agents.
func setMembers(root *jsontree.Node, want *Status, states map[string]State) []waveCounts {
	ours := make(map[string]bool, len(want.Agents))
	for _, a := range want.Agents {
		ours[a.ID] = true
	}
	waves, others := wavesOf(root), make([]waveCounts, len(want.Waves))
	for i, w := range want.Waves {
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
		others[i] = countWave(State(node.Get("status").Text()), slices.All(theirs), states)
		node.Set("agents", joinAgents(w.Agents, theirs))
	}
	return others
}

// joinAgents returns the list of the agent ids of a wave: first ours, the ids of the recording's
// own agents, and then theirs, the ids of other programs' agents.
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

// waveStates returns the status of each wave in want. The parameter others has, for each wave, the
// counts of the agents of other programs; it is nil if there are no such agents. A cancelled agent
// of the recording counts as started if its StartedAt is set.
func (r *Recording) waveStates(want *Status, others []waveCounts) []State {
	if len(r.members) != len(want.Waves) || r.agents != len(want.Agents) {
		r.members, r.agents = membersOf(want), len(want.Agents)
	}
	states := make([]State, len(want.Waves))
	for i, members := range r.members {
		var all waveCounts
		if others != nil {
			all = others[i]
		}
		for _, at := range members {
			a := &want.Agents[at]
			all.add(a.Status, !a.StartedAt.IsZero())
		}
		states[i] = all.state()
	}
	return states
}

func membersOf(want *Status) [][]int {
	at := make(map[string]int, len(want.Agents))
	for i, a := range want.Agents {
		at[a.ID] = i
	}
	members := make([][]int, len(want.Waves))
	for i, w := range want.Waves {
		for _, id := range w.Agents {
			if position, ok := at[id]; ok {
				members[i] = append(members[i], position)
			}
		}
	}
	return members
}
