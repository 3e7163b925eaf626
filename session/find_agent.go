package session

import (
	"iter"

	"gaffer/statefile"
	"gaffer/statefile/jsontree"
)

// agentsOf yields the agents of the session's document with this root.
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

// finder finds the agents of a session's document by id. If two agents have the same id, it finds
// the first one. Updates that are written to disk together use the same finder. Its first search
// walks through the document. The second search builds an index, which all later searches use. Code
// that adds or removes agents must reset the finder.
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

// notFound returns the error for an agent id that the session does not have. If the id is invalid,
// this is the error of [statefile.CheckName]. Otherwise it is a NotFoundError with similar ids.
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
