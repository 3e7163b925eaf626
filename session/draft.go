package session

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"gaffer/statefile"
	"gaffer/statefile/jsontree"
)

// sources lists the values that the session protocol allows for a session's source, which says what
// runs the session.
var sources = []string{"orchestrate", "execute-phase", "run-prompt"}

// Sources returns a copy of the values that the session protocol allows for a session's source.
func Sources() []string { return slices.Clone(sources) }

// Draft describes a session that [Store.Create] should create. Agents and Waves are JSON arrays as
// in the session's document. Create adds the JSON members that each agent and wave must have, and
// keeps members that it does not know. If Waves is the zero Value or null, Create derives the waves
// from the member "wave" of each agent, the number of its wave.
type Draft struct {
	Source     string
	SourceFile string
	Agents     jsontree.Value
	Waves      jsontree.Value
}

// ParseAgents parses the agents of a [Draft]. The parameter data must be a JSON array, or a JSON
// object whose member "agents" is an array. name is the file name for error messages.
func ParseAgents(name string, data []byte) (jsontree.Value, error) {
	return parseList(name, data, "agents")
}

// ParseWaves parses the waves of a [Draft]. The parameter data must be a JSON array, or a JSON
// object whose member "waves" is an array. name is the file name for error messages.
func ParseWaves(name string, data []byte) (jsontree.Value, error) {
	return parseList(name, data, "waves")
}

func parseList(name string, data []byte, member string) (jsontree.Value, error) {
	doc, err := jsontree.Parse(data)
	if syntax := (*jsontree.SyntaxError)(nil); errors.As(err, &syntax) {
		return jsontree.Value{}, &statefile.CorruptError{Path: name, Syntax: syntax}
	}
	if err != nil {
		return jsontree.Value{}, err
	}
	list := doc.Value()
	if list.Kind() == jsontree.Object {
		list = list.Get(member)
	}
	if list.Kind() != jsontree.Array {
		return jsontree.Value{}, &DraftError{name, fmt.Sprintf("%s where an array of %s should be", list.Kind(), member)}
	}
	return list, nil
}

// AgentsOf converts agents to a JSON array for the field Agents of a [Draft].
func AgentsOf(agents ...Agent) (jsontree.Value, error) {
	text, err := marshal(agents)
	if err != nil {
		return jsontree.Value{}, err
	}
	return ParseAgents("agents", text)
}

// check returns an error if the session protocol does not allow the values of the fields Source,
// Agents or Waves.
func (d Draft) check() error {
	if !slices.Contains(sources, d.Source) {
		return &SourceError{d.Source}
	}
	ids, err := checkAgents(d.Agents)
	if err != nil {
		return err
	}
	return checkWaves(d.Waves, ids)
}

// checkAgents validates the agents of a new session. It returns a map from the id of each agent to
// its index in agents.
func checkAgents(agents jsontree.Value) (map[string]int, error) {
	if !agents.Absent() && agents.Kind() != jsontree.Array {
		return nil, &DraftError{"agents", agents.Kind().String() + " where an array should be"}
	}
	ids := map[string]int{}
	for i, item := range agents.Items() {
		at := fmt.Sprintf("agents[%d]", i)
		var a Agent
		if found := jsontree.Decode(item, &a); len(found) > 0 || item.Kind() != jsontree.Object {
			return nil, mismatched(at, item, found)
		}
		if err := statefile.CheckName("agent id", a.ID); err != nil {
			return nil, &DraftError{at + ".id", err.Error()}
		}
		if other, taken := ids[a.ID]; taken {
			return nil, &DraftError{at + ".id", fmt.Sprintf("%q is already the id of agents[%d]", a.ID, other)}
		}
		if a.Status != "" && !slices.Contains(agentStates, a.Status) {
			return nil, &DraftError{at + ".status", fmt.Sprintf("%q: want %s", a.Status, orList(agentStates))}
		}
		ids[a.ID] = i
	}
	return ids, nil
}

func mismatched(at string, item jsontree.Value, found []jsontree.Mismatch) error {
	if item.Kind() != jsontree.Object {
		return &DraftError{at, item.Kind().String() + " where an object should be"}
	}
	return &DraftError{at + "." + found[0].Path, fmt.Sprintf("%s where %s should be", found[0].Found, found[0].Want)}
}

func checkWaves(waves jsontree.Value, ids map[string]int) error {
	if !waves.Absent() && waves.Kind() != jsontree.Array {
		return &DraftError{"waves", waves.Kind().String() + " where an array should be"}
	}
	numbers, member := map[int]bool{}, map[string]int{}
	for i, item := range waves.Items() {
		at := fmt.Sprintf("waves[%d]", i)
		var w Wave
		if found := jsontree.Decode(item, &w); len(found) > 0 || item.Kind() != jsontree.Object {
			return mismatched(at, item, found)
		}
		if item.Get("wave").Absent() {
			return &DraftError{at + ".wave", "the wave has no number"}
		}
		if numbers[w.Wave] {
			return &DraftError{at + ".wave", fmt.Sprintf("there are two waves %d", w.Wave)}
		}
		numbers[w.Wave] = true
		if err := checkMembers(at, w, ids, member); err != nil {
			return err
		}
	}
	return nil
}

// checkMembers validates the agents of the wave w. The parameter at is the position of w, such as
// waves[2], for error messages. The keys of ids are the ids of all agents of the session. The map
// member has the wave number of each agent that is in an earlier wave, by agent id; checkMembers
// adds the agents of w to it.
func checkMembers(at string, w Wave, ids, member map[string]int) error {
	if len(w.Agents) == 0 {
		return &DraftError{at + ".agents", "the wave has no agents"}
	}
	for j, id := range w.Agents {
		at := fmt.Sprintf("%s.agents[%d]", at, j)
		if _, known := ids[id]; !known {
			return &DraftError{at, unknownAgent(id, slices.Sorted(maps.Keys(ids)))}
		}
		if other, taken := member[id]; taken {
			return &DraftError{at, fmt.Sprintf("agent %s is already in wave %d", id, other)}
		}
		member[id] = w.Wave
	}
	return nil
}

func unknownAgent(id string, ids []string) string {
	text := fmt.Sprintf("there is no agent %q", id)
	if near := similar(id, ids); len(near) > 0 {
		text += "; there is " + joinIDs(near)
	}
	return text
}
