package statusline

import (
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

// chunksOf returns the progress of a build, in which agents implement the project's spec in parts
// that are called chunks. It counts the chunks of the parameter run. If run has no chunks, chunksOf
// uses the value chunkProgress in state.json, which another program may have written. It returns
// nil if the build is complete or its progress is unknown.
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
