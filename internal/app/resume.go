package app

import (
	"context"
	"fmt"

	"gaffer/internal/build"
	"gaffer/internal/store"
	"gaffer/workflow"
)

// Resumption is how an interrupted build goes on.
type Resumption struct {
	// Rebuild are completed chunks that are built again.
	Rebuild []workflow.ID
	// Plan is where the words come from for chunks that gaffer did not submit;
	// without it they are made from what the state says of them.
	Plan *build.Plan
}

// NothingError is that there is no build to resume.
type NothingError struct{ Why string }

func (e *NothingError) Error() string { return "no build can be resumed: " + e.Why }

// NotFound marks the error as one about something that is not there.
func (e *NothingError) NotFound() bool { return true }

// ResumeBuild returns the engine's run that goes on with the build in the state:
// the one that was interrupted, or, if chunks are to be built again or gaffer has
// not run it, another one of what is left.
func (a *App) ResumeBuild(ctx context.Context, r Resumption) (string, error) {
	f, err := a.FindBuild(ctx)
	switch {
	case err != nil:
		return "", err
	case f.Run == nil:
		return "", &NothingError{"the state has none"}
	case f.Engine != "" && !f.Status.Final() && len(r.Rebuild) == 0:
		return f.Engine, nil
	}
	p, err := a.planOf(ctx, f, r.Plan)
	if err != nil {
		return "", err
	}
	s := build.Start{RunID: f.Run.RunID, Done: map[workflow.ID]workflow.Chunk{}}
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
	if len(s.Done) == len(p.Chunks) {
		return "", &NothingError{"every chunk is completed"}
	}
	if err := a.abandon(ctx, f); err != nil {
		return "", err
	}
	if err := a.beginBuild(ctx, true); err != nil {
		return "", err
	}
	return a.submitBuild(ctx, p, s)
}

// BuildPlan returns the plan of the build in the state.
func (a *App) BuildPlan(ctx context.Context) (build.Plan, error) {
	f, err := a.FindBuild(ctx)
	if err != nil {
		return build.Plan{}, err
	}
	if f.Run == nil {
		return build.Plan{}, &NothingError{"the state has none"}
	}
	return a.planOf(ctx, f, nil)
}

// planOf is the plan of the build in the state: as it was submitted, as the
// person names it, or as far as the state tells.
func (a *App) planOf(ctx context.Context, f BuildFound, given *build.Plan) (build.Plan, error) {
	if given != nil {
		return *given, nil
	}
	if f.Engine != "" {
		var run store.Run
		err := a.store.Read(ctx, func(r store.Reader) (err error) {
			run, err = r.Run(f.Engine)
			return err
		})
		if err != nil {
			return build.Plan{}, err
		}
		if b, err := buildOf(run); err == nil && b != nil && b.Source != nil {
			return *b.Source, nil
		}
	}
	return build.FromState(*f.Run)
}
