// Package terminal gives agents terminals in tmux that users can attach to.
package terminal

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gaffer/fleet"
	"gaffer/internal/attempt/pane"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/attempt/tmux"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/pause"
	"gaffer/internal/plan"
	"gaffer/internal/project"
)

// Options are the settings and dependencies of Terminals.
type Options struct {
	State    string // path of gaffer's state folder on this machine
	Project  string // path of the project's root
	Ledger   string // path of the folder with the project's records; it identifies the tmux server
	Database string // file or URL of the database
	// FindTask returns the task whose name the user has typed.
	FindTask func(ctx context.Context, name string) (fleet.Task, error)
	// Kind returns the kind of the agent with the given name: the name of the built-in agent, such
	// as claude, whose protocol it uses.
	Kind   func(agent string) string
	Now    func() time.Time
	Notice func(text string) // prints a message for the user
}

// Terminals gives the agents of one project terminals that users can attach to.
type Terminals struct {
	opts   Options
	server *tmux.Server
}

// maxSocket is the maximum length of the path of a tmux server's socket, in bytes.
const maxSocket = 100

// New returns the terminals of a project.
func New(opts Options) *Terminals { return &Terminals{opts, ServerOf(opts.State, opts.Ledger)} }

// ServerOf returns the tmux server of the project whose records are in the folder ledger. state is
// the path of gaffer's state folder on this machine.
func ServerOf(state, ledger string) *tmux.Server {
	name := fmt.Sprintf("%x", sha256.Sum256([]byte(ledger)))[:12]
	socket := filepath.Join(state, "tmux", name)
	if len(socket) > maxSocket {
		socket = filepath.Join(os.TempDir(), fmt.Sprintf("gaffer-%d", os.Getuid()), name)
	}
	return tmux.New(socket)
}

// For returns the terminal in which users can watch an attempt, or nil if the task has no tmux
// session. log is the path of the task's log file. offset is the position in that file at which the
// output of the attempt begins.
func (t *Terminals) For(task store.Task, spec plan.Task, log string, offset int64) *supervisor.Terminal {
	d := spec.Dispatch
	if d == nil || d.Session == "" {
		return nil
	}
	return &supervisor.Terminal{
		Open: func(ctx context.Context, socket string) error {
			self, err := os.Executable()
			if err != nil {
				return err
			}
			argv := append([]string{self, pane.Command}, pane.Args{
				Socket: socket, Task: task.Run + "/" + task.Task, Kind: t.opts.Kind(engine.AgentOf(spec)), Policy: string(spec.Questions), Log: log, From: offset,
			}.List()...)
			// With these variables, gaffer commands in the terminal use the same project and
			// database.
			env := append(supervisor.WithoutSecrets(os.Environ()), project.EnvVar+"="+t.opts.Project, "GAFFER_DB="+t.opts.Database)
			return startSession(ctx, t.server, d.Session, argv, env, t.opts.Project)
		},
		Failed: func(err error) {
			t.opts.Notice(fmt.Sprintf("task %s: no terminal: %v; its agent runs without one, 'gaffer logs %s -f' shows it", task.Task, err, task.Task))
		},
	}
}

// startSession starts a tmux session. A session of that name may still exist from the previous
// attempt on the same bead (a work item): all attempts on a bead use the same session
// name, and only one of them runs at a time. startSession waits up to 2 seconds for the old session
// to end, and then ends it itself.
func startSession(ctx context.Context, server *tmux.Server, session string, argv, env []string, dir string) error {
	exists := (*tmux.ExistsError)(nil)
	var err error
	for range 20 {
		if err = server.Start(ctx, session, argv, env, dir); !errors.As(err, &exists) {
			return err
		}
		pause.For(ctx, 100*time.Millisecond)
	}
	if err := server.End(ctx, session); err != nil {
		return err
	}
	return server.Start(ctx, session, argv, env, dir)
}

// Attachment has the command line that shows an agent in the user's terminal, and the task on which
// that agent works.
type Attachment struct {
	Argv []string
	Task fleet.Task
}

// NoTerminalError reports that users cannot attach to a task's agent.
type NoTerminalError struct{ Task, Why, Next string }

func (e *NoTerminalError) Error() string { return fmt.Sprintf("%s: %s", e.Task, e.Why) }

