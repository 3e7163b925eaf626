package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"gaffer/internal/attempt/runner"
	"gaffer/internal/engine/store"
	"gaffer/internal/flow/build"
	"gaffer/internal/flow/spec"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

// NewBuild is a build that a person wants.
type NewBuild struct {
	Plan  build.Plan
	Fresh bool // replace a build that is not completed
	Skip  bool // go on although a step that should come before was not done
}

// IncompleteError is a build that is not completed, where another is to begin.
type IncompleteError struct{ Found BuildFound }

func (e *IncompleteError) Error() string {
	r := e.Found.Resume
	return fmt.Sprintf("found incomplete build %s (%d/%d chunks done)", r.Run.RunID, len(r.Done), r.Run.Total())
}

// Conflict marks the error as one about what is there already.
func (e *IncompleteError) Conflict() bool { return true }

// Build submits a build of chunks, approved by whoever calls, and returns the
// engine's run. Nothing runs before Work.
func (a *App) Build(ctx context.Context, n NewBuild) (string, error) {
	found, err := a.FindBuild(ctx)
	if err != nil {
		return "", err
	}
	if found.Incomplete && !n.Fresh {
		return "", &IncompleteError{found}
	}
	if err := a.beginBuild(ctx, n.Skip); err != nil {
		return "", err
	}
	if err := a.abandon(ctx, found); err != nil {
		return "", err
	}
	kept, err := a.workflow().KeepRun()
	if err != nil {
		return "", err
	}
	if kept != "" {
		a.opts.Notice(fmt.Sprintf("the build that was there is kept as %s", kept))
	}
	return a.submitBuild(ctx, n.Plan, build.Start{RunID: fmt.Sprintf("run-%d", a.opts.Now().UnixMilli())})
}

// beginBuild makes the build the step of the workflow's command. Where no
// workflow is under way a build is one by itself.
func (a *App) beginBuild(ctx context.Context, skip bool) error {
	return a.workflow().Update(ctx, func(root *jsontree.Node) error {
		state, _ := workflow.Read(root.Value())
		if state.CurrentCommand == "" {
			if _, err := workflow.BeginCommand(root, workflow.Execute); err != nil {
				return err
			}
			skip = true
		}
		again := state.WorkflowStep == workflow.ExecutorBuild // it was let through when it was begun
		return workflow.BeginStep(root, workflow.ExecutorBuild, skip || again)
	})
}

// submitBuild writes what the checks need and submits the chunks.
func (a *App) submitBuild(ctx context.Context, p build.Plan, s build.Start) (string, error) {
	s.Now, s.SpecVersion = a.opts.Now(), a.spec().Version
	state, err := a.workflow().State()
	if err != nil {
		return "", err
	}
	s.Command = state.CurrentCommand
	s.Checks = fmt.Sprintf("%s.%d", s.RunID, s.Now.UnixMilli())
	s.VerifyCommand = func(c build.Chunk) string {
		return fmt.Sprintf(`"$%s" %s %s`, runner.SelfEnv, verifyCommand, quoted(a.checksFile(s.Checks, build.TaskName(c.ID))))
	}
	if p.Parallel == 0 {
		p.Parallel = 1 // they share one work tree
	}
	_, engines, err := build.New(p, s)
	if err != nil {
		return "", err
	}
	for _, c := range p.Chunks {
		if err := a.writeChecks(s, c); err != nil {
			return "", err
		}
	}
	return a.Submit(ctx, engines)
}

func (a *App) workflowDir() string { return a.opts.Config.Path("paths.workflow") }

func (a *App) workflow() *workflow.Store {
	return workflow.Open(a.workflowDir(), workflow.Options{Now: a.opts.Now, LockTimeout: a.opts.Config.Duration("lock_timeout")})
}

// spec reads the project's spec. One that is not there, or cannot be read, is
// empty.
func (a *App) spec() spec.Spec {
	s, _ := spec.Read(a.workflowDir())
	return s
}

// BuildFound is the build that the project's state has.
type BuildFound struct {
	Run        *workflow.BuildRun // nil if there is none
	Incomplete bool               // it was begun and not completed
	Resumable  bool               // [App.ResumeBuild] can continue it
	Problem    error              // why it cannot, if it is not completed
	Resume     workflow.Resume
	Health     workflow.Health
	Engine     string // the engine's run, if gaffer runs it
	Status     store.Status
	Owner      int // the pid of the gaffer that works on it, 0 if none does
}

// FindBuild looks at the build in the project's state.
func (a *App) FindBuild(ctx context.Context) (BuildFound, error) {
	value, err := a.workflow().Load()
	if err != nil {
		return BuildFound{}, err
	}
	state, _ := workflow.Read(value)
	f := BuildFound{Run: state.BuildRun}
	f.Health = workflow.ContextHealth(workflow.Events(state.BuildEvents), state.BuildRun, 0)
	engineRun, _ := build.Cursor(value)
	if err := a.findEngine(ctx, engineRun, &f); err != nil {
		return f, err
	}
	if f.Run != nil {
		f.Resume, _ = f.Run.Resume(a.spec().Workflow())
		live := f.Engine != "" && !f.Status.Final()
		begun := f.Run.Count("", workflow.Planned) < len(f.Run.Chunks)
		f.Incomplete = live || begun && len(f.Resume.Remaining) > 0
		if len(f.Resume.Remaining) > 0 && !live {
			_, f.Problem = a.remainingOf(ctx, f, nil)
		}
		f.Resumable = live || len(f.Resume.Remaining) > 0 && f.Problem == nil
	}
	return f, nil
}

// findEngine finds the run of the engine that is the build: one that goes on,
// whether or not the state tells of it yet, or else the one that the state tells
// of.
func (a *App) findEngine(ctx context.Context, told string, f *BuildFound) error {
	return a.store.Read(ctx, func(r store.Reader) error {
		runs, err := a.runs(r, false)
		if err != nil {
			return err
		}
		if run, err := r.Run(told); err == nil {
			runs = append(runs, run)
		} else if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		for _, run := range runs {
			b, err := buildOf(run)
			if err != nil {
				return err
			}
			if b == nil || run.Status.Final() && (f.Run == nil || b.Run.RunID != f.Run.RunID) {
				continue
			}
			if f.Run == nil || f.Run.RunID != b.Run.RunID {
				f.Run = &b.Run
			}
			f.Engine, f.Status = run.ID, run.Status
			if o := a.owner(run.ID); o.Alive {
				f.Owner = o.PID
			}
			return nil
		}
		return nil
	})
}

func buildOf(run store.Run) (*build.Build, error) {
	var p struct{ Build json.RawMessage }
	if err := json.Unmarshal(run.Plan, &p); err != nil {
		return nil, fmt.Errorf("plan of run %s: %w", run.ID, err)
	}
	return build.Of(p.Build)
}

// abandon ends the engine's run of a build that is given up.
func (a *App) abandon(ctx context.Context, f BuildFound) error {
	if f.Engine == "" || f.Status.Final() {
		return nil
	}
	return a.endRun(ctx, f.Engine, "the build starts fresh")
}

func (a *App) runOver(ctx context.Context, id string) (over bool, err error) {
	err = a.store.Read(ctx, func(r store.Reader) error {
		run, err := r.Run(id)
		over = run.Status.Final()
		return err
	})
	return over, err
}
