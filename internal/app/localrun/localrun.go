// Package localrun works on the runs of this machine. It connects a worker, the sweeps,
// the documents and the notifications of a run until the run has ended.
package localrun

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gaffer/fleet"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/runlock"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/attempt/terminal"
	"gaffer/internal/attempt/worker"
	"gaffer/internal/attempt/workspace"
	"gaffer/internal/engine"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
	"gaffer/internal/flow/buildrun"
	"gaffer/internal/flow/teamrun"
	"gaffer/internal/flow/teamsession"
	"gaffer/internal/plan"
	"gaffer/internal/record/pending"
	"gaffer/internal/record/recorder"
	"gaffer/ledger"
	"gaffer/session"
)

// DefaultParallel is the number of tasks that a run executes at once on this machine, if
// neither the plan nor a flag sets it.
const DefaultParallel = 8

// Options are the settings and dependencies of Runs.
type Options struct {
	Store   store.Store
	Engine  *engine.Engine // on the same store
	Query   *runquery.Querier
	Locks   runlock.Locks
	State   string // gaffer's state folder on this machine
	Project string // the project's root
	Version string // the version of gaffer

	Build     buildrun.Project
	Team      teamsession.Project
	Session   *session.Store
	Ledger    *ledger.Store
	Paths     map[string]string // the folders of documents, by the names of their settings
	Terminals *terminal.Terminals

	Agents     func(name string) (agent.Agent, error)
	Supervisor supervisor.Options
	// Cancel ends a run, or one task together with the tasks that depend on it.
	Cancel func(ctx context.Context, run, task, why string) error
	// Land is called when all tasks of a run are complete. It merges their changes or
	// opens pull requests, as the run's plan requests. It may queue tasks again.
	Land func(ctx context.Context, run store.Run) error
	// Notify sends notifications about a run's events after from, until end is called.
	Notify func(ctx context.Context, run string, from int64) (end func())
	// Served reports whether this process also serves its run over HTTP.
	Served func() bool
	NewID  func() string
	Now    func() time.Time
	Notice func(text string) // prints a message for the user
	// Quiet suppresses messages about records of other programs that are in the way.
	Quiet bool
}

// Runs works on the runs of one project on this machine.
type Runs struct {
	opts    Options
	pending pending.List
}

// New returns the runs of a project.
func New(opts Options) *Runs {
	return &Runs{opts, pending.List{Store: opts.Store, Now: opts.Now}}
}

// AttemptsFolder returns the folder for the attempts of a run, or for those of all runs if run
// is empty.
func AttemptsFolder(state, run string) string { return filepath.Join(state, "attempts", run) }

// WorktreesFolder returns the folder for the worktrees of this machine.
func WorktreesFolder(state string) string { return filepath.Join(state, "worktrees") }

// Work executes a run until it ends, and returns its final state. It adopts the agents
// that an earlier gaffer left running. When ctx ends it claims no more tasks and returns
// ctx's error immediately. Running agents continue, and the next call of Work adopts them.
// If another gaffer works on the run, Work returns an [*runlock.OwnedError].
func (r *Runs) Work(ctx context.Context, id string) (fleet.Run, error) {
	for {
		run, err := r.workAsOwner(ctx, id)
		if err != nil {
			return run, err
		}
		// A user may have retried a task before we released the run. EnsureProcess then saw an
		// owner and started no other process, so this process must do the work.
		if ended, err := r.hasEnded(ctx, id, ""); ended || err != nil {
			return run, err
		}
	}
}

// workAsOwner locks a run and works on it until it has ended.
func (r *Runs) workAsOwner(ctx context.Context, id string) (fleet.Run, error) {
	release, err := r.opts.Locks.Lock(ctx, id)
	if err != nil {
		return fleet.Run{}, err
	}
	defer release()
	s, running, err := r.open(ctx, id)
	if err != nil {
		return fleet.Run{}, err
	}
	defer limitMemory(len(s.run.Plan), r.opts.Served())()
	defer r.opts.Notify(ctx, id, s.from)()
	if err := r.pending.Add(ctx, id, r.opts.Paths, ""); err != nil {
		return fleet.Run{}, err
	}
	var flushed error
	for ended := false; !ended; {
		_ = s.flush(ctx) // flush reports errors itself; unwritten documents are written when the run has ended
		if err := s.worker.Adopt(ctx, running); err != nil {
			return fleet.Run{}, err
		}
		if !s.run.Status.Final() {
			if err := s.workUntilEnd(ctx); err != nil {
				return fleet.Run{}, err
			}
		}
		flushed = s.flush(ctx)
		if ended, err = r.hasEnded(ctx, id, ""); err == nil && !ended { // the user has retried a task meanwhile
			s, running, err = r.open(ctx, id)
		}
		if err != nil {
			return fleet.Run{}, err
		}
	}
	r.finishDocuments(ctx, id, flushed)
	if err := os.RemoveAll(AttemptsFolder(r.opts.State, id)); err != nil { // all attempts have ended and are in the store
		return fleet.Run{}, err
	}
	r.tickCheckboxes(ctx, s.run)
	if err := r.land(ctx, id); err != nil {
		return fleet.Run{}, err
	}
	return r.opts.Query.Run(ctx, id)
}

