// Package localrun executes runs on this machine. Until a run has ended, a gaffer process starts
// the run's tasks, checks the deadlines of attempts, writes documents about the run and sends
// notifications.
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
	"gaffer/internal/attempt/account"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/runlock"
	"gaffer/internal/attempt/sandbox"
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

// DefaultParallel is how many tasks of a run this machine executes at the same time, if neither the
// plan nor a flag sets a number.
const DefaultParallel = 8

// Options are the settings and dependencies of a [Runs].
type Options struct {
	Store   store.Store
	Engine  *engine.Engine // the engine that writes to Store
	Query   *runquery.Querier
	Locks   runlock.Locks
	State   string // path of gaffer's state folder on this machine
	Project string // path of the project's root
	Version string // version of gaffer

	Build     buildrun.Project
	Team      teamsession.Project
	Session   *session.Store
	Ledger    *ledger.Store
	Paths     map[string]string // the project's document folders, by setting name such as paths.ledger
	Terminals *terminal.Terminals

	Agents func(name string) (agent.Agent, error)
	// Accounts returns the user's accounts of agent programs that tasks may use, in the order of
	// the user's settings file.
	Accounts   func() []account.Account
	Supervisor supervisor.Options
	// Sandbox returns the sandbox for a task. unattended means that gaffer started the run without
	// a user, for example by a schedule.
	Sandbox func(spec plan.Task, unattended bool) (sandbox.Spec, error)
	Machine *sandbox.Machine // wraps the command lines of agents so that they run in sandboxes
	// Cancel cancels a run or, if task is not empty, one task and the tasks that depend on it.
	Cancel func(ctx context.Context, run, task, why string) error
	// Land merges the changes of a run or opens pull requests, as the run's plan requests. It is
	// called when all tasks of the run are complete. It may queue tasks again, for example to
	// resolve merge conflicts.
	Land func(ctx context.Context, run store.Run) error
	// Report tells the sources that the run's tasks come from, such as an issue tracker, how the
	// tasks have ended. The parameter ended is true if the run has ended. In that case Land has
	// already returned, if it was called.
	Report func(ctx context.Context, run string, ended bool)
	// Notify sends notifications about the run's events with sequence numbers above cursor, until
	// stop is called.
	Notify func(ctx context.Context, run string, cursor int64) (stop func())
	// Served reports whether this process also serves its run over HTTP.
	Served func() bool
	NewID  func() string
	Now    func() time.Time
	Notice func(text string) // prints a message for the user
	// Quiet means that a run's recorder, which writes the run's documents, does not print temporary
	// problems with writing. Flushing the recorder returns the problems that remain.
	Quiet bool
}

// Runs executes the local runs of one project: the runs that only this machine may execute.
type Runs struct {
	opts    Options
	pending pending.List
}

// New returns a Runs with these options.
func New(opts Options) *Runs {
	return &Runs{opts, pending.List{Store: opts.Store, Now: opts.Now}}
}

// AttemptsFolder returns the path of the folder with the data of a run's attempts. If run is empty,
// it returns the parent folder, which contains these folders of all runs.
func AttemptsFolder(state, run string) string { return filepath.Join(state, "attempts", run) }

// WorktreesFolder returns the path of the folder with the worktrees on this machine.
func WorktreesFolder(state string) string { return filepath.Join(state, "worktrees") }

// Work executes a run until it ends, and returns its final state. It takes over the agents that an
// earlier process left running. When ctx ends, it claims no more tasks and returns ctx's error at
// once. Running agents continue, and the next call of Work takes them over. If another process
// works on the run, Work returns an [*runlock.OwnedError].
func (r *Runs) Work(ctx context.Context, id string) (fleet.Run, error) {
	for {
		run, err := r.workAsOwner(ctx, id)
		if err != nil {
			return run, err
		}
		// Check the run again: a user may have retried a task before this process released the run.
		// Then EnsureProcess has seen that this process owns the run, and has started no other
		// process. So this process must work on the run again.
		if ended, err := r.hasEnded(ctx, id, ""); ended || err != nil {
			return run, err
		}
	}
}

