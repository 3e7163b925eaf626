package app

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/api/protocol"
	"gaffer/internal/api/server"
	"gaffer/internal/attempt/terminal"
	"gaffer/internal/attempt/terminalview"
	"gaffer/internal/attempt/tmux"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// TerminalService implements [server.Terminals]: it shows the terminals of agents that run in tmux
// on this machine.
type TerminalService struct {
	app   *App
	views terminalview.Views
}

// NotShownError reports that the server cannot show the terminal of a task.
type NotShownError struct{ Task, Why, Next string }

func (e *NotShownError) Error() string { return fmt.Sprintf("%s %s: %s", e.Task, e.Why, e.Next) }

// NotFound returns true, so that commands exit with code 3 and the server answers with status 404.
func (e *NotShownError) NotFound() bool { return true }

// Code returns the error code that clients get.
func (e *NotShownError) Code() string { return "no_terminal" }

// Open implements [server.Terminals]. Other programs can write the database, so Open does not trust
// the run's row. It shows a terminal only if a lock file shows that this machine has worked on the
// run, and only if the terminal belongs to one of gaffer's own tmux servers.
func (s *TerminalService) Open(ctx context.Context, by credential.Identity, run, task string, size fleet.TerminalSize) (server.Terminal, error) {
	var row store.Run
	var spec plan.Task
	err := s.app.store.Read(ctx, func(r store.Reader) (err error) {
		if row, err = r.Run(run); err == nil && protocol.OwnsRun(run) {
			err = store.ErrNotFound
		}
		if err != nil {
			return runquery.NotFoundAs(err, "run", run)
		}
		t, err := r.Task(store.TaskKey{Run: run, Task: task})
		if err != nil {
			return runquery.NotFoundAs(err, "task", task)
		}
		spec, err = plan.DecodeTask(t.Spec)
		return err
	})
	if err != nil {
		return nil, err
	}
	if spec.Dispatch == nil || spec.Dispatch.Session == "" {
		return nil, &NotShownError{task, "has no terminal", "only agents that 'gaffer dispatch' starts in tmux have one; the log shows what the agent writes"}
	}
	find := func(ctx context.Context) (fleet.Task, error) {
		t, err := s.app.Fleet.Task(ctx, run, task)
		if err == nil && t.Attempt != nil && !s.app.locks.WorkedOn(row) {
			err = s.elsewhere(ctx, run, task)
		}
		return t, err
	}
	if _, err := find(ctx); err != nil {
		return nil, err
	}
	if err := tmux.Available(ctx); err != nil {
		return nil, &NotShownError{task, "cannot be shown", err.Error()}
	}
	view, err := s.views.Open(terminalview.Request{
		Server: terminal.ServerOf(s.app.state, spec.Dispatch.Ledger), Session: spec.Dispatch.Session,
		Task: find, User: cmp.Or(by.Name, by.ID), Size: size,
	})
	if err != nil {
		return nil, err
	}
	return view, nil
}

// elsewhere returns the error for a task whose agent runs on another machine. The error names that
// machine if its name is known.
func (s *TerminalService) elsewhere(ctx context.Context, run, task string) error {
	where := "another machine"
	workers, err := s.app.workers(ctx)
	if err != nil {
		return err
	}
	for _, w := range workers {
		if w.Run == run && w.Host != "" {
			where = w.Host
		}
	}
	here, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("name of this machine: %w", err)
	}
	return &NotShownError{task, fmt.Sprintf("runs on %s, and this server is on %s", where, here), fmt.Sprintf("'gaffer attach %s' on %s shows its terminal", task, where)}
}
