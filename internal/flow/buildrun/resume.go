package buildrun

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"gaffer/internal/engine/store"
	"gaffer/internal/flow/build"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

// Resumption describes how to continue an interrupted build.
type Resumption struct {
	// Rebuild holds the ids of completed chunks (parts of the build) to build again.
	Rebuild []workflow.ID
	// Plan is the plan with which the build continues. If it is nil, the build continues with the
	// plan that was submitted. If gaffer's database has no such plan, the plan is derived from the
	// workflow state.
	Plan *build.Plan
}

// NothingError reports that there is no build, that nothing is left to build, or that a chunk
// cannot be built again because it is not completed.
type NothingError struct{ Why string }

func (e *NothingError) Error() string { return "no build can be resumed: " + e.Why }

// NotFound returns true, so that commands exit with code 3 and the server answers with status 404.
func (e *NothingError) NotFound() bool { return true }

// Resume returns the id of the engine's run that continues the build in the workflow state. If the
// current run of the build has not ended, and no chunk is to be rebuilt, Resume returns the id of
// that run. Otherwise it ends that run and submits a new run with the remaining chunks and those to
// rebuild.
func (b *Builds) Resume(ctx context.Context, r Resumption) (string, error) {
	f, err := b.Find(ctx)
	switch {
	case err != nil:
		return "", err
	case f.Run == nil:
		return "", &NothingError{"the state has none"}
	case f.Engine != "" && !f.Status.Final() && len(r.Rebuild) == 0:
		return f.Engine, nil
	}
	if len(f.Resume.Remaining) == 0 && len(r.Rebuild) == 0 {
		return "", &NothingError{"every chunk is completed"}
	}
	p, err := b.planOf(ctx, f, r.Plan)
	if len(r.Rebuild) == 0 {
		p, err = b.remainingOf(ctx, f, r.Plan)
	}
	if err != nil {
		return "", err
	}
	s := build.Start{RunID: f.Run.RunID, Done: map[workflow.ID]workflow.Chunk{}, Held: map[workflow.ID]workflow.Chunk{}}
	for _, h := range f.Resume.Held {
		s.Held[h.ID] = h.Chunk
	}
	again := map[workflow.ID]bool{}
	for _, id := range r.Rebuild {
		again[id] = true
	}
	for _, c := range f.Resume.Done {
		if !again[c.ID] {
			s.Done[c.ID] = c
		}
		delete(again, c.ID)
	}
	for id := range again {
		return "", &NothingError{fmt.Sprintf("chunk %s is not completed, so it cannot be built again", id)}
	}
	if err := b.abandon(ctx, f); err != nil {
		return "", err
	}
	if err := b.beginStep(ctx, true); err != nil {
		return "", err
	}
	return b.submit(ctx, p, s)
}

// HeldError reports that a build can continue only after the user has done a chunk that gaffer must
// not build.
type HeldError struct{ Held []workflow.Held }

func (e *HeldError) Error() string {
	first := e.Held[0]
	text := "no remaining chunk is for an agent: " + strings.ReplaceAll(first.Label()+" "+first.Why, "\n", " ")
	if first.Note != "" {
		text += ": " + first.Note
	}
	return text
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *HeldError) Conflict() bool { return true }

// Hint returns what the user can do next.
func (e *HeldError) Hint() string {
	return fmt.Sprintf("do what it asks, then 'gaffer build done %s' marks it done", e.Held[0].ID)
}

// remainingOf returns the plan with which the build f continues. given is the plan that the user
// named, or nil. If all remaining chunks are chunks that gaffer must not build, remainingOf returns
// a [*HeldError].
func (b *Builds) remainingOf(ctx context.Context, f Found, given *build.Plan) (build.Plan, error) {
	p, err := b.planOf(ctx, f, given)
	if err == nil && len(f.Resume.Held) == len(f.Resume.Remaining) {
		err = &HeldError{f.Resume.Held}
	}
	return p, err
}

// CompleteChunk marks a chunk as completed by the user, and returns the chunk as it was before. It
// returns a [*BuiltError] if an active run builds the chunk.
func (b *Builds) CompleteChunk(ctx context.Context, id workflow.ID) (workflow.Chunk, error) {
	f, err := b.Find(ctx)
	if err != nil {
		return workflow.Chunk{}, err
	}
	if f.Run == nil {
		return workflow.Chunk{}, &NothingError{"the state has none"}
	}
	chunk := workflow.Chunk{ID: id}
	for _, c := range f.Run.Chunks {
		if c.ID == id {
			chunk = c
		}
	}
	if f.Engine != "" && !f.Status.Final() {
		var run store.Run
		err := b.opts.Store.Read(ctx, func(r store.Reader) (err error) {
			run, err = r.Run(f.Engine)
			return err
		})
		if err != nil {
			return chunk, err
		}
		if made, err := BuildOf(run); err != nil || made != nil && made.Tasks[string(id)] != "" {
			return chunk, cmp.Or(err, error(&BuiltError{f.Engine, id}))
		}
	}
	return chunk, b.state.Record(ctx, func(root *jsontree.Node) ([]jsontree.Value, error) {
		if err := workflow.CompleteByHand(root, id, b.project.Now()); err != nil {
			return nil, err
		}
		event, err := workflow.Draft{Kind: workflow.ChunkCompleted, Fields: []workflow.Field{
			{Name: "chunk", Value: chunk.Label()}, {Name: "summary", Value: chunk.Label() + " was marked done by the user"},
		}}.Event(b.project.Now())
		return []jsontree.Value{event}, err
	})
}

// BuiltError reports that the user cannot mark a chunk as completed, because an active run builds
// it.
type BuiltError struct {
	Run   string
	Chunk workflow.ID
}

func (e *BuiltError) Error() string {
	return fmt.Sprintf("chunk %s: run %s builds it", e.Chunk, e.Run)
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *BuiltError) Conflict() bool { return true }

// Hint returns what the user can do next.
func (e *BuiltError) Hint() string {
	return fmt.Sprintf("'gaffer cancel %s' ends the run first", e.Run)
}

// Plan returns the plan of the build in the workflow state.
func (b *Builds) Plan(ctx context.Context) (build.Plan, error) {
	f, err := b.Find(ctx)
	if err != nil {
		return build.Plan{}, err
	}
	if f.Run == nil {
		return build.Plan{}, &NothingError{"the state has none"}
	}
	return b.planOf(ctx, f, nil)
}

// planOf returns the plan of the build f. If the argument plan is not nil, planOf returns it.
// Otherwise it returns the plan that was submitted or, if gaffer's database has no such plan, a
// plan that is derived from the workflow state.
func (b *Builds) planOf(ctx context.Context, f Found, plan *build.Plan) (build.Plan, error) {
	if plan != nil {
		return *plan, nil
	}
	if f.Engine != "" {
		var run store.Run
		err := b.opts.Store.Read(ctx, func(r store.Reader) (err error) {
			run, err = r.Run(f.Engine)
			return err
		})
		if err != nil {
			return build.Plan{}, err
		}
		if made, err := BuildOf(run); err == nil && made != nil && made.Source != nil {
			return *made.Source, nil
		}
	}
	return build.FromState(*f.Run)
}