// workAsOwner locks a run and works on it until it has ended. Then it writes the documents, merges
// changes if the plan requests it, and tells the sources of the run's tasks how the tasks have
// ended.
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
		_ = s.flush(ctx) // ignore the error: flush is called again when the run has ended
		if err := s.worker.Adopt(ctx, running); err != nil {
			return fleet.Run{}, err
		}
		if !s.run.Status.Final() {
			if err := s.workUntilEnd(ctx); err != nil {
				return fleet.Run{}, err
			}
		}
		flushed = s.flush(ctx)
		if ended, err = r.hasEnded(ctx, id, ""); err == nil && !ended { // a user has retried a task, so work on the run again
			s, running, err = r.open(ctx, id)
		}
		if err != nil {
			return fleet.Run{}, err
		}
	}
	r.finishDocuments(ctx, id, flushed)
	if err := os.RemoveAll(AttemptsFolder(r.opts.State, id)); err != nil { // no longer needed: all attempts have ended, and the store has their results
		return fleet.Run{}, err
	}
	r.tickCheckboxes(ctx, s.run)
	if err := r.land(ctx, id); err != nil {
		return fleet.Run{}, err
	}
	if s.reportsItems() {
		r.opts.Report(ctx, id, true)
	}
	return r.opts.Query.Run(ctx, id)
}

// land merges the changes of a run or opens pull requests. It does nothing unless the run's plan
// requests this and all tasks are complete. If merging fails, land only prints a notice, because
// the user can still merge the changes.
func (r *Runs) land(ctx context.Context, id string) error {
	var run store.Run
	err := r.opts.Store.Read(ctx, func(rows store.Reader) (err error) {
		run, err = rows.Run(id)
		return err
	})
	if err != nil || run.Status != store.Complete || r.opts.Land == nil || !bytes.Contains(run.Plan, []byte(`"Land":`)) { // JSON name of plan.Isolation.Land
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

// activeRun is a run that this process works on, with its worker and the writers of its documents.
type activeRun struct {
	opts      *Options
	run       store.Run
	from      int64              // sequence number of the last event when the work started
	terminals bool               // whether the plan requests a tmux session for an agent of the run
	build     *buildrun.Writer   // writes the documents of a build; nil if the run is not a build or has no tasks
	team      *teamrun.Conductor // controls the run of a team of agents; nil if the run has no team or no tasks
	worker    *worker.Worker
	recorder  *recorder.Recorder
}

// open returns an activeRun for a run, and the attempts of the run that are running according to
// the store. It changes nothing.
func (r *Runs) open(ctx context.Context, id string) (*activeRun, []engine.Assignment, error) {
	s := &activeRun{opts: &r.opts}
	o := r.opts
	var running []engine.Assignment
	err := o.Store.Read(ctx, func(rows store.Reader) (err error) {
		if s.run, err = rows.Run(id); err != nil {
			return runquery.NotFoundAs(err, "run", id)
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
	host, _ := os.Hostname() // only for display, so ignore an error
	s.worker = worker.New(worker.Options{
		ID: s.run.OnlyWorker, Name: host + ":" + filepath.Base(cmp.Or(s.run.Project, o.Project)), Labels: []string{engine.WorkerLabel(s.run.OnlyWorker)},
		About: fleet.WorkerMeta{Program: "gaffer", Host: host, Version: o.Version, Run: id}, Slots: cmp.Or(s.run.Parallel, DefaultParallel),
		Engine: o.Engine, Attempts: AttemptsFolder(o.State, id), Root: o.Project, Home: AttemptsFolder(o.State, ""),
		Workspace: workspace.Workspace{Root: o.Project, Trees: WorktreesFolder(o.State), LogFile: r.logFile, Base: s.run.Base, Workflow: p.Workflow},
		Agents:    o.Agents, Accounts: o.Accounts(), Now: o.Now, Notice: o.Notice, Supervisor: o.Supervisor, Terminal: o.Terminals.For, NewKey: o.NewID,
		Sandbox: func(spec plan.Task) (sandbox.Spec, error) { return o.Sandbox(spec, s.run.StartedBy != "") }, Machine: o.Machine,
	})
	return s, running, nil
}

// logFile returns the path of a task's log file.
func (r *Runs) logFile(t store.Task) string {
	log, err := r.opts.Session.LogPath(t.Run, t.Task)
	if err != nil { // the id is not a valid file name; no valid plan has such an id
		return ""
	}
	return log
}

// Recorder returns a recorder that writes the session document of a run and the ledger records of
// its attempts. These are JSON files in the project, for other programs.
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
