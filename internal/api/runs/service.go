// Package runs implements the coordinator's requests about runs. Clients submit plans, read, cancel
// and retry runs, answer questions, and read the logs, documents and records of runs.
//
// Each run of a coordinator belongs to a project, which has a name. All tasks of the run have a
// label with the project's name, so that only workers of the project take them. The service keeps
// no state except caches, so several coordinators can share one store.
package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/api/protocol"
	"gaffer/internal/api/server"
	"gaffer/internal/engine"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/internal/plan/secret"
)

// Options configures a Service.
type Options struct {
	Store  store.Store
	Engine *engine.Engine // the engine that writes to Store
	Now    func() time.Time
	Random io.Reader
	Logs   Logs

	// File returns the log file of an attempt that ran on this machine. ok is false if this machine
	// has no log file of the attempt. A nil File means that all logs are in the store.
	File func(run store.Run, a store.Attempt) (path string, ok bool)
	// Annotate adds information that is not in the store to v, a run that is sent to a client. It
	// may be nil.
	Annotate func(v *fleet.Run, run store.Run)

	// EnsureProcess starts a process on this machine for a run that is limited to this machine,
	// unless a process already works on the run. It is called after a user has changed the run. It
	// is nil if no run needs a process.
	EnsureProcess func(ctx context.Context, run string) error

	// DefaultBranch returns the branch of a task that has a worktree and whose plan does not name a
	// branch. If DefaultBranch is nil, clients do not get the branch of such a task.
	DefaultBranch func(run, task string) string

	// Hide reports whether a run is internal, such as the run with the tasks of a channel. Clients
	// cannot find internal runs. If Hide is nil, no run is internal.
	Hide func(run store.Run) bool
	// AddMergeTasks returns the plan p with added tasks that merge the branches of other tasks. run
	// is the id of the new run. If AddMergeTasks is nil, no tasks are added.
	AddMergeTasks func(p plan.Plan, run string) (plan.Plan, error)
	// Limits returns the user's limits of what agents may cost. If Limits is nil, there are none.
	Limits func() engine.Limits
	// NotStarted returns the planned times at which a schedule should have started a run but did
	// not. Morning reports list these times. For the parameters see [runquery.Options].
	NotStarted func(r store.Reader, project string, since time.Time) ([]fleet.MorningFire, error)

	// SearchTime is how long a search may take. After that time, the search returns what it has
	// found so far. The default is one second.
	SearchTime time.Duration
}

// Service implements [server.Runs]. It is safe for concurrent use. Each embedded type answers the
// requests about one subject.
type Service struct {
	*runReader
	*runningAttempts
	*runChanger
	*questionService
	*reviewService
	*logReader
	*documentReader
}

var _ server.Runs = (*Service)(nil)

// New returns a service with the given options.
func New(opts Options) *Service {
	if opts.EnsureProcess == nil {
		opts.EnsureProcess = func(context.Context, string) error { return nil }
	}
	if opts.Hide == nil {
		opts.Hide = func(store.Run) bool { return false }
	}
	runs := &visibleRuns{opts.Store, opts.Hide}
	query := runquery.New(opts.Store, runquery.Options{Hide: opts.Hide, Annotate: opts.Annotate, Limits: opts.Limits, Now: opts.Now, NotStarted: opts.NotStarted})
	process := ensureProcess(opts.EnsureProcess)
	return &Service{
		runReader:       &runReader{store: opts.Store, runs: runs, query: query, now: opts.Now, searchTime: cmp.Or(opts.SearchTime, defaultSearchTime)},
		runningAttempts: &runningAttempts{store: opts.Store, runs: runs, branch: opts.DefaultBranch},
		runChanger: &runChanger{
			runs: runs, query: query, engine: opts.Engine, now: opts.Now, random: opts.Random,
			addMergeTasks: opts.AddMergeTasks, ensureProcess: process,
		},
		questionService: &questionService{store: opts.Store, runs: runs, query: query, engine: opts.Engine, ensureProcess: process},
		reviewService:   &reviewService{runs: runs, engine: opts.Engine, ensureProcess: process},
		logReader:       &logReader{store: opts.Store, runs: runs, now: opts.Now, logs: opts.Logs, file: opts.File},
		documentReader:  &documentReader{store: opts.Store, runs: runs, query: query, now: opts.Now},
	}
}

// visibleRuns finds runs that are not hidden from clients.
type visibleRuns struct {
	store store.Store
	hide  func(run store.Run) bool
}

// find returns a run, or a not-found error if it does not exist or is hidden.
func (v *visibleRuns) find(r store.Reader, id string) (store.Run, error) {
	run, err := r.Run(id)
	if err == nil && v.hide(run) {
		err = store.ErrNotFound
	}
	return run, protocol.NotFound(err, "run", id)
}

// get does the same as [visibleRuns.find], in a read transaction of its own.
func (v *visibleRuns) get(ctx context.Context, id string) (run store.Run, err error) {
	err = v.store.Read(ctx, func(r store.Reader) (err error) {
		run, err = v.find(r, id)
		return err
	})
	return run, err
}

// check returns a not-found error if the run does not exist or is hidden.
func (v *visibleRuns) check(ctx context.Context, id string) error {
	_, err := v.get(ctx, id)
	return err
}

