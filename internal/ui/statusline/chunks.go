package statusline

import (
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

// chunksOf returns the progress of the build. It counts the chunks, which are the parts of the
// build plan, in the build run. If the build run has no chunks, chunksOf reads chunkProgress, a
// value in the state that another program has written. It returns nil if the build is complete or
// its progress is unknown.
func chunksOf(state jsontree.Value, run *workflow.BuildRun) *Chunks {
	switch {
	case run != nil && run.Status == workflow.RunCompleted:
		return nil
	case run != nil && len(run.Chunks) > 0:
		if run.Outcome() == workflow.RunCompleted {
			return nil
		}
		c := &Chunks{
			Completed: run.Count(workflow.Completed),
			Active:    run.Count(workflow.Active, workflow.Retrying),
			Failed:    run.Count(workflow.Failed),
			Total:     run.Total(),
		}
		for _, chunk := range run.Chunks {
			if (chunk.Status == workflow.Active || chunk.Status == workflow.Retrying) && chunk.Attempt > 1 {
				c.Attempt = max(c.Attempt, chunk.Attempt)
			}
		}
		return c
	}
	for _, v := range []jsontree.Value{state.Get("chunkProgress"), state.Get("buildRun").Get("chunkProgress")} {
		if current, total, ok := pair(v, "current", "total"); ok {
			return &Chunks{Completed: current, Total: total}
		}
	}
	return nil
}
