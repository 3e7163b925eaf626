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
	// A chunk (a part of the build) without an id gets its position in the list as its id, counted
	// from 1.
	Chunks           []Chunk
	Priorities       []string
	PrioritySource   string
	SpecVersion      string
	ConvergencePhase string
	Fresh            bool // replace the existing run even if it could be resumed
}

// StartRun writes a new build run with the given plan to the state, in place of an existing one. If
// the existing build run can be resumed and plan.Fresh is not set, StartRun returns a
// [*TransitionError] instead.
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

// ClearRun removes the build run and its progress from the state.
func ClearRun(root *jsontree.Node) {
	clearField(root, "buildRun")
	clearField(root, "chunkProgress")
}

// plannedChunks checks the chunks of a plan. It returns copies of them for a new build run, with
// the status planned.
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

// notNil returns list, or an empty list if list is nil. In JSON, a nil list would be null, which
// some programs distinguish from an empty list.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
