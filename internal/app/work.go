package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gaffer/fleet"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/worker"
	"gaffer/internal/attempt/workspace"
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/config"
	"gaffer/internal/engine"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
	"gaffer/internal/flow/buildrun"
	"gaffer/internal/flow/teamrun"
	"gaffer/internal/flow/teamsession"
	"gaffer/internal/pause"
	"gaffer/internal/plan"
	"gaffer/internal/project/trust"
	"gaffer/internal/record/recorder"
)

const (
	// DefaultParallel is the number of tasks that a run executes at once on this
	// machine, if neither the plan nor a flag sets it.
	DefaultParallel = 8
	// sweepEvery is the interval between checks of leases and deadlines.
	sweepEvery = time.Second
	// watchEvery is the shortest interval between two reads of the events.
	watchEvery = 10 * time.Millisecond
)

// Work runs a run until it ends, and returns its final state. It adopts the agents that
// an earlier gaffer left running. When ctx ends it claims no more tasks and returns
// ctx's error immediately. Running agents then continue, and the next Work adopts them.
// If another gaffer works on the run, it returns an [*runlock.OwnedError].
func (a *App) Work(ctx context.Context, id string) (fleet.Run, error) {
	for {
		run, err := a.workAsOwner(ctx, id)
		if err != nil {
			return run, err
		}
		// A user may have retried a task before we released the run. Attend then saw an
		// owner and started no other process, so this process must do the work.
		if ended, err := a.hasEnded(ctx, id, ""); ended || err != nil {
			return run, err
		}
	}
}

// workAsOwner locks a run and works on it until it has ended.
func (a *App) workAsOwner(ctx context.Context, id string) (fleet.Run, error) {
	release, err := a.locks.Lock(ctx, id)
	if err != nil {
		return fleet.Run{}, err
	}
	defer release()
	s, running, err := a.look(ctx, id)
	if err != nil {
		return fleet.Run{}, err
	}
	defer frugal(len(s.run.Plan), a.shows.Load())()
	defer a.tellOf(ctx, id, s.from)()
	if err := a.owe(ctx, id, ""); err != nil {
		return fleet.Run{}, err
	}
	var flushed error
	for ended := false; !ended; {
		if err := s.prepare(ctx, running); err != nil {
			return fleet.Run{}, err
		}
		if flushed, err = s.work(ctx); err != nil {
			return fleet.Run{}, err
		}
		if ended, err = a.hasEnded(ctx, id, ""); err == nil && !ended { // a task was retried meanwhile
			s, running, err = a.look(ctx, id)
		}
		if err != nil {
			return fleet.Run{}, err
		}
	}
	a.concluded(ctx, id, flushed)
	if err := os.RemoveAll(a.attempts(id)); err != nil { // all attempts have ended and are in the store
		return fleet.Run{}, err
	}
	a.tick(ctx, s.run)
	return a.Fleet.Run(ctx, id)
}

// localRun is the work of this process on a run.
type localRun struct {
	app       *App
	run       store.Run
	from      int64              // the last event when the work started
	terminals bool               // some agents run in a terminal
	build     *buildrun.Writer   // nil if the run is not a build
	team      *teamrun.Conductor // nil if the run is not a team's
	worker    *worker.Worker
	recorder  *recorder.Recorder
}

// prepare writes the documents up to now, and adopts or ends the attempts that an
// earlier gaffer left running.
func (s *localRun) prepare(ctx context.Context, running []engine.Assignment) error {
	_ = s.flush(ctx) // flush reports errors itself; unwritten documents are written when the run has ended
	return s.worker.Adopt(ctx, running)
}

