package workflow

import (
	"fmt"
	"slices"
	"time"

	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"
)

// NewRun holds the approved plan for a new build.
type NewRun struct {
	Chunks           []Chunk // a chunk without an id gets its position in the list, from 1, as its id
	Priorities       []string
	PrioritySource   string
	SpecVersion      string
	ConvergencePhase string
	Fresh            bool // replace the existing run even if it could be resumed
}

// StartRun writes a new build run with the given plan to the state. If the state has a run that
// could be resumed, StartRun replaces it only if plan.Fresh is set; otherwise it returns a
// [*TransitionError].
func StartRun(root *jsontree.Node, plan NewRun, now time.Time) (BuildRun, error) {
	state, _ := Read(root.Value())
	if old := state.BuildRun; old != nil && !plan.Fresh && old.Outcome() == Running && old.Count(Completed) > 0 {
		return BuildRun{}, &TransitionError{
			What: "build " + old.RunID, From: string(old.Status), To: "replaced",
			Why: "it can be resumed; start fresh to give it up",
		}
	}
	chunks, err := plannedChunks(plan.Chunks)
	if err != nil {
		return BuildRun{}, err
	}
	run := BuildRun{
		RunID: fmt.Sprintf("run-%d", now.UnixMilli()), Status: Running, StartedAt: timestamp.Format(now),
		Plan: Plan{
			TotalChunks: len(chunks), Priorities: notNil(plan.Priorities),
			PrioritySource: plan.PrioritySource, SpecVersion: plan.SpecVersion,
		},
		Chunks: chunks, ConvergencePhase: plan.ConvergencePhase,
	}
	root.Set("buildRun", run)
	clearField(root, "chunkProgress")
	return run, nil
}

// ClearRun removes the build run, because it is completed or because the user starts
// over.
func ClearRun(root *jsontree.Node) {
	clearField(root, "buildRun")
	clearField(root, "chunkProgress")
}

// plannedChunks checks the chunks and returns them with the status planned, for a new run.
func plannedChunks(chunks []Chunk) ([]Chunk, error) {
	chunks = slices.Clone(chunks)
	ids := make([]ID, len(chunks))
	for i := range chunks {
		ids[i] = chunks[i].ID
	}
	fillIDs(ids)
	for i := range chunks {
		c := &chunks[i]
		if slices.Index(ids, ids[i]) != i || ids[i] == "" {
			return nil, &ArgumentError{What: "plan", Problem: fmt.Sprintf("two chunks have the id %q", ids[i])}
		}
		for _, id := range c.DependsOn {
			if !slices.Contains(ids, id) {
				return nil, &ArgumentError{What: "plan", Problem: fmt.Sprintf("chunk %s depends on %s, which is not in the plan", ids[i], id)}
			}
		}
		*c = Chunk{
			ID: ids[i], Name: c.Name, Status: Planned,
			Sections: notNil(c.Sections), Scenarios: notNil(c.Scenarios), DependsOn: notNil(c.DependsOn),
		}
	}
	return chunks, nil
}

// notNil returns list, or an empty list if it is nil. A nil list would be written as null, which
// some readers distinguish from an empty list.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