// read calls fn with a reader of the store. If the run does not exist or is hidden, read does not
// call fn and returns a not-found error.
func (v *visibleRuns) read(ctx context.Context, id string, fn func(r store.Reader) error) error {
	return v.store.Read(ctx, func(r store.Reader) error {
		if _, err := v.find(r, id); err != nil {
			return err
		}
		return fn(r)
	})
}

// ensureProcess starts a process for a run, unless a process already works on it.
type ensureProcess func(ctx context.Context, run string) error

// after starts a process for a run that a client has changed, even if the client has disconnected
// meanwhile. If the process cannot be started, after returns an error whose text begins with
// prefix. The prefix says that the change itself was made, for example "it is answered, but ".
func (e ensureProcess) after(ctx context.Context, run, prefix string) error {
	if err := e(context.WithoutCancel(ctx), run); err != nil {
		return protocol.Conflict("unattended", "%s%s", prefix, err)
	}
	return nil
}

// runReader answers the requests that read runs.
type runReader struct {
	store store.Store
	runs  *visibleRuns
	query *runquery.Querier
	now   func() time.Time

	searchTime time.Duration // see [Options.SearchTime]
}

// Runs implements [server.Runs].
func (d *runReader) Runs(ctx context.Context, q coordinator.RunQuery) ([]fleet.Run, error) {
	return d.query.Summaries(ctx, q.Project, q.Ended, q.Limit)
}

// Cost implements [server.Runs].
func (d *runReader) Cost(ctx context.Context, q fleet.CostQuery) (fleet.CostReport, error) {
	return d.query.Cost(ctx, q)
}

// Morning implements [server.Runs].
func (d *runReader) Morning(ctx context.Context, q fleet.MorningQuery) (fleet.MorningReport, error) {
	return d.query.Morning(ctx, q, d.now())
}

// Run implements [server.Runs]. It leaves out the prompts of tasks, because they may be long.
func (d *runReader) Run(ctx context.Context, id string) (run fleet.Run, err error) {
	if err := d.runs.check(ctx, id); err != nil {
		return run, err
	}
	if run, err = d.query.Run(ctx, id); err != nil {
		return run, err
	}
	for i := range run.Tasks {
		run.Tasks[i].Prompt = ""
	}
	return run, d.setNoWorker(ctx, id, run.Tasks)
}

// FindRun implements [server.Runs]. See [runquery.Querier.FindRun] for what the parameter name may
// contain.
func (d *runReader) FindRun(ctx context.Context, project, name string, unfinished bool) (string, error) {
	id, err := d.query.FindRun(ctx, project, name, unfinished)
	if err != nil {
		return "", err
	}
	return id, d.runs.check(ctx, id)
}

// FindTask implements [server.Runs].
func (d *runReader) FindTask(ctx context.Context, project, name string) (fleet.Task, error) {
	t, err := d.query.FindTask(ctx, project, name)
	if err != nil {
		return t, err
	}
	return t, d.runs.check(ctx, t.Run)
}

// Task implements [server.Runs].
func (d *runReader) Task(ctx context.Context, run, task string) (fleet.Task, error) {
	if err := d.runs.check(ctx, run); err != nil {
		return fleet.Task{}, err
	}
	t, err := d.query.Task(ctx, store.TaskKey{Run: run, Task: task})
	if err != nil {
		return t, err
	}
	list := []fleet.Task{t}
	err = d.setNoWorker(ctx, run, list)
	return list[0], err
}

// Attempts implements [server.Runs].
func (d *runReader) Attempts(ctx context.Context, run, task string) ([]fleet.Attempt, error) {
	if err := d.runs.check(ctx, run); err != nil {
		return nil, err
	}
	return d.query.Attempts(ctx, store.TaskKey{Run: run, Task: task})
}

// Candidates implements [server.Runs].
func (d *runReader) Candidates(ctx context.Context, run, task string) (fleet.Comparison, error) {
	if err := d.runs.check(ctx, run); err != nil {
		return fleet.Comparison{}, err
	}
	if _, err := d.query.Task(ctx, store.TaskKey{Run: run, Task: task}); err != nil {
		return fleet.Comparison{}, err
	}
	r, err := d.query.Run(ctx, run)
	if err != nil {
		return fleet.Comparison{}, err
	}
	c, ok := r.Compare(task)
	if !ok {
		return c, protocol.NothingFound("no_candidates", fmt.Sprintf("task %s has no candidates", task))
	}
	return c, nil
}

// Plan implements [server.Runs]. If env is false, it removes the values of the tasks' environment
// variables from the plan. References to secrets stay in the plan, because they do not contain the
// secrets.
func (d *runReader) Plan(ctx context.Context, id string, env bool) (json.RawMessage, error) {
	run, err := d.runs.get(ctx, id)
	if err != nil || env {
		return run.Plan, err
	}
	p, err := plan.Decode(run.Plan)
	if err != nil {
		return nil, fmt.Errorf("plan of run %s: %w", id, err)
	}
	for i := range p.Tasks {
		p.Tasks[i].Env = secret.Hide(p.Tasks[i].Env)
	}
	return plan.Encode(p)
}
