package session

import (
	"iter"

	"gaffer/statefile"
	"gaffer/statefile/jsontree"
)

// agentsOf yields the agents of a document, or nothing.
func agentsOf(root *jsontree.Node) iter.Seq[*jsontree.Node] {
	return func(yield func(*jsontree.Node) bool) {
		agents := root.Child("agents")
		if agents == nil {
			return
		}
		for _, agent := range agents.Items() {
			if !yield(agent) {
				return
			}
		}
	}
}

// finder finds agents by their id, where two share one the first, as every
// other writer does. Updates that are written together look into the same
// document: the first walks through it, the second makes an index for all that
// follow. Who adds or removes agents must reset it.
type finder struct {
	root *jsontree.Node
	byID map[string]*jsontree.Node
}

func (f *finder) find(root *jsontree.Node, id string) (*jsontree.Node, error) {
	var found *jsontree.Node
	if f.root != root {
		*f = finder{root: root}
		found = walkTo(root, id)
	} else {
		if f.byID == nil {
			f.byID = byID(root)
		}
		found = f.byID[id]
	}
	if found == nil {
		return nil, notFound(root, id)
	}
	return found, nil
}

func walkTo(root *jsontree.Node, id string) *jsontree.Node {
	for agent := range agentsOf(root) {
		if found, ok := agent.Get("id").Str(); ok && found == id {
			return agent
		}
	}
	return nil
}

func byID(root *jsontree.Node) map[string]*jsontree.Node {
	index := map[string]*jsontree.Node{}
	for agent := range agentsOf(root) {
		id, ok := agent.Get("id").Str()
		if _, twice := index[id]; ok && !twice {
			index[id] = agent
		}
	}
	return index
}

// notFound says of an id that no agent could have that it is one.
func notFound(root *jsontree.Node, id string) error {
	if err := statefile.CheckName("agent id", id); err != nil {
		return err
	}
	var ids []string
	for agent := range agentsOf(root) {
		if id, ok := agent.Get("id").Str(); ok {
			ids = append(ids, id)
		}
	}
	where := "session " + root.Get("session_id").Text()
	return &NotFoundError{What: "agent", ID: id, Where: where, Similar: similar(id, ids)}
}
