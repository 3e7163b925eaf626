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
// transitions: it is for who knows how every chunk stands. Fields of the run and
// of its chunks that it does not know stay; a run with another id is replaced.
func PutRun(root *jsontree.Node, run BuildRun) error {
	node := root.Child("buildRun")
	if node == nil || node.Kind() != jsontree.Object || runID(node.Value()) != run.RunID || chunksOf(node) == nil {
		root.Set("buildRun", run)
		follow(root, root.Child("buildRun"))
		return nil
	}
	for _, c := range run.Chunks {
		chunk, err := findChunk(node, c.ID)
		if err != nil {
			return err
		}
		putChunk(chunk, c)
	}
	for name, value := range map[string]string{"convergencePhase": run.ConvergencePhase, "lastCheckpoint": run.LastCheckpoint} {
		if value != "" && node.Get(name).Text() != value {
			node.Set(name, value)
		}
	}
	follow(root, node)
	return nil
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
