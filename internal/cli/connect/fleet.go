package connect

import (
	"context"
	"io"
	"time"

	"gaffer/fleet"
	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/connect/serverfleet"
	"gaffer/internal/plan"
	"gaffer/internal/text/display"
)

// Fleet is what commands ask about runs: gaffer on this machine, or a server.
type Fleet interface {
	// Where is the server's address, or empty for this machine.
	Where() string

	Run(ctx context.Context, id string) (fleet.Run, error)
	Runs(ctx context.Context, everywhere, ended bool) ([]fleet.Run, error)

	// List are the runs of the project, or of all projects, without their tasks,
	// the latest first: at most so many, also those that have ended.
	List(ctx context.Context, everywhere bool, limit int) ([]fleet.Run, error)

	// FindRun and FindTask return what a person means by a name, in the
	// command's project.
	FindRun(ctx context.Context, text string, unfinished bool) (string, error)
	FindTask(ctx context.Context, text string) (fleet.Task, error)

	// Follow calls each with the run as it stands, at once and then whenever it
	// has changed, but not more often than every interval, until the run has
	// ended or each returns an error or ctx ends.
	Follow(ctx context.Context, run string, interval time.Duration, each func(fleet.Run) error) error

	// Latest are the runs of all projects without their tasks, the latest first:
	// those that have not ended, and as many of all as n says.
	Latest(ctx context.Context, n int) ([]fleet.Run, error)
	Workers(ctx context.Context) ([]fleet.Worker, error)
	Questions(ctx context.Context) ([]fleet.Question, error) // the open ones, the oldest first
	Lanes(ctx context.Context) ([]fleet.Lane, error)         // those that are paused
	Task(ctx context.Context, run, task string) (fleet.Task, error)
	Attempts(ctx context.Context, run, task string) ([]fleet.Attempt, error)

	// Changes calls each at once and then whenever anything has changed, but not
	// more often than every interval, and from time to time whatever happens,
	// until each returns an error or ctx ends.
	Changes(ctx context.Context, interval time.Duration, each func() error) error

	Submit(ctx context.Context, p plan.Plan) (id string, err error)
	Answer(ctx context.Context, question, text string, deny bool) error
	// Ask asks a person a question that belongs to no task and returns its id,
	// Question what has become of it. Who no longer waits withdraws it.
	Ask(ctx context.Context, q fleet.Ask) (id string, err error)
	Question(ctx context.Context, id string) (fleet.Answered, error)
	Withdraw(ctx context.Context, question, why string) error

	Cancel(ctx context.Context, run, task, why string) error
	Retry(ctx context.Context, run, task string) error
	// Attend lets a process work on a run of this machine if none does, after a
	// person has changed the run. A server does so by itself.
	Attend(ctx context.Context, run string) error

	// Log writes what the agents of a task have written, one attempt after the
	// other. If to has a method Begin(attempt int) error, it is called before what
	// an attempt wrote, and CaughtUp() error when what comes is new.
	Log(ctx context.Context, t fleet.Task, to io.Writer, q fleet.LogQuery) error

	Close() error
}

// Remote reports whether the command line or the settings name a server.
func Remote(e *env.Env) (bool, error) {
	c, err := e.Config()
	return err == nil && c.Server() != "", err
}

// New opens the runs of this machine or of the server that is named. What a person should
// know is told on stderr as it happens, or given to notice if that is not nil.
func New(ctx context.Context, e *env.Env, notice func(text string)) (Fleet, error) {
	far, err := Remote(e)
	if err != nil {
		return nil, err
	}
	if far {
		return Server(e, notice)
	}
	a, err := App(ctx, e, notice)
	if err != nil {
		return nil, err
	}
	return Here(a), nil
}

// Server is the fleet of the server that is named.
func Server(e *env.Env, notice func(text string)) (*serverfleet.Fleet, error) {
	c, err := e.Config()
	if err != nil {
		return nil, err
	}
	client, err := Client(e)
	if err != nil {
		return nil, err
	}
	if notice == nil {
		notice = func(text string) { e.Talk("gaffer: %s", display.Printable(text)) }
	}
	return serverfleet.New(client, serverfleet.Options{Address: c.Server(), Project: c.ProjectName(), Notice: notice, Agent: e.AgentName()}), nil
}

// WithFleet opens what is asked about runs, calls do and closes it again.
func WithFleet(ctx context.Context, e *env.Env, do func(Fleet) error) error {
	f, err := New(ctx, e, nil)
	if err != nil {
		return err
	}
	err = do(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// Here is gaffer on this machine as a fleet.
func Here(a *app.App) Fleet { return machine{a} }

type machine struct{ *app.App }

func (machine) Where() string { return "" }
