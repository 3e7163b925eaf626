// Package openfleet opens the fleet that a command works on: this machine or a server. It
// also completes the names of runs and tasks.
package openfleet

import (
	"context"

	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/text/display"
)

// OpenApp opens gaffer's app in the command's project. The app calls the function notice with
// messages for the user. If notice is nil, the messages are printed to stderr. An earlier gaffer
// process may have failed to write the documents of a run that has ended. OpenApp tries to write
// them again.
func OpenApp(ctx context.Context, e *env.Env, notice func(text string)) (*app.App, error) {
	opts, err := Options(e, notice)
	if err != nil {
		return nil, err
	}
	a, err := app.Open(ctx, opts)
	if err != nil {
		return nil, err
	}
	a.Pending.WriteOnOpen(ctx)
	return a, nil
}

// Options returns the options with which OpenApp opens the app in the command's project. The app
// calls the function notice with messages for the user. If notice is nil, the messages are printed
// to stderr.
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

// WithApp opens gaffer's app with OpenApp, calls fn with it and closes it.
func WithApp(ctx context.Context, e *env.Env, fn func(*app.App) error) error {
	a, err := OpenApp(ctx, e, nil)
	if err != nil {
		return err
	}
	err = fn(a)
	if closed := a.Close(); err == nil {
		err = closed
	}
	return err
}
