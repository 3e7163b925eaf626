// Package connect opens what runs for a command, and completes the names of runs
// and tasks from it.
package connect

import (
	"context"

	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/text/display"
)

// App opens gaffer in the project of the command. What a person should know is
// told on stderr as it happens, or given to notice if that is not nil. Documents that
// an earlier gaffer could not write are written first.
func App(ctx context.Context, e *env.Env, notice func(text string)) (*app.App, error) {
	opts, err := Options(e, notice)
	if err != nil {
		return nil, err
	}
	a, err := app.Open(ctx, opts)
	if err != nil {
		return nil, err
	}
	a.PayOnOpen(ctx)
	return a, nil
}

// Options are what gaffer in the project of the command is opened with.
func Options(e *env.Env, notice func(text string)) (app.Options, error) {
	p, err := e.Project()
	if err != nil {
		return app.Options{}, err
	}
	c, err := e.Config()
	if err != nil {
		return app.Options{}, err
	}
	if notice == nil {
		notice = func(text string) { e.Talk("gaffer: %s", display.Printable(text)) }
	}
	return app.Options{Project: p, Config: c, Now: e.Now, Getenv: e.Getenv, Notice: notice, Version: e.Version, Agent: e.AgentName()}, nil
}

// With opens gaffer, calls do and closes it again.
func With(ctx context.Context, e *env.Env, do func(*app.App) error) error {
	a, err := App(ctx, e, nil)
	if err != nil {
		return err
	}
	err = do(a)
	if closed := a.Close(); err == nil {
		err = closed
	}
	return err
}
