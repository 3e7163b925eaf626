// Package app constructs and connects the parts of gaffer, such as the database and the engine. The
// commands call it and print its results.
package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	mathrand "math/rand/v2"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"gaffer/internal/api/changes"
	"gaffer/internal/api/protocol"
	"gaffer/internal/app/localrun"
	"gaffer/internal/app/notifications"
	"gaffer/internal/app/retention"
	"gaffer/internal/attempt/runlock"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/attempt/terminal"
	"gaffer/internal/attempt/workspace"
	"gaffer/internal/config"
	"gaffer/internal/connect/localfleet"
	"gaffer/internal/engine"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/postgres"
	"gaffer/internal/engine/store/sqlite"
	"gaffer/internal/flow/beadrun"
	"gaffer/internal/flow/buildrun"
	"gaffer/internal/flow/newrun"
	"gaffer/internal/flow/schedulerun"
	"gaffer/internal/flow/teamsession"
	"gaffer/internal/landing"
	"gaffer/internal/plan"
	"gaffer/internal/project"
	"gaffer/ledger"
	"gaffer/session"
)

// Options configures an App.
type Options struct {
	Project project.Project
	Config  *config.Config
	Now     func() time.Time
	Getenv  func(string) string
	Notice  func(text string) // prints a message for the user; must not be nil
	Version string            // version of gaffer, which is reported to other programs
	// Agent is the name of the agent that started this process. It is empty if a user started the
	// process. Events record this name as their author, and some changes are refused to agents.
	Agent string

	Supervisor supervisor.Options
}

// App gives access to gaffer in one project on this machine. It is safe for concurrent use.
type App struct {
	Fleet         *localfleet.Fleet // reads and changes the runs in the database
	Changes       *changes.Service  // reads the changes of tasks from this machine's repositories
	Runs          *localrun.Runs    // executes the project's runs
	Background    *localrun.Background
	Pending       *localrun.Pending // writes run documents that earlier processes could not write
	Builds        *buildrun.Builds
	Teams         *teamsession.Sessions
	Beads         *beadrun.Beads
	Terminals     *terminal.Terminals
	Landing       *landing.Lander // merges the changes of tasks
	Pruner        *retention.Pruner
	Notifications *notifications.Notifications
	Sources       *Sources
	Forks         *Forks

	opts     Options
	database string // file or URL of the database, for display
	state    string // path of gaffer's state folder on this machine
	locks    runlock.Locks
	store    store.Store
	engine   *engine.Engine
	query    *runquery.Querier
	session  *session.Store
	ledger   *ledger.Store
	// served is true while this process executes a run and also serves that run to clients over
	// HTTP. ServeRun sets it, and Coordinator.Close clears it.
	served atomic.Bool
}

// forever is the length of the leases of attempts that only this machine can run. Such a lease must
// not expire while no gaffer process is running: the agent keeps running, and the next gaffer
// process on this machine takes over the attempt.
const forever = 100 * 365 * 24 * time.Hour

// lockTimeout is the longest time that gaffer waits for a session document that another program has
// locked. It applies even if the setting lock_timeout is longer.
const lockTimeout = 5 * time.Second

// Open opens the database, and returns an App that uses it. It creates the database if it does not
// exist. If the folder of the database file is read-only, the App uses a copy of the file, and
// cannot store changes.
func Open(ctx context.Context, opts Options) (*App, error) {
	database, state, err := databaseOf(opts)
	if err != nil {
		return nil, err
	}
	a := &App{opts: opts, state: state, database: database, locks: runlock.Locks(filepath.Join(state, "runs"))}
	a.Sources, a.Forks = &Sources{a}, &Forks{a}
	if strings.Contains(a.database, "://") {
		a.store, err = postgres.Open(ctx, a.database)
	} else if closed := readOnly(a.database); closed != nil {
		a.store, err = openReadOnlyCopy(ctx, a.database, closed)
	} else {
		a.store, err = sqlite.Open(ctx, a.database)
	}
	if err != nil {
		return nil, err
	}
	limits := opts.limits()
	a.engine = engine.New(a.store, engine.Options{
		Now: opts.Now, NewID: newID, Rand: mathrand.Float64, Lease: forever, Endless: true, Who: opts.author(), Limits: limits,
	})
	a.query = runquery.New(a.store, runquery.Options{Annotate: a.annotate, AnnotateTask: a.annotateTask, Limits: limits, Now: a.clock(), NotStarted: schedulerun.NotStarted})
	a.Fleet = localfleet.New(localfleet.Options{
		Store: a.store, Engine: a.engine, Query: a.query, Project: opts.Project.Root, Now: a.clock(), Agent: opts.Agent, Workers: a.workers,
	})
	a.Changes = a.newChanges()
	a.Notifications = notifications.New(notifications.Options{
		Settings: opts.notifications(), Store: a.store, Clock: a.clock(), NewID: newID, Notice: opts.Notice, Report: a.dailyReport,
	})
	a.Landing = landing.New(landing.Options{
		Store: a.store, Reviews: a.engine, Project: opts.Project.Root, Scratch: filepath.Join(state, "merges"), Here: a.locks.WorkedOn, Who: opts.author(),
	})
	a.Runs, a.session, a.ledger, a.Terminals = a.openProject(opts, false)
	_, readOnly := a.store.(*readOnlyCopy)
	a.Pending = localrun.NewPending(localrun.PendingOptions{
		Store: a.store, Locks: a.locks, Project: opts.Project.Root, RunsOf: a.runsOf, ReadOnly: readOnly, Now: opts.Now, Notice: opts.Notice,
	})
	a.Background = localrun.NewBackground(localrun.BackgroundOptions{
		Store: a.store, Query: a.query, Locks: a.locks, State: state, Project: opts.Project.Root, Shared: strings.Contains(database, "://"),
		Settings: opts.flags(), Getenv: opts.Getenv, Agent: opts.Agent,
	})
	a.Beads = beadrun.New(beadrun.Options{
		Store: a.store, Locks: a.locks, Project: opts.Project.Root, Ledger: a.ledger, LedgerDir: opts.Config.Path("paths.ledger"), Runs: a.runs,
		Submit: a.Submit, End: a.Runs.CancelAndWait, Collect: a.Runs.Collect, Recorder: a.Runs.Recorder, Notice: opts.Notice,
	})
	a.Builds = buildrun.New(buildrun.Options{
		Project: opts.buildProject(), Store: a.store, Locks: a.locks, Submit: a.Submit, EndRun: a.Runs.CancelRunAndWait, VerifyCommand: verifyCommand,
		Runs: func(r store.Reader) ([]store.Run, error) { return a.runs(r, false) },
	})
	a.Teams = teamsession.New(teamsession.Options{
		Project: opts.teamProject(state), Store: a.store, Engine: a.engine, Locks: a.locks, Submit: a.Submit, EndRun: a.Runs.CancelRunAndWait,
		WriteDocuments: a.Runs.WriteDocuments,
		Runs:           func(r store.Reader) ([]store.Run, error) { return a.runs(r, true) },
	})
	a.Pruner = retention.New(retention.Options{
		Store: a.store, Locks: a.locks, State: state, Database: database, Author: opts.author(), Protocol: protocol.Rows{}, ForgetChanges: deleteKeptChanges, Now: opts.Now, Notice: opts.Notice,
	})
	return a, nil
}

