package app

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gaffer/fleet"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/pane"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/attempt/tmux"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/pause"
	"gaffer/internal/plan"
	"gaffer/internal/project"
)

// maxSocket is as long as the name of a socket may be.
const maxSocket = 100

// terminals is the tmux server of this project's agents.
func (a *App) terminals() *tmux.Server {
	name := fmt.Sprintf("%x", sha256.Sum256([]byte(a.ledgerDir())))[:12]
	socket := filepath.Join(a.state, "tmux", name)
	if len(socket) > maxSocket {
		socket = filepath.Join(os.TempDir(), fmt.Sprintf("gaffer-%d", os.Getuid()), name)
	}
	return tmux.New(socket)
}

func (a *App) ledgerDir() string { return a.opts.Config.Path("paths.ledger") }

// terminal returns where people can look at an attempt, or nil for nowhere.
func (a *App) terminal(t store.Task, spec plan.Task, log string, from int64) *supervisor.Terminal {
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
				Socket: socket, Task: t.Run + "/" + t.Task, Kind: a.kind(engine.AgentOf(spec)), Policy: string(spec.Questions), Log: log, From: from,
			}.List()...)
			return startSession(ctx, a.terminals(), d.Session, argv, a.paneEnv(), a.opts.Project.Root)
		},
		Failed: func(err error) {
			a.opts.Notice(fmt.Sprintf("task %s: no terminal: %v; its agent runs without one, 'gaffer logs %s -f' shows it", t.Task, err, t.Task))
		},
	}
}

// paneEnv lets commands that a person types in a pane find what we have found.
func (a *App) paneEnv() []string {
	return append(supervisor.WithoutSecrets(os.Environ()), project.EnvVar+"="+a.opts.Project.Root, "GAFFER_DB="+a.database)
}

// startSession begins a session. One of that name is what the attempt before has
// left: a bead has one agent at a time. It is given a moment to end by itself.
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

// Attachment is how a person's terminal can show an agent.
type Attachment struct {
	Argv []string
	Task fleet.Task
}

// NoTerminalError is an agent that cannot be attached to.
type NoTerminalError struct{ Task, Why, Next string }

func (e *NoTerminalError) Error() string { return fmt.Sprintf("%s: %s", e.Task, e.Why) }

// NotFound marks the error as one about something that is not there.
func (e *NoTerminalError) NotFound() bool { return true }

// Hint says what to do next.
func (e *NoTerminalError) Hint() string { return e.Next }

// Attach returns how to attach to the agent of a task. It waits for one that has
// just begun.
func (a *App) Attach(ctx context.Context, text string, readOnly bool) (Attachment, error) {
	if err := tmux.Available(ctx); err != nil {
		return Attachment{}, err
	}
	for until := time.Now().Add(attachWithin); ; pause.For(ctx, 50*time.Millisecond) {
		t, err := a.FindTask(ctx, text)
		if err != nil {
			return Attachment{}, err
		}
		there, err := a.terminals().Has(ctx, t.Session)
		switch {
		case t.Session != "" && err != nil:
			return Attachment{}, err
		case t.Session != "" && there:
			return Attachment{a.terminals().AttachCommand(t.Session, readOnly), t}, nil
		case !a.begins(t) || time.Now().After(until) || ctx.Err() != nil:
			return Attachment{}, noTerminal(t)
		}
	}
}

// attachWithin is how long an agent that has just begun may take to have its
// terminal.
const attachWithin = 3 * time.Second

// begins reports whether a task may have a terminal soon.
func (a *App) begins(t fleet.Task) bool {
	if t.Session == "" || t.Status.Final() {
		return false
	}
	return t.Attempt == nil || t.Attempt.PID == 0 || t.Status == fleet.Queued || a.opts.Now().Sub(t.Attempt.Started) < attachWithin
}

// noTerminal says why an agent cannot be attached to.
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

// kind is which protocol an agent speaks.
func (a *App) kind(name string) string {
	custom, err := agentsOf(a.opts.Config, name)
	if err != nil {
		return plan.CommandAgent
	}
	return agent.Kind(name, custom)
}

// watchTerminals tells once when the terminals of agents that run have gone.
func (s *localRun) watchTerminals(ctx context.Context) {
	told := false
	for ctx.Err() == nil {
		pause.For(ctx, terminalEvery)
		lost, err := s.app.lostTerminals(ctx, s.run.ID)
		if err != nil || len(lost) == 0 {
			told = told && err != nil
			continue
		}
		if !told {
			s.app.opts.Notice(fmt.Sprintf("the terminal of %s is gone: tmux or its session has ended; the agent goes on, 'gaffer logs %s -f' shows it", lost[0], lost[0]))
		}
		told = true
	}
}

// terminalEvery is how often the terminals are looked at, and how long one may
// take to come up.
const terminalEvery = 2 * time.Second

// lostTerminals are the tasks of a run whose agents run and whose terminals are
// not there.
func (a *App) lostTerminals(ctx context.Context, run string) (lost []string, err error) {
	r, err := a.Run(ctx, run)
	if err != nil {
		return nil, err
	}
	sessions, err := a.terminals().List(ctx)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, s := range sessions {
		there[s.Name] = true
	}
	for _, t := range r.Tasks {
		young := t.Attempt == nil || t.Attempt.PID == 0 || a.opts.Now().Sub(t.Attempt.Started) < terminalEvery
		if t.Session != "" && t.Status == fleet.Running && !young && !there[t.Session] {
			lost = append(lost, t.ID)
		}
	}
	return lost, nil
}