// NotFound returns true, so that commands exit with code 3 and the server answers with status 404.
func (e *NoTerminalError) NotFound() bool { return true }

// Hint returns advice for the user.
func (e *NoTerminalError) Hint() string { return e.Next }

// attachWithin is how long Attach waits for the terminal of an agent that has just started.
const attachWithin = 3 * time.Second

// Attach returns the command that attaches to the agent of a task. name is the task's name as the
// user has typed it. If the agent has not started yet or has just started, Attach waits up to
// attachWithin for its terminal.
func (t *Terminals) Attach(ctx context.Context, name string, readOnly bool) (Attachment, error) {
	if err := tmux.Available(ctx); err != nil {
		return Attachment{}, err
	}
	for until := time.Now().Add(attachWithin); ; pause.For(ctx, 50*time.Millisecond) {
		task, err := t.opts.FindTask(ctx, name)
		if err != nil {
			return Attachment{}, err
		}
		exists, err := t.server.Has(ctx, task.Session)
		switch {
		case task.Session != "" && err != nil:
			return Attachment{}, err
		case task.Session != "" && exists:
			return Attachment{t.server.AttachCommand(task.Session, readOnly), task}, nil
		case !t.begins(task) || time.Now().After(until) || ctx.Err() != nil:
			return Attachment{}, noTerminal(task)
		}
	}
}

// begins reports whether a task that has no terminal at present may get one soon, because its agent
// has not started yet or has just started.
func (t *Terminals) begins(task fleet.Task) bool {
	if task.Session == "" || task.Status.Final() {
		return false
	}
	return task.Attempt == nil || task.Attempt.PID == 0 || task.Status == fleet.Queued || t.opts.Now().Sub(task.Attempt.Started) < attachWithin
}

// noTerminal returns an error that explains why users cannot attach to an agent.
func noTerminal(t fleet.Task) error {
	e := &NoTerminalError{Task: t.ID, Next: fmt.Sprintf("'gaffer logs %s' shows what it has written", t.ID)}
	if t.Status == fleet.Running {
		e.Next = fmt.Sprintf("'gaffer logs %s -f' shows what it writes", t.ID)
	}
	switch {
	case t.Session == "":
		e.Why = fmt.Sprintf("it has no terminal, and is %s", t.Status)
	case t.Status != fleet.Running:
		e.Why = fmt.Sprintf("it is %s, its terminal %s is gone", t.Status, t.Session)
	default:
		e.Why = fmt.Sprintf("its terminal %s is gone; the agent goes on without it", t.Session)
	}
	return e
}

// watchEvery is the interval between checks of whether the terminals of running agents exist. It is
// also how long a terminal may take to appear after its agent has started.
const watchEvery = 2 * time.Second

// Watch prints a notice when terminals of running agents have disappeared. It repeats the notice
// only after a check in between has found that no terminal is missing. It returns when ctx ends.
// The function tasks returns the tasks to watch.
func (t *Terminals) Watch(ctx context.Context, tasks func(context.Context) ([]fleet.Task, error)) {
	reported := false
	for ctx.Err() == nil {
		pause.For(ctx, watchEvery)
		lost, err := t.lost(ctx, tasks)
		if err != nil || len(lost) == 0 {
			reported = reported && err != nil
			continue
		}
		if !reported {
			t.opts.Notice(fmt.Sprintf("the terminal of %s is gone: tmux or its session has ended; the agent goes on, 'gaffer logs %s -f' shows it", lost[0], lost[0]))
		}
		reported = true
	}
}

// lost returns the ids of the tasks whose agents are running without their terminals.
func (t *Terminals) lost(ctx context.Context, tasks func(context.Context) ([]fleet.Task, error)) (lost []string, err error) {
	list, err := tasks(ctx)
	if err != nil {
		return nil, err
	}
	sessions, err := t.server.List(ctx)
	if err != nil {
		return nil, err
	}
	exists := map[string]bool{}
	for _, s := range sessions {
		exists[s.Name] = true
	}
	for _, task := range list {
		young := task.Attempt == nil || task.Attempt.PID == 0 || t.opts.Now().Sub(task.Attempt.Started) < watchEvery
		if task.Session != "" && task.Status == fleet.Running && !young && !exists[task.Session] {
			lost = append(lost, task.ID)
		}
	}
	return lost, nil
}
