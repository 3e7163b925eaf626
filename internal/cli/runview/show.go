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
	"gaffer/internal/app"
	"gaffer/internal/cli/connect"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/page"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
)

// ShowFlag adds the flag --open, whose value belongs into [View.Show].
func ShowFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("open", false, "show it in the browser, until its pages are closed")
}

// CheckFlags returns an error if --open or --detach cannot be used. Call it before
// anything is created. far is true if a server's workers run the plan.
func CheckFlags(e *env.Env, show, detach, far bool) error {
	if !detach || far {
		return nil
	}
	if show {
		return exit.WithHint(exit.Usage(errors.New("--open shows the run from this process, and --detach leaves it")),
			"'gaffer serve' shows all runs until it is stopped, and 'gaffer open' opens it")
	}
	return app.CheckDetach(e.Getenv)
}

// lingering is how long the dashboard of an ended run waits for a browser to connect or
// reconnect.
const lingering = 10 * time.Second

// shown is the dashboard of a run that this process serves. It is nil if there is none.
type shown struct {
	attendant *View
	page      *page.Page
	run       string
	opened    bool // a browser was opened and may not have connected yet
	left      bool // the user has detached from the run
}

// show opens the run in the browser if --open was given. It does so once. An error is
// only reported, and the run continues.
func (t *View) show(ctx context.Context, run string) {
	if !t.Show {
		return
	}
	t.Show = false
	if err := t.env.RefuseAgents("--open"); err != nil {
		t.notices.tell("the dashboard: " + err.Error())
		return
	}
	if t.far() {
		if err := t.showFar(ctx, run); err != nil {
			t.notices.tell("the dashboard: " + err.Error())
		}
		return
	}
	p, err := page.Open(ctx, t.env, t.App, run, t.notices.tell)
	if err != nil {
		t.notices.tell("the dashboard: " + err.Error())
		return
	}
	t.shown = &shown{attendant: t, page: p, run: run}
	if link, err := p.Link(page.RunPlace(run)); err == nil {
		t.shown.opened = t.offer(ctx, p.URL, link, "gaffer open "+run)
	}
}

// showFar opens a server's run in the browser.
func (t *View) showFar(ctx context.Context, run string) error {
	address, _, _ := strings.Cut(t.Fleet.Where(), ",")
	address = strings.TrimRight(strings.TrimSpace(address), "/")
	client, err := connect.At(t.env, address, coordinator.Options{})
	if err != nil {
		return err
	}
	login, err := client.Login(ctx)
	if err != nil {
		return err
	}
	t.offer(ctx, address, address+login.To(page.RunPlace(run)), fmt.Sprintf("gaffer open %s%s", run, t.env.ServerArg()))
	return nil
}

// offer opens the link in a browser. If it cannot, it stores a remark for the live
// view, which will cover the printed text. It reports whether a browser was opened.
func (t *View) offer(ctx context.Context, address, link, again string) (opened bool) {
	opened = page.Offer(ctx, t.env, address, link, page.Unasked(t.env), again)
	if !opened {
		t.remark = page.How(address, again)
	}
	return opened
}

// leave is called when a background process takes over the run. The dashboard must not
// keep this process alive then.
func (s *shown) leave() {
	if s != nil {
		s.left = true
	}
}

// end closes the dashboard and prints how to see the run again. If the run has ended
// and a browser has shown it or was opened, end first waits until no browser shows it.
func (s *shown) end(err error) {
	if s == nil {
		return
	}
	if (s.page.Visited() || s.opened) && !s.left && exit.Of(err) != exit.CodeInterrupted {
		s.linger()
	}
	if err := s.page.Close(); err != nil {
		s.attendant.talk("the dashboard: " + display.Printable(err.Error()))
	}
	s.attendant.talk(fmt.Sprintf("the dashboard is closed; 'gaffer serve' and then 'gaffer open %s' show the run again", s.run))
}

// linger returns once no browser has shown the page for the time lingering, or at a
// signal.
func (s *shown) linger() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	s.attendant.talk(fmt.Sprintf("the dashboard stays at %s while a browser shows it, or until Ctrl-C; 'gaffer open %s' opens it again", s.page.URL, s.run))
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for last := time.Now(); time.Since(last) < lingering; {
		select {
		case <-tick.C:
			if s.page.Watched() {
				last = time.Now()
			}
		case <-ctx.Done():
			return
		}
	}
}
