package statusline

import (
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

// chunksOf returns the progress of the build, from the chunks of the run or else from
// the chunkProgress that another program has written. It returns nil for a completed
// build.
func chunksOf(state jsontree.Value, run *workflow.BuildRun) *Chunks {
	if run != nil && run.Status == workflow.RunCompleted {
		return nil
	}
	if run != nil && len(run.Chunks) > 0 {
		if run.Outcome() == workflow.RunCompleted {
			return nil
		}
		return counted(*run)
	}
	if c := progress(state.Get("chunkProgress")); c != nil {
		return c
	}
	return progress(state.Get("buildRun").Get("chunkProgress"))
}

func counted(run workflow.BuildRun) *Chunks {
	c := &Chunks{
		Completed: run.Count(workflow.Completed),
		Active:    run.Count(workflow.Active, workflow.Retrying),
		Failed:    run.Count(workflow.Failed),
		Total:     run.Total(),
	}
	for _, chunk := range run.Chunks {
		if chunk.Status != workflow.Active && chunk.Status != workflow.Retrying {
			continue
		}
		if chunk.Attempt > 1 {
			c.Attempt = max(c.Attempt, chunk.Attempt)
		}
	}
	return c
}

func progress(v jsontree.Value) *Chunks {
	current, total, ok := pair(v, "current", "total")
	if !ok {
		return nil
	}
	return &Chunks{Completed: current, Total: total}
}
