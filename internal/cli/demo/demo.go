// Package demo implements the command 'gaffer demo': it runs an example fleet and shows
// it in the dashboard.
package demo

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"gaffer/internal/app/demo"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/page"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
)

const long = `Show an example fleet in the browser: four workers, a plan that asks you questions,
fails and is retried, an agent whose rate limit is used up, a build and a team.
The agents are part of gaffer and have no model. They need no key and no network.

Everything is in a separate folder, and your own projects are not affected. The
demo runs for about three minutes and then stays visible, until Ctrl-C ends it and
removes the folder. If a demo is killed, its processes and files are removed, too.`

// options holds the values of the command's flags.
type options struct {
	listen    string
	lasts     time.Duration
	noBrowser bool
	keep      bool
}

// New creates the command 'gaffer demo'.
func New(e *env.Env) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:                   "demo [FLAG]…",
		DisableFlagsInUseLine: true,
		Short:                 "Show an example fleet in the browser",
		Long:                  long,
		Example:               "  gaffer demo\n  gaffer demo --no-browser --listen 127.0.0.1:4871",
		Args:                  cobra.NoArgs,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), e) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "`ADDRESS` and port of this machine to listen on; port 0 is any that is free")
	flags.BoolVar(&o.noBrowser, "no-browser", false, "open no browser")
	flags.DurationVar(&o.lasts, "for", 0, "end by itself after `TIME`, such as 5m")
	flags.BoolVar(&o.keep, "keep", false, "leave the folder there, for a look at the documents")
	return cmd
}

// run shows the demo until ctx ends, or for the time that --for sets.
func (o options) run(ctx context.Context, e *env.Env) (err error) {
	l, err := o.listenOnLoopback(ctx)
	if err != nil {
		return err
	}
	f, err := demo.Create()
	if err != nil {
		return errors.Join(err, l.Close())
	}
	cleaner, err := demo.StartCleaner(f, o.keep)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer func() { err = errors.Join(err, o.cleanUp(e, f, cleaner)) }()
	ctx, end := context.WithCancel(ctx)
	defer end()
	if err := o.show(ctx, end, e, f, l); ctx.Err() == nil {
		return err
	}
	// The demo was stopped. Ignore the error of show, because the stop may have caused it.
	return nil
}

func (o options) listenOnLoopback(ctx context.Context) (net.Listener, error) {
	if o.lasts < 0 {
		return nil, exit.Usage(fmt.Errorf("--for %s: want a time above 0", o.lasts))
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
		return nil, errors.Join(exit.Usage(fmt.Errorf("--listen %s: the demo is for this machine alone, want an address such as 127.0.0.1:4871", o.listen)), l.Close())
	}
	return l, nil
}

// show serves the dashboard and plays the demo until ctx ends. The caller must pass a function stop
// that ends ctx. With the flag --for, show calls stop when the time of the flag has passed.
func (o options) show(ctx context.Context, stop func(), e *env.Env, f demo.Folder, l net.Listener) (err error) {
	own := &env.Env{In: e.In, Out: e.Out, Err: e.Err, Getenv: f.Getenv(e.Getenv), Dir: f.Project(), Now: e.Now, Version: e.Version}
	notice := func(text string) { e.Talk("gaffer: %s", display.Printable(text)) }
	cast, err := demo.NewProcesses(f, e.Getenv, notice)
	if err == nil {
		err = cast.Prepare(ctx)
	}
	if err != nil {
		return errors.Join(err, l.Close())
	}
	debug.SetMemoryLimit(math.MaxInt64) // remove the memory limit that cli.Main sets for short commands
	p, err := serve(ctx, own, l, notice)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if err := errors.Join(f.WriteVariables(p.URL), o.printIntroduction(e, f)); err != nil {
		return err
	}
	if o.lasts > 0 {
		defer time.AfterFunc(o.lasts, stop).Stop()
	}
	o.offerDashboard(ctx, e, f, p)
	defer cast.End()
	if err := cast.Start(ctx, p.URL); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// offerDashboard opens the dashboard in a browser, or prints how to open it.
func (o options) offerDashboard(ctx context.Context, e *env.Env, f demo.Folder, p *page.Page) {
	link, err := p.Link("")
	if err != nil {
		return // there are too many unused login links, so the server creates no more
	}
	again := fmt.Sprintf(". %s && gaffer open --print", display.ShellLine([]string{f.VariablesFile()}))
	page.OpenOrPrint(ctx, e, p.URL, link, !o.noBrowser && page.MayOpenBrowser(e), again)
}

// printIntroduction prints what the demo shows.
func (o options) printIntroduction(e *env.Env, f demo.Folder) error {
	return e.Printf(`An example fleet, without a model, a key or a network, in %s

  checkout  12 tasks on four workers: three ask you something, one is tried again, one fails
  nightly   its agent's rate limit is used up: the lane is paused for a minute and a half
  fixes     a run of this machine alone, in git worktrees
  shop      a build in chunks, with an inbox of ideas; a team works beside it
  laptop    a worker that dies after 40 seconds; half a minute later it is offline

It goes on for about three minutes, and then stays as it is. Ctrl-C ends all of it.
In another terminal: . %s && gaffer ps

`, f, display.ShellLine([]string{f.VariablesFile()}))
}

// cleanUp stops all processes of the demo and removes the demo's folder. With --keep, it leaves the
// folder and prints its path.
func (o options) cleanUp(e *env.Env, f demo.Folder, k *demo.Cleaner) error {
	if err := k.End(); err != nil {
		return fmt.Errorf("tidy up after the demo: %w", err)
	}
	if o.keep {
		e.Talk("the folder of the demo is %s", f)
	}
	return nil
}
