package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"gaffer/internal/build"
	"gaffer/internal/engine"
	"gaffer/internal/runner"
	"gaffer/internal/spec"
	"gaffer/internal/store"
	"gaffer/internal/verify"
	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

// NewBuild is a build that a person wants.
type NewBuild struct {
	Plan  build.Plan
	Fresh bool // give up a build that could be resumed
	Skip  bool // go on although a step that should come before was not done
}

// IncompleteError is a build that could be resumed, where another is to begin.
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
	if found.Resumable && !n.Fresh {
		return "", &IncompleteError{found}
	}
	if err := a.beginBuild(ctx, n.Skip); err != nil {
		return "", err
	}
	if err := a.abandon(ctx, found); err != nil {
		return "", err
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

// verifyCommand is the hidden command that checks a chunk's work.
const verifyCommand = "verify"

// quoted is a text as a shell reads it.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

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

// checksFile is where the checks of a chunk are, and beside it what they said.
func (a *App) checksFile(checks, task string) string {
	return filepath.Join(a.workflowDir(), "verification", checks, task+".json")
}

func (a *App) writeChecks(s build.Start, c build.Chunk) error {
	if len(c.Verify) == 0 {
		return nil
	}
	file := a.checksFile(s.Checks, build.TaskName(c.ID))
	r := verify.Request{Chunk: workflow.Chunk{ID: c.ID.Workflow(), Name: c.Name}.Label(), Serve: c.Serve, Screenshot: strings.TrimSuffix(file, ".json") + ".png"}
	for _, check := range c.Verify {
		r.Checks = append(r.Checks, verify.Check{
			Name: check.Name, Command: check.Command, File: check.File, URL: check.URL, Status: check.Status,
			Contains: check.Contains, Screenshot: check.Screenshot, Timeout: verify.Duration(check.Timeout),
		})
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := statefile.MkdirAll(host.OS(), filepath.Dir(file)); err != nil {
		return err
	}
	if err := statefile.WriteNew(host.OS(), file, append(data, '\n'), 0o644); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// outcomes returns what the checks of an attempt said.
func (a *App) outcomes(checks string) func(task string, attempt int) (build.Outcome, bool) {
	return func(task string, attempt int) (build.Outcome, bool) {
		data, err := statefile.ReadBytes(host.OS(), verify.OutcomePath(a.checksFile(checks, task), attempt))
		var o verify.Outcome
		if err != nil || json.Unmarshal(data, &o) != nil {
			return build.Outcome{}, false
		}
		return build.Outcome{Checks: o.Checks, Mode: o.Mode, Summary: o.Summary, Screenshot: a.shown(o.Screenshot)}, true
	}
}

// BuildFound is the build that the project's state has.
type BuildFound struct {
	Run       *workflow.BuildRun // nil if there is none
	Resumable bool
	Resume    workflow.Resume
	Health    workflow.Health
	Engine    string // the engine's run, if gaffer runs it
	Status    store.Status
	Owner     int // the pid of the gaffer that works on it, 0 if none does
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
		f.Resume, f.Resumable = f.Run.Resume(a.spec().Workflow())
		// A build of ours that was killed before its first chunk was done goes
		// on all the same.
		f.Resumable = f.Resumable || f.Engine != "" && !f.Status.Final()
	}
	return f, nil
}

// findEngine finds the run of the engine that is the build: one that goes on,
// whether or not the state tells of it yet, or else the one that the state tells
// of.
func (a *App) findEngine(ctx context.Context, told string, f *BuildFound) error {
	return a.store.Read(ctx, func(r store.Reader) error {
		runs, err := a.runs(r, false, false)
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
	ctx, cancel := context.WithTimeout(ctx, endWithin)
	defer cancel()
	err := a.Cancel(ctx, f.Engine, "", "the build starts fresh")
	if late := (*engine.ConflictError)(nil); err != nil && !errors.As(err, &late) {
		return err
	}
	for {
		over, err := a.runOver(ctx, f.Engine)
		if over || err != nil {
			return err
		}
		err = a.collect(ctx, f.Engine, func(store.Task) bool { return true })
		if owned := (*OwnedError)(nil); err != nil && !errors.As(err, &owned) {
			return err
		}
		pause(ctx, watchEvery)
	}
}

func (a *App) runOver(ctx context.Context, id string) (over bool, err error) {
	err = a.store.Read(ctx, func(r store.Reader) error {
		run, err := r.Run(id)
		over = run.Status.Final()
		return err
	})
	return over, err
}

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
	if err := a.canPut(*f.Run); err != nil {
		return "", err
	}
	if err := a.abandon(ctx, f); err != nil {
		return "", err
	}
	if err := a.beginBuild(ctx, true); err != nil {
		return "", err
	}
	return a.submitBuild(ctx, p, s)
}

// canPut tries on a copy whether the state can say how the build goes on.
func (a *App) canPut(run workflow.BuildRun) error {
	value, err := a.workflow().Load()
	if err != nil {
		return err
	}
	doc, err := jsontree.Parse(value.Raw())
	if err != nil {
		return err
	}
	if err := workflow.PutRun(doc.Root(), run); err != nil {
		return &build.StateError{Problem: err.Error()}
	}
	return nil
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

// building writes the documents of a build while its run goes on.
type building struct {
	app   *App
	run   string
	store *workflow.Store
	story *build.Story
	told  []build.Told
	seq   int64 // the last event that was taken in
	gone  error // why nothing is written any more
}

// building returns who writes the documents of a run that is a build, else nil.
func (a *App) building(r store.Reader, run store.Run) (*building, error) {
	b, err := buildOf(run)
	if err != nil || b == nil {
		return nil, err
	}
	tasks, err := r.Tasks(run.ID)
	if err != nil || len(tasks) == 0 {
		return nil, err
	}
	before := tasks[0].Seq - 2 // a task has the number of its own first event, and that of the first follows the run's
	return &building{app: a, run: run.ID, store: a.workflow(), story: build.NewStory(*b), seq: before}, nil
}

// Run writes what happens until ctx ends.
func (b *building) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := b.Flush(ctx); err != nil && ctx.Err() == nil {
			b.app.opts.Notice(fmt.Sprintf("the state of the build is behind: %v; it is tried again", err))
			pause(ctx, time.Second)
			continue
		}
		if err := b.app.store.Wait(ctx, b.seq); err != nil {
			pause(ctx, time.Second)
		}
		pause(ctx, buildPace)
	}
}

// buildPace is how long events are gathered before the state is written.
const buildPace = 50 * time.Millisecond

// Flush writes all that has happened so far.
func (b *building) Flush(ctx context.Context) error {
	if b.gone != nil {
		return nil
	}
	if err := b.catchUp(ctx); err != nil {
		return err
	}
	s := b.app.spec()
	world := build.World{SpecVersion: s.Version, Number: func(alias string) string {
		section, _ := s.Section(alias)
		return section.Number
	}}
	err := b.store.Record(ctx, func(root *jsontree.Node) ([]jsontree.Value, error) {
		return b.story.Write(root, b.run, b.told, b.seq, world)
	})
	if replaced := (*build.ReplacedError)(nil); errors.As(err, &replaced) {
		b.gone = err
		b.app.opts.Notice(err.Error())
		return nil
	}
	if err == nil {
		b.told = nil
	}
	return err
}

func (b *building) catchUp(ctx context.Context) error {
	for {
		var events []store.Event
		err := b.app.store.Read(ctx, func(r store.Reader) (err error) {
			events, err = r.Events(b.seq, 1000)
			return err
		})
		if err != nil || len(events) == 0 {
			return err
		}
		for _, e := range events {
			b.seq = e.Seq
			if e.Run != b.run {
				continue
			}
			told, err := b.story.Take(e, b.app.outcomes(b.story.Build.Checks))
			if err != nil {
				return err
			}
			b.told = append(b.told, told...)
		}
	}
}

// BuildFeed is the whole story of a build, from the store: what its feed must
// have said.
func (a *App) BuildFeed(ctx context.Context, id string) ([]workflow.Event, error) {
	s, _, err := a.look(ctx, id)
	if err != nil {
		return nil, err
	}
	if s.build == nil {
		return nil, &NothingError{fmt.Sprintf("run %s is none", id)}
	}
	if err := s.build.catchUp(ctx); err != nil {
		return nil, err
	}
	var feed []jsontree.Value
	for _, t := range s.build.told {
		event, err := t.Draft.Event(t.At)
		if err != nil {
			return nil, err
		}
		feed = append(feed, event)
	}
	return workflow.Events(feed), nil
}
