package app

import (
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/api/changes"
	"gaffer/internal/api/protocol"
	"gaffer/internal/api/runs"
	"gaffer/internal/api/viewers"
	"gaffer/internal/api/workers"
	"gaffer/internal/attempt/workspace"
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/engine"
	"gaffer/internal/engine/logstore"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/sweep"
	"gaffer/internal/flow/schedulerun"
	"gaffer/internal/record/notify"
)

// Coordinator serves runs to users and to workers in other processes. If a worker has sent no
// heartbeat for the duration of a lease, the Coordinator ends the worker's attempts as lost. A
// Coordinator that ServeRun has created serves only users.
type Coordinator struct {
	Protocol  *protocol.Service
	Runs      *runs.Service
	Workers   *workers.Service // nil if the Coordinator was created by ServeRun
	Viewer    *viewers.Viewer
	Changes   *changes.Service
	Landing   *LandingService
	Terminals *TerminalService
	NewRuns   *NewRunService
	Schedules *ScheduleService
	State     string // path of gaffer's state folder on this machine

	stop     context.CancelFunc
	all      sync.WaitGroup
	notifier *notify.Notifier // nil if no notifications are sent
}

// ServerOptions are the settings of a server. If Lease or KeepLog is zero, its default applies.
type ServerOptions struct {
	Lease   time.Duration // an attempt counts as lost after this time without a heartbeat of its worker
	KeepLog int64         // how many bytes of each attempt's log are kept
	Notify  bool          // send notifications as the settings say
	// WorkersOnly means that users cannot start runs on the server's machine, but only on its
	// workers.
	WorkersOnly bool
	// LoadPlan reads the plans of schedules. If it is nil, the server does not start their runs.
	LoadPlan PlanLoader
}

// Serve serves users and workers until Close is called. In the background it checks the leases of
// attempts, writes pending documents, and starts runs for new items in watched sources, such as
// issues in an issue tracker. If o.LoadPlan is set, it starts the runs of schedules. If o.Notify is
// set, it sends notifications.
func (a *App) Serve(o ServerOptions) (*Coordinator, error) {
	if s, ok := a.store.(interface{ TuneForServer() }); ok {
		s.TuneForServer()
	}
	c, e, err := a.services(o)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	c.Workers = workers.New(workers.Options{Store: a.store, Engine: e, Lease: o.Lease, Keep: o.KeepLog, Notice: a.opts.Notice})
	c.all.Go(func() { c.Workers.Run(ctx) })
	s := &sweep.Server{Engine: e, Store: a.store, Now: a.clock(), OfflineAfter: coordinator.OfflineAfter}
	c.all.Go(func() { sweep.Loop(ctx, s.Sweep, a.opts.Notice) })
	c.all.Go(func() { registerByHand(ctx, a.registration(c.Protocol), a.opts.Config, a.state, a.database) })
	c.all.Go(func() { a.Pending.WriteRepeatedly(ctx) })
	if o.LoadPlan != nil {
		c.all.Go(func() { c.Schedules.Loop(ctx) })
	}
	c.all.Go(func() { a.Sources.watchSources(ctx, a.Sources.watchRefusal(o)) })
	c.all.Go(func() { a.Sources.sendReportsRepeatedly(ctx) })
	if o.Notify {
		c.notifier = a.Notifications.Start("", 0)
	}
	return c, nil
}

// ServeRun returns the services with which users watch and control runs, until Close is called. It
// is for a process that works on a run itself: the services do not serve workers, and never end
// attempts as lost.
func (a *App) ServeRun() (*Coordinator, error) {
	c, _, err := a.services(ServerOptions{})
	if err != nil {
		return nil, err
	}
	a.served.Store(true)
	ctx, stop := context.WithCancel(context.Background())
	c.stop = func() { stop(); a.served.Store(false) }
	c.all.Go(func() { registerByHand(ctx, a.registration(c.Protocol), a.opts.Config, a.state, a.database) })
	return c, nil
}

// services creates the services for users and their programs, and the engine that these services
// use.
func (a *App) services(o ServerOptions) (*Coordinator, *engine.Engine, error) {
	now, limits := a.clock(), a.opts.limits()
	e := engine.New(a.store, engine.Options{
		Now: now, NewID: newID, Rand: mathrand.Float64, Lease: o.Lease, Who: a.opts.author(), Limits: limits,
	})
	home, err := filepath.EvalSymlinks(a.opts.Project.Root)
	if err != nil {
		return nil, nil, fmt.Errorf("project: %w", err)
	}
	machine, err := os.Hostname()
	if err != nil {
		return nil, nil, fmt.Errorf("name of this machine: %w", err)
	}
	c := &Coordinator{
		State: a.state, Protocol: protocol.New(a.store, e, now), Changes: a.Changes, Landing: newLandingService(a), Terminals: &TerminalService{app: a},
		Runs: runs.New(runs.Options{
			Store: a.store, Engine: e, Now: now, Random: rand.Reader,
			Logs:          runs.Logs{Span: logstore.Span, Read: logstore.Read, Done: logstore.Done},
			Hide:          func(run store.Run) bool { return protocol.OwnsRun(run.ID) },
			AddMergeTasks: workspace.AddMergeTasks, File: a.logFile, Annotate: a.annotate, EnsureProcess: a.Background.EnsureProcess,
			DefaultBranch: worktree.BranchOf, Limits: limits, NotStarted: schedulerun.NotStarted,
		}),
		Viewer: viewers.New(viewers.Options{
			Home: home, Locate: a.opts.foldersOf, Now: a.opts.Now, Notice: a.opts.Notice,
			Registry:  &projectList{a.store, e, store.ItemKey{Kind: viewedKind, ID: machine}},
			RunFinder: runFinder{a.store, a.query, a.locks, a.opts.foldersOf},
		}),
	}
	schedules, err := a.Schedules(o.LoadPlan)
	if err != nil {
		return nil, nil, err
	}
	c.NewRuns = &NewRunService{app: a, runs: c.Runs, projects: c.Viewer, agents: c.Protocol, machine: machine, workersOnly: o.WorkersOnly, programs: map[string]foundPrograms{}}
	c.Schedules = &ScheduleService{schedules, c.NewRuns, o.LoadPlan != nil}
	return c, e, nil
}

// logFile returns the path of an attempt's log file on this machine, and whether the path can be
// trusted: other programs can write the attempt's database row, which contains the path. The path
// is trusted if it ends with RUN/TASK.log, the attempt ran on the only worker that may execute the
// run, and this machine has worked on the run.
func (a *App) logFile(run store.Run, at store.Attempt) (string, bool) {
	switch {
	case at.Worker != run.OnlyWorker || !filepath.IsAbs(at.Log) || filepath.Clean(at.Log) != at.Log:
		return "", false
	case filepath.Base(at.Log) != at.Task+".log" || filepath.Base(filepath.Dir(at.Log)) != run.ID:
		return "", false
	}
	return at.Log, a.locks.WorkedOn(run)
}

// clock returns a function that returns the database's time. Several servers may share a database
// although their own clocks differ. If the database has no clock, the returned function returns
// this machine's time.
func (a *App) clock() func() time.Time {
	if s, ok := a.store.(interface{ Now() time.Time }); ok {
		return s.Now
	}
	return a.opts.Now
}

// Close stops everything that Serve or ServeRun started. The store stays open.
func (c *Coordinator) Close() {
	c.stop()
	if c.notifier != nil {
		c.notifier.Stop()
	}
	c.Viewer.Close()
	c.Landing.close()
	c.all.Wait()
}
