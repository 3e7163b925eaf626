// Package app puts the parts together: it is the one place that knows everyone.
// A command asks it for what a person wants done and shows what comes back.
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
	"sync"
	"sync/atomic"
	"time"

	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/byhand/caller"
	"gaffer/internal/config"
	"gaffer/internal/engine"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/postgres"
	"gaffer/internal/engine/store/sqlite"
	"gaffer/internal/plan"
	"gaffer/internal/project"
	"gaffer/ledger"
	"gaffer/session"
)

// Options are what an App needs of the world.
type Options struct {
	Project project.Project
	Config  *config.Config
	Now     func() time.Time
	Getenv  func(string) string
	Notice  func(text string) // things a person should know, as they happen; never nil
	Version string            // of the program, for others to see
	// Agent names the agent for which this process acts, see package caller. Events
	// carry its name, and it may do less than a user. It is empty for a user.
	Agent string

	Supervisor supervisor.Options
}

// App is gaffer on this machine, in one project. It is safe for concurrent use.
type App struct {
	opts     Options
	database string // for people
	state    string // the folder of what this machine runs
	store    store.Store
	engine   *engine.Engine
	lookout  *runquery.Querier
	session  *session.Store
	ledger   *ledger.Store
	notify   notifying
	shows    atomic.Bool // beside what it does, see Show
	pays     bool        // it writes documents that are owed, see pay

	attending sync.Mutex // see Attend
}

// forever is the lease of attempts that only this machine can run: their agents
// outlive gaffer, and whoever comes back takes them over.
const forever = 100 * 365 * 24 * time.Hour

// remembered is how many rows are remembered: one process has a few agents at a
// time, and its plan may be long.
const remembered = 2048

// lockTimeout bounds how long a document that another program has locked keeps
// all others from being written.
const lockTimeout = 5 * time.Second

// Open opens the database, which is made if it is not there.
func Open(ctx context.Context, opts Options) (*App, error) {
	database, state, err := databaseOf(opts)
	if err != nil {
		return nil, err
	}
	a := &App{opts: opts, state: state, database: database}
	if strings.Contains(a.database, "://") {
		a.store, err = postgres.Open(ctx, a.database)
	} else if closed := readOnly(a.database); closed != nil {
		a.store, err = openSnapshot(ctx, a.database, closed)
	} else {
		a.store, err = sqlite.OpenWith(ctx, a.database, sqlite.Options{Remember: remembered})
	}
	if err != nil {
		return nil, err
	}
	a.engine = engine.New(a.store, engine.Options{
		Now: opts.Now, NewID: newID, Rand: mathrand.Float64, Lease: forever, Endless: true, Who: opts.who(),
	})
	a.lookout = runquery.New(a.store, runquery.Options{Annotate: a.adorn, AnnotateTask: a.adornTask})
	a.openDocuments()
	return a, nil
}

// databaseOf returns the name of the database, and the folder of what this
// machine runs.
func databaseOf(opts Options) (database, state string, err error) {
	if state, err = stateFolder(opts.Getenv); err != nil {
		return "", "", err
	}
	return cmp.Or(opts.Config.Database("db"), filepath.Join(state, "gaffer.db")), state, nil
}

// Exists reports whether there is a database to open. Looking makes none.
func Exists(opts Options) (bool, error) {
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

// Close gives everything back. What runs goes on.
func (a *App) Close() error {
	a.session.Close()
	return a.store.Close()
}

// stateFolder is where a user's programs keep what must outlive them.
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

// shown is a folder as it stands in a document: from the project's root if it
// is below that.
func (a *App) shown(path string) string {
	if rel, err := filepath.Rel(a.opts.Project.Root, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(path)
}

// who is whose name the events carry.
func (o Options) who() string {
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

// newID returns an id that sorts by the time it was made.
func newID() string {
	var random [6]byte
	_, _ = rand.Read(random[:]) // it never fails
	return fmt.Sprintf("%011x%s", time.Now().UnixMilli(), hex.EncodeToString(random[:]))
}

// Submit stores a plan as a run of this project and returns its id. Nothing
// runs before Work.
func (a *App) Submit(ctx context.Context, p plan.Plan) (string, error) {
	base, err := a.baseOf(ctx, p)
	if err != nil {
		return "", err
	}
	for {
		id, err := session.NewID(a.opts.Now(), rand.Reader)
		if err != nil {
			return "", err
		}
		woven, err := weave(p, id)
		if err != nil {
			return "", err
		}
		_, err = a.engine.Submit(ctx, engine.Submission{Plan: woven, ID: id, Project: a.opts.Project.Root, Base: base, Place: id, Conducted: p.Team != nil})
		var taken *engine.ConflictError
		if errors.As(err, &taken) {
			continue
		}
		return id, err
	}
}

// Answer answers a question of a run. deny refuses what was asked for, with
// text as the reason.
func (a *App) Answer(ctx context.Context, question, text string, deny bool) error {
	if a.opts.Agent != "" { // also of a question in a run of its own: the user decides
		return &caller.RefusedError{What: "gaffer answer", Agent: a.opts.Agent}
	}
	return a.engine.Answer(ctx, engine.Answer{Question: question, Text: text, Deny: deny})
}

// Cancel ends a run, or one task of it with what waits for it.
func (a *App) Cancel(ctx context.Context, run, task, why string) error {
	if err := a.MayChange(ctx, run, "gaffer cancel"); err != nil {
		return err
	}
	return a.engine.Cancel(ctx, engine.Target{Run: run, Task: task}, "", why)
}

// Retry queues a task again that failed or was cancelled. A run that had ended
// goes on with the next Work.
func (a *App) Retry(ctx context.Context, run, task string) error {
	if err := a.MayChange(ctx, run, "gaffer retry"); err != nil {
		return err
	}
	why := "a person asked for it"
	if a.opts.Agent != "" {
		why = "the agent that started the run asked for it"
	}
	return a.engine.Retry(ctx, store.TaskKey{Run: run, Task: task}, "", why)
}

// MayChange refuses an agent that changes a run which it has not submitted itself.
// what is the command that it used.
func (a *App) MayChange(ctx context.Context, run, what string) error {
	if a.opts.Agent == "" {
		return nil
	}
	return a.store.Read(ctx, func(r store.Reader) error {
		first, err := r.EventsOf(run, 0, 1)
		if err == nil && (len(first) == 0 || first[0].Who != a.opts.Agent) {
			err = &caller.RefusedError{What: what, Agent: a.opts.Agent}
		}
		return err
	})
}

// attempts is the folder of the attempts of a run.
func (a *App) attempts(run string) string { return filepath.Join(a.state, "attempts", run) }
