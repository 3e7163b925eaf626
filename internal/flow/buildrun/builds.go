// Package buildrun starts, finds and continues the build of a project. In a build, agents do the
// parts (chunks) of a larger plan. While the run of the build is active, the package also writes
// the documents of the workflow protocol.
package buildrun

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gaffer/internal/attempt/runlock"
	"gaffer/internal/engine/store"
	"gaffer/internal/flow/build"
	"gaffer/internal/flow/spec"
	"gaffer/internal/plan"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

// Project describes the project of a build, and how the build's documents are written.
type Project struct {
	Root        string // path of the project's root
	Workflow    string // path of the folder with the documents of the build
	LockTimeout time.Duration
	Now         func() time.Time
	Notice      func(text string) // prints a message to the user
}

func (p Project) open() *workflow.Store {
	return workflow.Open(p.Workflow, workflow.Options{Now: p.Now, LockTimeout: p.LockTimeout})
}

// spec reads the project's spec. If the file is missing or unreadable, it returns an empty spec.
func (p Project) spec() spec.Spec {
	s, _ := spec.Read(p.Workflow)
	return s
}

// Options are the dependencies of [Builds].
type Options struct {
	Project Project
	Store   store.Store
	// Runs returns the project's runs that have not ended, newest first.
	Runs  func(r store.Reader) ([]store.Run, error)
	Locks runlock.Locks
	// Submit stores a plan as a run of the project and returns the run's id.
	Submit func(ctx context.Context, p plan.Plan) (run string, err error)
	// EndRun cancels a run and waits until it has ended.
	EndRun func(ctx context.Context, run, why string) error
	// VerifyCommand returns the shell command that performs the checks that are described in a
	// file.
	VerifyCommand func(file string) string
}

// Builds starts and continues the build of a project. A project has one build at a
// time.
type Builds struct {
	opts    Options
	project Project
	state   *workflow.Store
}

// New returns a Builds for opts.Project.
func New(opts Options) *Builds {
	return &Builds{opts: opts, project: opts.Project, state: opts.Project.open()}
}

// Request describes a build to start.
type Request struct {
	Plan  build.Plan
	Fresh bool // replace an incomplete build
	Skip  bool // start even if an earlier step of the workflow is not done
}

// IncompleteError reports that a new build cannot start, because an incomplete build exists.
type IncompleteError struct{ Found Found }

func (e *IncompleteError) Error() string {
	r := e.Found.Resume
	return fmt.Sprintf("found incomplete build %s (%d/%d chunks done)", r.Run.RunID, len(r.Done), r.Run.Total())
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *IncompleteError) Conflict() bool { return true }

// Start submits a build and returns the id of the engine's run. The caller must make sure that the
// user has approved the build. Agents start when a gaffer process executes the run. If an
// incomplete build exists and n.Fresh is set, Start ends the run of that build. If n.Fresh is not
// set, Start returns an [*IncompleteError].
func (b *Builds) Start(ctx context.Context, n Request) (string, error) {
	found, err := b.Find(ctx)
	if err != nil {
		return "", err
	}
	if found.Incomplete && !n.Fresh {
		return "", &IncompleteError{found}
	}
	if err := b.beginStep(ctx, n.Skip); err != nil {
		return "", err
	}
	if err := b.abandon(ctx, found); err != nil {
		return "", err
	}
	kept, err := b.state.KeepRun()
	if err != nil {
		return "", err
	}
	if kept != "" {
		b.project.Notice(fmt.Sprintf("the previous build is kept as %s", kept))
	}
	return b.submit(ctx, n.Plan, build.Start{RunID: fmt.Sprintf("run-%d", b.project.Now().UnixMilli())})
}

// beginStep makes the build the current step of the active workflow command. If no command is
// active, it begins [workflow.Execute]. If an earlier step of an active command is not done,
// beginStep returns an error, unless skip is set or the build is already the current step.
func (b *Builds) beginStep(ctx context.Context, skip bool) error {
	return b.state.Update(ctx, func(root *jsontree.Node) error {
		state, _ := workflow.Read(root.Value())
		if state.CurrentCommand == "" {
			if _, err := workflow.BeginCommand(root, workflow.Execute); err != nil {
				return err
			}
			skip = true
		}
		// If the build's step is already the current step, do not check the earlier steps again.
		again := state.WorkflowStep == workflow.ExecutorBuild
		return workflow.BeginStep(root, workflow.ExecutorBuild, skip || again)
	})
}

