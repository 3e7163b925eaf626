package app

import (
	"context"
	"errors"
	"fmt"

	"gaffer/internal/attempt/runner"
	"gaffer/internal/engine/store"
	"gaffer/internal/flow/build"
	"gaffer/internal/flow/spec"
	"gaffer/internal/plan"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

// NewBuild describes a build to start.
type NewBuild struct {
	Plan  build.Plan
	Fresh bool // replace a build that is not complete
	Skip  bool // allow the build although an earlier step of the workflow is missing
}

// IncompleteError reports that a build exists that is not complete, so that a new one
// cannot start.
type IncompleteError struct{ Found BuildFound }

func (e *IncompleteError) Error() string {
	r := e.Found.Resume
	return fmt.Sprintf("found incomplete build %s (%d/%d chunks done)", r.Run.RunID, len(r.Done), r.Run.Total())
}

// Conflict marks the error as a conflict with the existing state.
func (e *IncompleteError) Conflict() bool { return true }

// Build submits a build of chunks and returns the id of the engine's run. The caller
// has approved the build. Nothing starts before Work.
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

// beginBuild makes the build the current step of the workflow's command. If no command
// is active, it begins one.
func (a *App) beginBuild(ctx context.Context, skip bool) error {
	return a.workflow().Update(ctx, func(root *jsontree.Node) error {
		state, _ := workflow.Read(root.Value())
		if state.CurrentCommand == "" {
			if _, err := workflow.BeginCommand(root, workflow.Execute); err != nil {
				return err
			}
			skip = true
		}
		again := state.WorkflowStep == workflow.ExecutorBuild // the step was allowed when it first began
		return workflow.BeginStep(root, workflow.ExecutorBuild, skip || again)
	})
}

// submitBuild writes the check files and submits the chunks.
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
		p.Parallel = 1 // chunks share one work tree
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

// spec reads the project's spec. It returns an empty one if the file is missing or
// unreadable.
func (a *App) spec() spec.Spec {
	s, _ := spec.Read(a.workflowDir())
	return s
}

// BuildFound describes the build in the project's workflow state.
type BuildFound struct {
	Run        *workflow.BuildRun // nil if there is no build
	Incomplete bool               // it has started and is not complete
	Resumable  bool               // [App.ResumeBuild] can continue it
	Problem    error              // why an incomplete build cannot continue
	Resume     workflow.Resume
	Health     workflow.Health
	Engine     string // id of the engine's run, if gaffer runs the build
	Status     store.Status
	Owner      int // pid of the gaffer that works on it, or 0
}

// FindBuild reads the build from the project's workflow state and the store.
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

// findEngine finds the engine's run of the build. It prefers a run that has not ended,
// even if the state file does not name it yet. Otherwise it takes told, the run that
// the state file names.
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
			if o := a.locks.Owner(run.ID); o.Alive {
				f.Owner = o.PID
			}
			return nil
		}
		return nil
	})
}

func buildOf(run store.Run) (*build.Build, error) {
	p, err := plan.DecodeHeader(run.Plan)
	if err != nil {
		return nil, fmt.Errorf("plan of run %s: %w", run.ID, err)
	}
	return build.Of(p.Build)
}

// abandon ends the engine's run of a build that a new one replaces.
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
