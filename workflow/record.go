package workflow

import (
	"context"
	"slices"

	"gaffer/statefile/jsontree"
)

// Record makes a change and appends the events that it returns to the feed, all
// in one update: whoever dies, both are there or neither. change may run more
// than once and must do nothing but edit.
func (s *Store) Record(ctx context.Context, change func(root *jsontree.Node) ([]jsontree.Value, error)) error {
	moved, err := s.archive()
	if err != nil {
		return err
	}
	return s.Update(ctx, func(root *jsontree.Node) error {
		events, err := change(root)
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := appendEvent(root, e, moved); err != nil {
				return err
			}
		}
		return nil
	})
}

// PutRun makes the build run say what is true of it. Unlike SetChunk it makes no
// transitions: it is for who knows how every chunk stands. Whatever a person has
// done to the list meanwhile, each chunk of the run is in it afterwards. Fields
// of the run and of its chunks that it does not know stay, and so do other
// chunks; a run with another id is replaced.
func PutRun(root *jsontree.Node, run BuildRun) {
	node := root.Child("buildRun")
	if node == nil || node.Kind() != jsontree.Object || runID(node.Value()) != run.RunID {
		root.Set("buildRun", run)
		follow(root, root.Child("buildRun"))
		return
	}
	if chunks := chunksOf(node); chunks != nil {
		putChunks(chunks, run.Chunks)
	} else {
		restore(node, run)
	}
	for name, value := range map[string]string{"convergencePhase": run.ConvergencePhase, "lastCheckpoint": run.LastCheckpoint} {
		if value != "" && node.Get(name).Text() != value {
			node.Set(name, value)
		}
	}
	follow(root, node)
}

// putChunks brings a list up to date and adds what it lacks. Where an id is
// there twice, both say the same.
func putChunks(list *jsontree.Node, chunks []Chunk) {
	ids := idsOf(list)
	there := map[ID][]*jsontree.Node{}
	for i, n := range list.Items() {
		if n.Kind() == jsontree.Object {
			there[ids[i]] = append(there[ids[i]], n)
		}
	}
	for _, c := range chunks {
		for _, n := range there[c.ID] {
			putChunk(n, c)
		}
		if len(there[c.ID]) == 0 {
			list.Append(c)
		}
	}
}

// restore gives a run its chunks again, and what else was lost with them.
func restore(node *jsontree.Node, run BuildRun) {
	for _, f := range []Field{{"startedAt", run.StartedAt}, {"plan", run.Plan}} {
		if node.Get(f.Name).Absent() {
			node.Set(f.Name, f.Value)
		}
	}
	node.Set("chunks", run.Chunks)
}

// runID is a run's id, also under the name that some programs use.
func runID(run jsontree.Value) string {
	if id := run.Get("runId").Text(); id != "" {
		return id
	}
	return run.Get("id").Text()
}

// putChunk sets what a chunk's status and times are, and takes those away that
// it has not: the protocol says which are present when.
func putChunk(chunk *jsontree.Node, c Chunk) {
	put := func(name string, value any, absent bool) {
		switch {
		case absent:
			chunk.Delete(name)
		case chunk.Get(name).Absent() || !sameText(chunk.Get(name), value):
			chunk.Set(name, value)
		}
	}
	put("status", string(c.Status), false)
	put("attempt", c.Attempt, c.Attempt == 0)
	put("specVersionAtBuild", c.SpecVersionAtBuild, c.SpecVersionAtBuild == "")
	put("startedAt", c.StartedAt, c.StartedAt == "")
	put("completedAt", c.CompletedAt, c.CompletedAt == "")
	put("failedAt", c.FailedAt, c.FailedAt == "")
}

func sameText(v jsontree.Value, value any) bool {
	return slices.Equal(v.Raw(), newObject(Field{"v", value}).Get("v").Raw())
}
