package runview

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"gaffer/coordinator"
	"gaffer/internal/app/localrun"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/page"
	"gaffer/internal/exit"
)

// ShowFlag adds the flag --open and returns a pointer to its value. The caller sets [View.Show] to
// the value once the flags were parsed.
func ShowFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("open", false, "show it in the browser, until its pages are closed")
}

// CheckFlags returns an error if --detach is used together with --open, or if --detach is used in a
// process that a task of gaffer has started. show and detach are the values of --open and --detach.
// remote is true if a server's workers run the plan; then CheckFlags allows both flags. Call
// CheckFlags before anything is created.
func CheckFlags(e *env.Env, show, detach, remote bool) error {
	if !detach || remote {
		return nil
	}
	if show {
		return exit.WithHint(exit.Usage(errors.New("--open shows the run from this process, and --detach leaves it")),
			"'gaffer serve' shows all runs until it is stopped, and 'gaffer open' opens it")
	}
	return localrun.CheckDetach(e.Getenv)
}

// lingerTime is how long the dashboard of an ended run waits for a browser to connect or
// reconnect.
const lingerTime = 10 * time.Second

// dashboard is the dashboard of a run, served by this process. A process that serves no dashboard
// has a nil *dashboard, on which release and end do nothing.
type dashboard struct {
	view     *View
	page     *page.Page
	run      string
	opened   bool // a browser was opened; it may not have connected yet
	released bool // another process has taken over the work on the run
}

// openDashboard opens the run in the browser if --open was given. Later calls do nothing. If it
// fails, it prints the error, and the run continues.
func (v *View) openDashboard(ctx context.Context, run string) {
	if !v.Show {
		return
	}
	v.Show = false
	err := v.env.RefuseAgents("--open")
	switch {
	case err != nil:
	case v.remote():
		err = v.openRemoteDashboard(ctx, run)
	default:
		var p *page.Page
		if p, err = page.Open(ctx, v.env, v.App, run, v.notices.send); err != nil {
			break
		}
		v.dashboard = &dashboard{view: v, page: p, run: run}
		if link, err := p.Link(page.RunFragment(run)); err == nil {
			v.dashboard.opened = v.openBrowser(ctx, p.URL, link, "gaffer open "+run)
		}
	}
	if err != nil {
		v.notices.send("the dashboard: " + err.Error())
	}
}

// openRemoteDashboard opens the page of a server's run in the browser.
func (v *View) openRemoteDashboard(ctx context.Context, run string) error {
	address, _, _ := strings.Cut(v.Fleet.Where(), ",")
	address = strings.TrimRight(strings.TrimSpace(address), "/")
	client, err := openfleet.ClientAt(v.env, address, coordinator.Options{})
	if err != nil {
		return err
	}
	login, err := client.Login(ctx)
	if err != nil {
		return err
	}
	v.openBrowser(ctx, address, address+login.To(page.RunFragment(run)), fmt.Sprintf("gaffer open %s%s", run, v.env.ServerArg()))
	return nil
}

// openBrowser opens the link in a browser and reports whether it succeeded. If it fails, it prints
// how to open the page. The live view will cover the printed text, so openBrowser also stores it in
// v.remark, a message that the live view shows. The parameter command is a gaffer command with
// which the user can create another link.
func (v *View) openBrowser(ctx context.Context, address, link, command string) (opened bool) {
	opened = page.OpenOrPrint(ctx, v.env, address, link, page.MayOpenBrowser(v.env), command)
	if !opened {
		v.remark = page.HowToOpen(address, command)
	}
	return opened
}

// release makes [dashboard.end] close the dashboard without waiting for browsers. It is called when
// a background process takes over the run, so that the dashboard does not keep this process alive.
func (d *dashboard) release() {
	if d != nil {
		d.released = true
	}
}

// end closes the dashboard and prints how to see the run again. err is the error with which the
// command ends. If a browser was opened or has shown the run, end first waits until no browser
// shows it. It does not wait after an interrupt, or if another process has taken over the run.
func (d *dashboard) end(err error) {
	if d == nil {
		return
	}
	if (d.page.Visited() || d.opened) && !d.released && exit.Of(err) != exit.CodeInterrupted {
		d.linger()
	}
	if err := d.page.Close(); err != nil {
		d.view.print("the dashboard: " + err.Error())
	}
	d.view.print(fmt.Sprintf("the dashboard is closed; 'gaffer serve' and then 'gaffer open %s' show the run again", d.run))
}

// linger waits until a signal arrives, or until the page has not been open in a browser for the
// time lingerTime.
func (d *dashboard) linger() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	d.view.print(fmt.Sprintf("the dashboard stays at %s while a browser shows it, or until Ctrl-C; 'gaffer open %s' opens it again", d.page.URL, d.run))
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for last := time.Now(); time.Since(last) < lingerTime; {
		select {
		case <-tick.C:
			if d.page.Watched() {
				last = time.Now()
			}
		case <-ctx.Done():
			return
		}
	}
}