// land merges the changes of a run whose tasks are all complete, or opens pull requests,
// if the run's plan requests it. A problem is only reported, because the user can still
// merge the changes.
func (r *Runs) land(ctx context.Context, id string) error {
	var run store.Run
	err := r.opts.Store.Read(ctx, func(rows store.Reader) (err error) {
		run, err = rows.Run(id)
		return err
	})
	if err != nil || run.Status != store.Complete || r.opts.Land == nil || !bytes.Contains(run.Plan, []byte(`"Land":`)) { // the JSON name of plan.Isolation.Land
		return err
	}
	if err := r.opts.Land(ctx, run); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.opts.Notice(fmt.Sprintf("the changes of run %s are not all merged: %s; 'gaffer merge %s --all' continues", id, oneLine(err), id))
	}
	return nil
}

// activeRun is the work of this process on a run.
type activeRun struct {
	opts      *Options
	run       store.Run
	from      int64              // the last event when the work started
	terminals bool               // some agents of the run are in a terminal
	build     *buildrun.Writer   // nil if the run is not a build
	team      *teamrun.Conductor // nil if the run is not a team's
	worker    *worker.Worker
	recorder  *recorder.Recorder
}

// open returns the parts that work on a run, and its attempts that are running
// according to the store. It changes nothing.
func (r *Runs) open(ctx context.Context, id string) (*activeRun, []engine.Assignment, error) {
	s := &activeRun{opts: &r.opts}
	o := r.opts
	var running []engine.Assignment
	err := o.Store.Read(ctx, func(rows store.Reader) (err error) {
		if s.run, err = rows.Run(id); err != nil {
			return runquery.Missing(err, "run", id)
		}
		if s.from, err = rows.LastSeq(); err != nil {
			return err
		}
		if running, err = runquery.Running(rows, id); err != nil {
			return err
		}
		if s.build, err = buildrun.NewWriter(o.Build, o.Store, rows, s.run); err != nil {
			return err
		}
		s.team, err = teamsession.NewConductor(ctx, o.Team, o.Engine, o.Store, rows, s.run)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	s.recorder = r.Recorder(s.run)
	p, err := plan.Decode(s.run.Plan)
	if err != nil {
		return nil, nil, fmt.Errorf("plan of run %s: %w", id, err)
	}
	s.terminals = slices.ContainsFunc(p.Tasks, func(t plan.Task) bool { return t.Dispatch != nil && t.Dispatch.Session != "" })
	host, _ := os.Hostname() // for display
	s.worker = worker.New(worker.Options{
		ID: s.run.OnlyWorker, Name: host + ":" + filepath.Base(cmp.Or(s.run.Project, o.Project)), Labels: []string{engine.WorkerLabel(s.run.OnlyWorker)},
		About: fleet.WorkerMeta{Program: "gaffer", Host: host, Version: o.Version, Run: id}, Slots: cmp.Or(s.run.Parallel, DefaultParallel),
		Engine: o.Engine, Attempts: AttemptsFolder(o.State, id), Root: o.Project, Home: AttemptsFolder(o.State, ""),
		Workspace: workspace.Workspace{Root: o.Project, Trees: WorktreesFolder(o.State), LogFile: r.logFile, Base: s.run.Base, Workflow: p.Workflow},
		Agents:    o.Agents, Now: o.Now, Notice: o.Notice, Supervisor: o.Supervisor, Terminal: o.Terminals.For, NewKey: o.NewID,
	})
	return s, running, nil
}

// logFile returns the log file of a task.
func (r *Runs) logFile(t store.Task) string {
	log, err := r.opts.Session.LogPath(t.Run, t.Task)
	if err != nil { // the task's id is not a file name; no plan contains such an id
		return ""
	}
	return log
}

// Recorder returns the writer of a run's session documents and records.
func (r *Runs) Recorder(run store.Run) *recorder.Recorder {
	return recorder.New(recorder.Options{
		Store: r.opts.Store, Run: run.ID, Session: r.opts.Session, Ledger: r.opts.Ledger, Project: run.Project, Notice: r.opts.Notice, Quiet: r.opts.Quiet,
		Cancel: func(ctx context.Context, task, why string) error {
			err := r.opts.Cancel(ctx, run.ID, task, why)
			if ended := (*engine.ConflictError)(nil); errors.As(err, &ended) {
				return nil
			}
			return err
		},
	})
}