// databaseOf returns the file or URL of the database, and the path of gaffer's state folder on this
// machine.
func databaseOf(opts Options) (database, state string, err error) {
	if state, err = stateFolder(opts.Getenv); err != nil {
		return "", "", err
	}
	return cmp.Or(opts.Config.Database("db"), filepath.Join(state, "gaffer.db")), state, nil
}

// DatabaseExists reports whether the database exists. It never creates one. For the URL of a
// database server it returns true without connecting to the server.
func DatabaseExists(opts Options) (bool, error) {
	database, _, err := databaseOf(opts)
	if err != nil || strings.Contains(database, "://") {
		return err == nil, err
	}
	_, err = os.Stat(database)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Close closes the database and the store of the session documents. It does not stop running
// agents.
func (a *App) Close() error {
	a.session.Close()
	return a.store.Close()
}

// stateFolder returns the path of gaffer's state folder on this machine.
func stateFolder(getenv func(string) string) (string, error) {
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "gaffer"), nil
	}
	home := getenv("HOME")
	if home == "" {
		return "", errors.New("neither XDG_STATE_HOME nor HOME says where the state of gaffer is")
	}
	return filepath.Join(home, ".local", "state", "gaffer"), nil
}

// author returns the name of the agent or user that events of this process record as their author.
func (o Options) author() string {
	if o.Agent != "" {
		return o.Agent
	}
	return userName(o.Getenv)
}

func userName(getenv func(string) string) string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	if name := getenv("USER"); name != "" {
		return name
	}
	return "unknown"
}

// newID returns an id that consists of the current time and random digits. Ids sort by their time
// of creation.
func newID() string {
	var random [6]byte
	_, _ = rand.Read(random[:]) // rand.Read never fails
	return fmt.Sprintf("%011x%s", time.Now().UnixMilli(), hex.EncodeToString(random[:]))
}

// Submit stores a plan as a run of this project and returns the run's id. No task starts before
// [localrun.Runs.Work] is called.
func (a *App) Submit(ctx context.Context, p plan.Plan) (string, error) {
	return a.submit(ctx, p, engine.Submission{Project: a.opts.Project.Root})
}

// submit stores a plan as a run of the project that s names, and returns the run's id. If s has an
// idempotency key and a run with this key exists, submit stores nothing and returns the id of that
// run.
//
// If s has a key, submit creates the run's lock file before it stores the run. The lock file shows
// that this machine may start a process for the run. If another machine repeats the request, that
// machine does not have this file, and so it does not start a second process.
func (a *App) submit(ctx context.Context, p plan.Plan, s engine.Submission) (string, error) {
	rules, err := newrun.Permissions(a.opts.Config)
	if err != nil {
		return "", err
	}
	p = p.AddPermissions(rules)
	if p.Team != nil {
		s.Base, err = teamsession.CreateBase(ctx, s.Project, p)
	} else {
		s.Base, err = workspace.CreateBase(ctx, s.Project, p)
	}
	if err == nil {
		p, err = workspace.FillInto(ctx, s.Project, p)
	}
	if err != nil {
		return "", err
	}
	p = ApplySandbox(a.opts.Config, p)
	s.Conducted = p.Team != nil
	for {
		id, err := session.NewID(a.opts.Now(), rand.Reader)
		if err != nil {
			return "", err
		}
		if s.Plan, err = workspace.AddMergeTasks(p, id); err != nil {
			return "", err
		}
		s.ID, s.OnlyWorker = id, id
		release := func() {}
		if s.Key != "" {
			if release, err = a.locks.Lock(ctx, id); err != nil {
				return "", err
			}
		}
		stored, err := a.engine.Submit(ctx, s)
		release()
		if s.Key != "" && stored != id {
			_ = os.Remove(a.locks.File(id)) // ignore the error: a lock file without a run does no harm
		}
		var taken *engine.ConflictError
		if errors.As(err, &taken) {
			continue
		}
		return stored, err
	}
}