// submit writes the files that describe the checks, and submits the chunks of the build as the
// tasks of a run. It returns the id of the run.
func (b *Builds) submit(ctx context.Context, p build.Plan, s build.Start) (string, error) {
	s.Now, s.SpecVersion = b.project.Now(), b.project.spec().Version
	state, err := b.state.State()
	if err != nil {
		return "", err
	}
	s.Command = state.CurrentCommand
	s.Checks = fmt.Sprintf("%s.%d", s.RunID, s.Now.UnixMilli())
	s.VerifyCommand = func(c build.Chunk) string {
		return b.opts.VerifyCommand(b.project.checksFile(s.Checks, build.TaskName(c.ID)))
	}
	// By default, run the chunks one after the other, because they share one working tree.
	if p.Parallel == 0 {
		p.Parallel = 1
	}
	_, tasks, err := build.New(p, s)
	if err != nil {
		return "", err
	}
	for _, c := range p.Chunks {
		if err := b.project.writeChecks(s, c); err != nil {
			return "", err
		}
	}
	return b.opts.Submit(ctx, tasks)
}

// abandon ends the engine's run of the build f, because a new run replaces it. It does nothing if
// the run has already ended.
func (b *Builds) abandon(ctx context.Context, f Found) error {
	if f.Engine == "" || f.Status.Final() {
		return nil
	}
	return b.opts.EndRun(ctx, f.Engine, "the build starts fresh")
}

// Found describes the build in the project's workflow state.
type Found struct {
	// Run is the build run in the workflow state. If the engine has an active run whose build is
	// not in the state yet, Run is the build run of that build. Run is nil if there is no build.
	Run        *workflow.BuildRun
	Incomplete bool // the build has started and is not complete
	Resumable  bool // [Builds.Resume] can continue the build
	// Problem says why the remaining chunks cannot be built. It is nil if they can be built, if no
	// chunks remain, or while the engine's run is active.
	Problem error
	Resume  workflow.Resume
	Health  workflow.Health
	Engine  string // id of the engine's run; empty if there is none
	Status  store.Status
	Owner   int // pid of the gaffer process that executes the run; 0 if there is none
}

// Find reads the build from the project's workflow state, and the engine's run of the build from
// the store.
func (b *Builds) Find(ctx context.Context) (Found, error) {
	value, err := b.state.Load()
	if err != nil {
		return Found{}, err
	}
	state, _ := workflow.Read(value)
	f := Found{Run: state.BuildRun}
	f.Health = workflow.ContextHealth(workflow.Events(state.BuildEvents), state.BuildRun, 0)
	engineRun, _ := build.Cursor(value)
	if err := b.findEngine(ctx, engineRun, &f); err != nil {
		return f, err
	}
	if f.Run != nil {
		f.Resume, _ = f.Run.Resume(b.project.spec().Workflow())
		live := f.Engine != "" && !f.Status.Final()
		begun := f.Run.Count("", workflow.Planned) < len(f.Run.Chunks)
		f.Incomplete = live || begun && len(f.Resume.Remaining) > 0
		if len(f.Resume.Remaining) > 0 && !live {
			_, f.Problem = b.remainingOf(ctx, f, nil)
		}
		f.Resumable = live || len(f.Resume.Remaining) > 0 && f.Problem == nil
	}
	return f, nil
}

// findEngine finds the engine's run of the build, and sets the fields of f that describe it. It
// prefers a run that has not ended, even if the workflow state does not name that run yet. If all
// runs have ended, findEngine uses the run that the workflow state names. named is the id of that
// run, or empty if the state names none.
func (b *Builds) findEngine(ctx context.Context, named string, f *Found) error {
	return b.opts.Store.Read(ctx, func(r store.Reader) error {
		runs, err := b.opts.Runs(r)
		if err != nil {
			return err
		}
		if run, err := r.Run(named); err == nil {
			runs = append(runs, run)
		} else if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		for _, run := range runs {
			made, err := BuildOf(run)
			if err != nil {
				return err
			}
			if made == nil || run.Status.Final() && (f.Run == nil || made.Run.RunID != f.Run.RunID) {
				continue
			}
			if f.Run == nil || f.Run.RunID != made.Run.RunID {
				f.Run = &made.Run
			}
			f.Engine, f.Status = run.ID, run.Status
			if o := b.opts.Locks.Owner(run.ID); o.Alive {
				f.Owner = o.PID
			}
			return nil
		}
		return nil
	})
}

// BuildOf returns the build of a run, or nil if the run is not a build.
func BuildOf(run store.Run) (*build.Build, error) {
	p, err := plan.DecodeHeader(run.Plan)
	if err != nil {
		return nil, fmt.Errorf("plan of run %s: %w", run.ID, err)
	}
	return build.Of(p.Build)
}
