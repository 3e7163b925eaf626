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
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/config"
	"gaffer/internal/engine"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
	"gaffer/internal/flow/teamrun"
	"gaffer/internal/pause"
	"gaffer/internal/plan"
	"gaffer/internal/project/trust"
	"gaffer/internal/record/recorder"
)

const (
	// DefaultParallel is how many tasks of a run run at once on this machine if
	// neither the plan nor a flag says.
	DefaultParallel = 8
	// sweepEvery is how often what time alone brings about is done.
	sweepEvery = time.Second
	// watchEvery bounds how often the events are looked at.
	watchEvery = 10 * time.Millisecond
)

// Work runs a run until it ends, and returns how it stands then. It takes over
// what an earlier gaffer has left running. When ctx ends it takes no more work
// and returns at once with ctx's error; agents that run go on without it, and
// another Work adopts them. A run that another gaffer works on is a conflict.
func (a *App) Work(ctx context.Context, id string) (fleet.Run, error) {
	for {
		run, err := a.workAsOwner(ctx, id)
		if err != nil {
			return run, err
		}
		// Whoever retried a task before the release saw an owner and started no
		// other process: see Attend.
		if ended, err := a.hasEnded(ctx, id); ended || err != nil {
			return run, err
		}
	}
}

// workAsOwner owns a run until it has ended.
func (a *App) workAsOwner(ctx context.Context, id string) (fleet.Run, error) {
	release, err := a.own(ctx, id)
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
		if ended, err = a.hasEnded(ctx, id); err == nil && !ended { // a task was retried just now
			s, running, err = a.look(ctx, id)
		}
		if err != nil {
			return fleet.Run{}, err
		}
	}
	a.concluded(ctx, id, flushed)
	if err := os.RemoveAll(a.attempts(id)); err != nil { // all of them have ended and are in the store
		return fleet.Run{}, err
	}
	a.tick(ctx, s.run)
	return a.Run(ctx, id)
}

func (a *App) hasEnded(ctx context.Context, id string) (ended bool, err error) {
	err = a.store.Read(ctx, func(r store.Reader) error {
		run, err := r.Run(id)
		ended = run.Status.Final()
		return err
	})
	return ended, err
}

// localRun is one process's work on a run.
type localRun struct {
	app      *App
	run      store.Run
	from     int64 // the last event that was there when it began
	place    workspace
	build    *building          // nil if the run is no build
	team     *teamrun.Conductor // nil if the run is no team's
	worker   *worker.Worker
	recorder *recorder.Recorder
}

// prepare writes the documents of the run up to now, and ends or takes over what an
// earlier gaffer has left running.
func (s *localRun) prepare(ctx context.Context, running []engine.Assignment) error {
	_ = s.flush(ctx) // it gives notice itself, and what is left is written when the run has ended
	return s.worker.Adopt(ctx, running)
}

// look returns what the work on a run needs, and the attempts that run as far as
// the store knows. It changes nothing.
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
		if s.build, err = a.building(r, s.run); err != nil {
			return err
		}
		s.team, err = a.conductor(ctx, r, s.run)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	s.recorder = a.recorder(s.run)
	if s.place, err = a.place(s.run); err != nil {
		return nil, nil, err
	}
	s.worker = worker.New(worker.Options{
		ID: s.run.Place, Name: a.workerName(s.run), About: a.aboutWorker(id), Labels: []string{engine.PlaceLabel(s.run.Place)}, Slots: cmp.Or(s.run.Parallel, DefaultParallel),
		Engine: a.engine, Attempts: a.attempts(id), Root: a.opts.Project.Root, Home: a.attempts(""), Workspace: s.place, Agents: a.agent, Now: a.opts.Now, Notice: a.opts.Notice,
		Supervisor: a.opts.Supervisor, Terminal: a.terminal, NewKey: newID,
	})
	return s, running, nil
}

// workerName is what others call the worker of a run: a machine and a project.
func (a *App) workerName(run store.Run) string {
	host, _ := os.Hostname() // for people
	return host + ":" + filepath.Base(cmp.Or(run.Project, a.opts.Project.Root))
}

// aboutWorker is what else they may know of it.
func (a *App) aboutWorker(run string) fleet.WorkerMeta {
	host, _ := os.Hostname() // for people
	return fleet.WorkerMeta{Program: "gaffer", Host: host, Version: a.opts.Version, Run: run}
}

// assignments are the attempts of a run that run, in the order of their tasks.
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

// agent returns the agent of that name, as gaffer.yaml wants it.
func (a *App) agent(name string) (agent.Agent, error) {
	return agentOf(a.opts.Getenv, a.opts.Project.Root, a.opts.Config, name)
}

// agentOf returns an agent. One whose program the project's own file names cannot be
// started before the user has trusted that; the output of one that runs can be read.
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

// programsOf are what the project's own file makes gaffer run by the settings of
// these names, or by all without any.
func programsOf(c *config.Config, names ...string) (list []trust.Program) {
	for _, p := range c.Programs() {
		if len(names) == 0 || slices.Contains(names, p.Setting) {
			list = append(list, trust.Program(p))
		}
	}
	return list
}

// Programs lists what the project's own file and the settings of its git repository
// make gaffer run.
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

// agentsOf are those that gaffer.yaml names, and the one of that name if it is of
// our own. The program gaffer of an agent is this one, whether or not one is
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
	if name == mergeAgent {
		custom[name] = agent.Custom{Like: plan.CommandAgent, Argv: []string{self, "join"}}
	}
	if name == teamrun.MergeAgent {
		custom[name] = agent.Custom{Like: plan.CommandAgent, Argv: []string{self, teamrun.MergeCommand}}
	}
	return custom, nil
}

// work goes on until the run has ended, and then writes its documents. That they
// could not be written is flushed.
func (s *localRun) work(ctx context.Context) (flushed, err error) {
	if !s.run.Status.Final() {
		if err := s.untilEnd(ctx); err != nil {
			return nil, err
		}
	}
	return s.flush(ctx), nil
}

// flush writes the documents up to what has happened. Its error is what could not
// be written and can be written later. Records of other programs in the place of
// ours stay; the recorder reports them.
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
	all.Go(func() { _ = s.worker.Run(working) })   // it ends with its context only
	all.Go(func() { _ = s.recorder.Run(working) }) // as does it; what it could not write, Flush tells
	all.Go(func() { sweep(working, s.app.engine, s.app.opts.Notice) })
	if s.build != nil {
		all.Go(func() { s.build.Run(working) })
	}
	if s.team != nil {
		all.Go(func() { s.team.Run(working) })
	}
	if s.place.terminals {
		all.Go(func() { s.watchTerminals(working) })
	}
	return s.watch(ctx)
}

// watchPatience is how long the events of a run may be unreadable before the work on
// it is given up. What runs goes on then, and can be taken up again.
const watchPatience = time.Minute

// watch tells the worker what happens, and returns when the run has ended.
func (s *localRun) watch(ctx context.Context) error {
	var failing time.Time // since when
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

// next waits for the events after a number.
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

// take tells the worker of an event, and reports whether it is the run's end.
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
