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

// maxSocket is the longest path of a socket, in bytes.
const maxSocket = 100

// terminals returns the tmux server of this project's agents.
func (a *App) terminals() *tmux.Server {
	name := fmt.Sprintf("%x", sha256.Sum256([]byte(a.ledgerDir())))[:12]
	socket := filepath.Join(a.state, "tmux", name)
	if len(socket) > maxSocket {
		socket = filepath.Join(os.TempDir(), fmt.Sprintf("gaffer-%d", os.Getuid()), name)
	}
	return tmux.New(socket)
}

func (a *App) ledgerDir() string { return a.opts.Config.Path("paths.ledger") }

// terminal returns the terminal in which users can watch an attempt, or nil for none.
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

// paneEnv returns the environment of a pane, so that commands in it use the same
// project and database.
func (a *App) paneEnv() []string {
	return append(supervisor.WithoutSecrets(os.Environ()), project.EnvVar+"="+a.opts.Project.Root, "GAFFER_DB="+a.database)
}

// startSession starts a tmux session. An existing session of that name belongs to the
// previous attempt, because a bead has one agent at a time. startSession waits up to 2
// seconds for it to end, and then ends it.
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

// Attachment is the command that shows an agent in the user's terminal.
type Attachment struct {
	Argv []string
	Task fleet.Task
}

// NoTerminalError reports an agent that users cannot attach to.
type NoTerminalError struct{ Task, Why, Next string }

func (e *NoTerminalError) Error() string { return fmt.Sprintf("%s: %s", e.Task, e.Why) }

// NotFound marks the error as "not found".
func (e *NoTerminalError) NotFound() bool { return true }

// Hint returns advice for the user.
func (e *NoTerminalError) Hint() string { return e.Next }

// Attach returns the command that attaches to the agent of a task. If the agent has
// just started, it waits for the terminal.
func (a *App) Attach(ctx context.Context, text string, readOnly bool) (Attachment, error) {
	if err := tmux.Available(ctx); err != nil {
		return Attachment{}, err
	}
	for until := time.Now().Add(attachWithin); ; pause.For(ctx, 50*time.Millisecond) {
		t, err := a.Fleet.FindTask(ctx, text)
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

// attachWithin is the time that a new agent may take to get its terminal.
const attachWithin = 3 * time.Second

// begins reports whether a task may get a terminal soon.
func (a *App) begins(t fleet.Task) bool {
	if t.Session == "" || t.Status.Final() {
		return false
	}
	return t.Attempt == nil || t.Attempt.PID == 0 || t.Status == fleet.Queued || a.opts.Now().Sub(t.Attempt.Started) < attachWithin
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

// kind returns the protocol of an agent.
func (a *App) kind(name string) string {
	custom, err := agentsOf(a.opts.Config, name)
	if err != nil {
		return plan.CommandAgent
	}
	return agent.Kind(name, custom)
}

// watchTerminals reports once when terminals of running agents have disappeared.
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

// terminalEvery is the interval between checks of the terminals, and the time that a
// terminal may take to appear.
const terminalEvery = 2 * time.Second

// lostTerminals returns the tasks of a run whose agents are running without their
// terminals.
func (a *App) lostTerminals(ctx context.Context, run string) (lost []string, err error) {
	r, err := a.Fleet.Run(ctx, run)
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
