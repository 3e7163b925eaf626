package session

import (
	"slices"

	"gaffer/statefile/jsontree"
)

// touch changes the agents that differ from the last write, in a document that
// nobody else has written to since.
func (r *Recording) touch(root *jsontree.Node, is Truth) written {
	next := r.last
	agents := slices.Collect(agentsOf(root))
	for _, i := range is.Changed {
		setAgent(agents[next.at[i]], r.logged(is.Status.Agents[i]))
	}
	next.waves = r.waveStates(is.Status)
	if waves := root.Child("waves"); !slices.Equal(next.waves, r.last.waves) {
		setWaves(waves, is.Status.Waves, next.waves)
	}
	if next.alone {
		setSummary(root, is.Status.Count())
	} else {
		sum, _ := survey(root, false)
		setSummary(root, sum)
	}
	setHead(root, r.id, is.Status)
	return next
}

// adopt makes a document right that somebody else has written to.
func (r *Recording) adopt(root *jsontree.Node, is *Status) written {
	setHead(root, r.id, is)
	agents := root.Array("agents")
	next := written{waves: r.waveStates(is)}
	there := slices.Collect(agentsOf(root))
	place := places(there)
	for _, a := range is.Agents {
		at, ok := place[a.ID]
		if ok {
			setAgent(there[at], r.logged(a))
		} else {
			at = agents.Len()
			agents.Append(r.logged(a))
		}
		next.at = append(next.at, at)
	}
	next.alone = agents.Len() == len(is.Agents)
	if waves := root.Child("waves"); waves == nil || waves.Kind() != jsontree.Array {
		root.Set("waves", []Wave{}) // derived, so nothing of anybody's is lost
	}
	setWaves(root.Child("waves"), is.Waves, next.waves)
	sum, _ := survey(root, false)
	setSummary(root, sum)
	return next
}

// places returns where the agents stand. Where two share an id the first one
// counts, as for a finder.
func places(agents []*jsontree.Node) map[string]int {
	at := map[string]int{}
	for i, agent := range agents {
		id, ok := agent.Get("id").Str()
		if _, twice := at[id]; ok && !twice {
			at[id] = i
		}
	}
	return at
}

// setHead sets what is said of the session itself.
func setHead(root *jsontree.Node, id string, is *Status) {
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

// setWaves finds waves by their number and adds those that are missing.
func setWaves(list *jsontree.Node, waves []Wave, states []State) {
	place := map[int64]*jsontree.Node{}
	for _, node := range list.Items() {
		n, ok := node.Get("wave").Int()
		if _, twice := place[n]; ok && !twice {
			place[n] = node
		}
	}
	for i, w := range waves {
		w.Status = states[i]
		node := place[int64(w.Wave)]
		if node == nil {
			list.Append(w)
			continue
		}
		node.Set("status", w.Status)
		node.Set("agents", w.Agents)
	}
}

// waveStates are the statuses of the waves by their agents. Unlike a document,
// the truth tells which of the cancelled ones have run.
func (r *Recording) waveStates(is *Status) []State {
	if r.members == nil || r.agents != len(is.Agents) {
		r.members, r.agents = membersOf(is), len(is.Agents)
	}
	states := make([]State, len(is.Waves))
	for i, members := range r.members {
		final, ran := 0, 0
		for _, at := range members {
			a := &is.Agents[at]
			if a.Status.Final() {
				final++
			}
			if a.Status == Running || a.Status == Complete || a.Status == Failed || !a.StartedAt.IsZero() {
				ran++
			}
		}
		switch {
		case final == len(members):
			states[i] = Complete
		case ran > 0:
			states[i] = Running
		default:
			states[i] = Pending
		}
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