// look returns the parts that work on a run, and its attempts that are running
// according to the store. It changes nothing.
func (a *App) look(ctx context.Context, id string) (*localRun, []engine.Assignment, error) {
	s := &localRun{app: a}
	var running []engine.Assignment
	err := a.store.Read(ctx, func(r store.Reader) (err error) {
		if s.run, err = r.Run(id); err != nil {
			return runquery.Missing(err, "run", id)
		}
		if s.from, err = r.LastSeq(); err != nil {
			return err
		}
		if running, err = assignments(r, id); err != nil {
			return err
		}
		if s.build, err = buildrun.NewWriter(buildProject(a.opts), a.store, r, s.run); err != nil {
			return err
		}
		s.team, err = teamsession.NewConductor(ctx, a.teamProject(), a.engine, a.store, r, s.run)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	s.recorder = a.recorder(s.run)
	p, err := plan.Decode(s.run.Plan)
	if err != nil {
		return nil, nil, fmt.Errorf("plan of run %s: %w", id, err)
	}
	s.terminals = slices.ContainsFunc(p.Tasks, func(t plan.Task) bool { return t.Dispatch != nil && t.Dispatch.Session != "" })
	s.worker = worker.New(worker.Options{
		ID: s.run.Place, Name: a.workerName(s.run), About: a.aboutWorker(id), Labels: []string{engine.PlaceLabel(s.run.Place)}, Slots: cmp.Or(s.run.Parallel, DefaultParallel),
		Engine: a.engine, Attempts: a.attempts(id), Root: a.opts.Project.Root, Home: a.attempts(""), Workspace: workspace.Workspace{
			Root: a.opts.Project.Root, Trees: treesIn(a.state), LogFile: a.logOf, Base: s.run.Base, Workflow: p.Workflow,
		}, Agents: a.agent, Now: a.opts.Now, Notice: a.opts.Notice,
		Supervisor: a.opts.Supervisor, Terminal: a.terminal, NewKey: newID,
	})
	return s, running, nil
}

// workerName returns the display name of a run's worker: machine and project.
func (a *App) workerName(run store.Run) string {
	host, _ := os.Hostname() // for display
	return host + ":" + filepath.Base(cmp.Or(run.Project, a.opts.Project.Root))
}

// aboutWorker returns the metadata of a run's worker.
func (a *App) aboutWorker(run string) fleet.WorkerMeta {
	host, _ := os.Hostname() // for display
	return fleet.WorkerMeta{Program: "gaffer", Host: host, Version: a.opts.Version, Run: run}
}

// assignments returns the running attempts of a run, in the order of their tasks.
func assignments(r store.Reader, run string) (list []engine.Assignment, err error) {
	running, err := store.RunningAttempts(r)
	if err != nil {
		return nil, err
	}
	for _, attempt := range running {
		if attempt.Run != run {
			continue
		}
		a := engine.Assignment{Attempt: attempt}
		if a.Task, err = r.Task(store.TaskKey{Run: run, Task: attempt.Task}); err != nil {
			return nil, err
		}
		if a.Task.Last != "" {
			before, err := r.Attempt(a.Task.Last)
			if err != nil {
				return nil, err
			}
			a.Before = &before
		}
		list = append(list, a)
	}
	slices.SortFunc(list, func(a, b engine.Assignment) int { return cmp.Compare(a.Task.Seq, b.Task.Seq) })
	return list, nil
}

// agent returns the named agent, with the settings of gaffer.yaml.
func (a *App) agent(name string) (agent.Agent, error) {
	return agentOf(a.opts.Getenv, a.opts.Project.Root, a.opts.Config, name)
}

// agentOf returns the named agent. If the project's own file names its program and the
// user has not trusted that, the agent cannot be started. But it can still read the
// output of an agent that is running.
func agentOf(getenv func(string) string, root string, c *config.Config, name string) (agent.Agent, error) {
	custom, err := agentsOf(c, name)
	if err != nil {
		return nil, err
	}
	made, err := agent.New(name, custom)
	if err != nil {
		return nil, err
	}
	if err := trust.Check(getenv, root, programsOf(c, "agents."+name)); err != nil {
		return untrusted{made, err}, nil
	}
	return made, nil
}

// untrusted is an agent that must not be started.
type untrusted struct {
	agent.Agent
	err error
}

// Launch implements [agent.Agent].
func (u untrusted) Launch(agent.Request) (agent.Launch, error) { return agent.Launch{}, u.err }

// programsOf returns the programs that the project's own file makes gaffer run, for the
// named settings, or for all if there are no names.
func programsOf(c *config.Config, names ...string) (list []trust.Program) {
	for _, p := range c.Programs() {
		if len(names) == 0 || slices.Contains(names, p.Setting) {
			list = append(list, trust.Program(p))
		}
	}
	return list
}

// Programs lists the programs that the project's own file and its git settings make
// gaffer run.
func Programs(ctx context.Context, opts Options) ([]trust.Program, error) {
	list := programsOf(opts.Config)
	repo, err := worktree.Open(ctx, opts.Project.Root)
	if none := (*worktree.OpenError)(nil); errors.As(err, &none) {
		return list, nil
	}
	if err != nil {
		return nil, err
	}
	return append(list, repo.Programs()...), nil
}

// agentsOf returns the agents of gaffer.yaml, plus the named agent if it is built in.
// An agent whose program is "gaffer" uses this executable, whether or not gaffer is
// installed.
func agentsOf(c *config.Config, name string) (map[string]agent.Custom, error) {
	custom := c.Agents()
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if c := custom[name]; len(c.Argv) > 0 && c.Argv[0] == "gaffer" {
		c.Argv = append([]string{self}, c.Argv[1:]...)
		custom[name] = c
	}
	if _, said := custom[name]; name == plan.FakeAgent && !said {
		custom[name] = agent.Custom{Like: "claude", Argv: []string{self, "fake-agent", "--protocol", "claude"}}
	}
	if name == workspace.MergeAgent {
		custom[name] = agent.Custom{Like: plan.CommandAgent, Argv: []string{self, workspace.MergeCommand}}
	}
	if name == teamrun.MergeAgent {
		custom[name] = agent.Custom{Like: plan.CommandAgent, Argv: []string{self, teamrun.MergeCommand}}
	}
	return custom, nil
}

// work waits until the run has ended and then writes its documents. flushed is the
// error of writing them.
func (s *localRun) work(ctx context.Context) (flushed, err error) {
	if !s.run.Status.Final() {
		if err := s.untilEnd(ctx); err != nil {
			return nil, err
		}
	}
	return s.flush(ctx), nil
}

// flush writes the documents up to the latest event. Its error means that documents
// could not be written but can be written later. Records of other programs under the
// same name are kept, and the recorder reports them.
func (s *localRun) flush(ctx context.Context) error {
	var errs []error
	if err := s.recorder.Flush(ctx); err != nil && !refusedOnly(err) {
		errs = append(errs, err)
	}
	if s.build != nil {
		if err := s.build.Flush(ctx); err != nil {
			errs = append(errs, fmt.Errorf("the state of the build: %w", err))
		}
	}
	if s.team != nil {
		if err := s.team.Flush(ctx); err != nil {
			errs = append(errs, fmt.Errorf("the documents of the team: %w", err))
		}
	}
	return errors.Join(errs...)
}

func (s *localRun) untilEnd(ctx context.Context) error {
	working, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	all.Go(func() { _ = s.worker.Run(working) })   // it ends only with its context
	all.Go(func() { _ = s.recorder.Run(working) }) // also ends only with its context; Flush returns its write errors
	all.Go(func() { sweep(working, s.app.engine, s.app.opts.Notice) })
	if s.build != nil {
		all.Go(func() { s.build.Run(working) })
	}
	if s.team != nil {
		all.Go(func() { s.team.Run(working) })
	}
	if s.terminals {
		all.Go(func() { s.watchTerminals(working) })
	}
	return s.watch(ctx)
}

// watchPatience is how long the events may be unreadable before the process gives up
// its work on the run. Agents continue then, and the run can be resumed.
const watchPatience = time.Minute

// watch notifies the worker of events, and returns when the run has ended.
func (s *localRun) watch(ctx context.Context) error {
	var failing time.Time // start of the failure
	for last := s.from; ; {
		events, err := s.next(ctx, last)
		switch now := s.app.opts.Now(); {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && failing.IsZero():
			s.app.opts.Notice(fmt.Sprintf("what happens in run %s cannot be read: %v; trying again", s.run.ID, err))
			failing = now
		case err != nil && now.Sub(failing) > watchPatience:
			return err
		case err == nil:
			failing = time.Time{}
		}
		if err != nil {
			pause.For(ctx, sweepEvery)
			continue
		}
		for _, e := range events {
			last = e.Seq
			if s.take(e) {
				return nil
			}
		}
		pause.For(ctx, watchEvery)
	}
}

// next waits for events after number last and returns them.
func (s *localRun) next(ctx context.Context, last int64) (events []store.Event, err error) {
	if err := s.app.store.Wait(ctx, last); err != nil {
		return nil, err
	}
	err = s.app.store.Read(ctx, func(r store.Reader) (err error) {
		events, err = r.Events(last, 1000)
		return err
	})
	return events, err
}

// take notifies the worker of an event, and reports whether it is the end of the run.
func (s *localRun) take(e store.Event) (ended bool) {
	switch {
	case e.Run == s.run.ID && strings.HasPrefix(e.Kind, "run.") && store.Status(e.To).Final():
		return true
	case e.Run == s.run.ID && (e.Kind == "attempt.stopping" || e.Kind == "attempt.waiting" || strings.HasPrefix(e.Kind, "question.")):
		s.worker.Attend()
	case e.Run == s.run.ID && e.Kind == "task.ready", e.Kind == "lane.open":
		s.worker.Wake()
	}
	return false
}

// treesIn returns the folder for this machine's worktrees.
func treesIn(state string) string { return filepath.Join(state, "worktrees") }

// logOf returns the log file of a task.
func (a *App) logOf(t store.Task) string {
	log, err := a.session.LogPath(t.Run, t.Task)
	if err != nil { // the task's id is not a file name; no plan contains such an id
		return ""
	}
	return log
}
