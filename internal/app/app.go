// Package app puts the parts together: it is the one place that knows everyone.
// A command asks it for what a person wants done and shows what comes back.
package app

import (
	"context"
	"time"

	"gaffer/internal/config"
	"gaffer/internal/fleet"
	"gaffer/internal/plan"
	"gaffer/internal/project"
)

// Options are what an App needs of the world.
type Options struct {
	Project project.Project
	Config  *config.Config
	Now     func() time.Time
	Getenv  func(string) string
	Notice  func(text string) // things a person should know, as they happen; never nil
}

// App is gaffer on this machine, in one project. It is safe for concurrent use.
type App struct{}

// Open opens the database, which is made if it is not there.
func Open(ctx context.Context, opts Options) (*App, error) { panic("soon") }

// Close gives everything back. What runs goes on.
func (a *App) Close() error { panic("soon") }

// Submit stores a plan as a run of this project and returns its id. Nothing
// runs before Work.
func (a *App) Submit(ctx context.Context, p plan.Plan) (string, error) { panic("soon") }

// Work runs a run until it ends, and returns how it stands then. It takes over
// what an earlier gaffer has left running. When ctx ends it takes no more work
// and returns at once with ctx's error; agents that run go on without it, and
// another Work adopts them. A run that another gaffer works on is a conflict.
func (a *App) Work(ctx context.Context, run string) (fleet.Run, error) { panic("soon") }

// Run returns a run as it stands.
func (a *App) Run(ctx context.Context, id string) (fleet.Run, error) { panic("soon") }

// Runs lists the runs of this project, or of all projects, the latest first:
// those that are not final, or all.
func (a *App) Runs(ctx context.Context, everywhere, ended bool) ([]fleet.Run, error) { panic("soon") }

// Follow calls each with the run as it stands, at once and then whenever it has
// changed, but not more often than every interval, until the run has ended or
// each returns an error or ctx ends.
func (a *App) Follow(ctx context.Context, run string, interval time.Duration, each func(fleet.Run) error) error {
	panic("soon")
}

// FindRun returns the id of the run that a person means: the whole id, a prefix
// of it or of its last part that is unique in this project, or "-" or "" for
// the latest. With unfinished, only runs that have not ended count.
func (a *App) FindRun(ctx context.Context, text string, unfinished bool) (string, error) {
	panic("soon")
}

// FindTask returns the run and the task that a person means: RUN/TASK, or TASK
// or a unique prefix of one in the latest run that has it.
func (a *App) FindTask(ctx context.Context, text string) (fleet.Task, error) { panic("soon") }

// Answer answers a question of a run. deny refuses what was asked for, with
// text as the reason.
func (a *App) Answer(ctx context.Context, question, text string, deny bool) error { panic("soon") }

// Cancel ends a run, or one task of it with what waits for it.
func (a *App) Cancel(ctx context.Context, run, task, why string) error { panic("soon") }

// Retry queues a task again that failed or was cancelled. A run that had ended
// goes on with the next Work.
func (a *App) Retry(ctx context.Context, run, task string) error { panic("soon") }

// Health is what doctor tells.
type Health struct {
	Database string   `json:"database"`
	Schema   int      `json:"schema"`
	Limits   []string `json:"limits"` // what is weaker on this system, in whole sentences
	Agents   []Agent  `json:"agents"`
	Holding  []Holder `json:"holding"` // what holds capacity now
	Orphans  []Orphan `json:"orphans"` // processes that no run knows
	Advice   []string `json:"advice"`  // what to do, in whole sentences
}

// Agent is an agent program and whether it can be used here.
type Agent struct {
	Name    string `json:"name"`
	Program string `json:"program"`
	Path    string `json:"path,omitempty"` // empty if it is not installed
	Version string `json:"version,omitempty"`
}

// Holder is something that holds a slot: an attempt that runs.
type Holder struct {
	Run     string        `json:"run"`
	Task    string        `json:"task"`
	PID     int           `json:"pid"`
	Age     time.Duration `json:"age"`
	State   string        `json:"state"`
	Watched bool          `json:"watched"` // a gaffer looks after it now
}

// Orphan is a process of an attempt that is over or unknown.
type Orphan struct {
	PID     int    `json:"pid"`
	Attempt string `json:"attempt"`
	Command string `json:"command"`
}

// Doctor looks at this machine. With repair it ends what is orphaned.
func (a *App) Doctor(ctx context.Context, repair bool) (Health, error) { panic("soon") }
