package workflow

import (
	"context"
	"slices"

	"gaffer/statefile/jsontree"
)

// Record edits the workflow state with the function change, and appends the events that change
// returns to the feed, the list of events in state.json. Both happen in one atomic update. The
// function change may be called more than once and must have no other effects.
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

// PutRun updates the build run in the state to match run. Unlike SetChunk, it does not check which
// status of a chunk may follow which, because the caller knows the status of every chunk. PutRun
// adds the chunks of run that are missing in the state. It keeps unknown fields, and chunks that
// are not in run. If the state has a build run with another id, PutRun replaces that build run
// completely.
func PutRun(root *jsontree.Node, run BuildRun) {
	node := root.Child("buildRun")
	if node == nil || node.Kind() != jsontree.Object || runID(node.Value()) != run.RunID {
		root.Set("buildRun", run)
		setDerived(root, root.Child("buildRun"))
		return
	}
	if chunks := chunksOf(node); chunks != nil {
		putChunks(chunks, run.Chunks)
	} else {
		addChunks(node, run)
	}
	for name, value := range map[string]string{"convergencePhase": run.ConvergencePhase, "lastCheckpoint": run.LastCheckpoint} {
		if value != "" && node.Get(name).Text() != value {
			node.Set(name, value)
		}
	}
	setDerived(root, node)
}

// putChunks updates the chunks (parts of a build) in list, and appends those that are missing in
// list. If several chunks in list have the same id, putChunks updates all of them.
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

// addChunks adds the chunks of run to node, the build run in state.json. The caller must pass a
// node without chunks. addChunks also adds the start time and the plan if node lacks them.
func addChunks(node *jsontree.Node, run BuildRun) {
	for _, f := range []Field{{"startedAt", run.StartedAt}, {"plan", run.Plan}} {
		if node.Get(f.Name).Absent() {
			node.Set(f.Name, f.Value)
		}
	}
	node.Set("chunks", run.Chunks)
}

// runID returns the id of a build run. Some programs write the field id instead of runId.
func runID(run jsontree.Value) string {
	if id := run.Get("runId").Text(); id != "" {
		return id
	}
	return run.Get("id").Text()
}

// putChunk sets the status, the attempt number, the spec version and the times of a chunk in
// state.json to those of c. It deletes fields that are empty in c, because not every status has all
// of them: a planned chunk, for example, has no start time.
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
