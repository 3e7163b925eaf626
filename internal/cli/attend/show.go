package attend

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
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/exit"
	"gaffer/internal/cli/open"
	"gaffer/internal/cli/page"
)

// ShowFlag declares --open, which is what [Attendant.Show] is set to.
func ShowFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("open", false, "show it in the browser, too, while it runs")
}

// CheckShow refuses to show what this process does not stay for.
func CheckShow(show, detach, far bool) error {
	if show && detach && !far {
		return exit.WithHint(exit.Usage(errors.New("--open shows the run from this process, and --detach leaves it")),
			"'gaffer serve' shows all runs until it is stopped, and 'gaffer open' opens it")
	}
	return nil
}

// lingering is how long the page of a run stays when that has ended, for whoever
// looks at it.
const lingering = 10 * time.Second

// shown is a run in the browser; nil if it is not shown from here.
type shown struct {
	attendant *Attendant
	page      *page.Page
}

// show shows a run in the browser if that is wanted, once. If it cannot, it says
// so, and the run goes on.
func (t *Attendant) show(ctx context.Context, run string) *shown {
	if !t.Show {
		return nil
	}
	t.Show = false
	if t.far() {
		if err := t.showFar(ctx, run); err != nil {
			t.notices.tell("the dashboard: " + err.Error())
		}
		return nil
	}
	p, err := page.Open(ctx, t.env, t.App, run, t.notices.tell)
	if err != nil {
		t.notices.tell("the dashboard: " + err.Error())
		return nil
	}
	if link, err := p.Link(page.RunPlace(run)); err == nil {
		t.offer(ctx, p.URL, link, "gaffer open "+run)
	}
	return &shown{t, p}
}

// showFar shows a run of a server in the browser.
func (t *Attendant) showFar(ctx context.Context, run string) error {
	address, _, _ := strings.Cut(t.Fleet.Where(), ",")
	address = strings.TrimRight(strings.TrimSpace(address), "/")
	client, err := open.At(t.env, address, coordinator.Options{})
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

// offer keeps for the live view what it will cover.
func (t *Attendant) offer(ctx context.Context, address, link, again string) {
	if !page.Offer(ctx, t.env, address, link, page.Unasked(t.env), again) {
		t.remark = page.How(address, again)
	}
}

// end closes the page: a while after the run has ended, if anybody has looked at it
// and nobody wants to be gone.
func (s *shown) end(err error) {
	if s == nil {
		return
	}
	if s.page.Visited() && exit.Of(err) != exit.CodeInterrupted {
		s.linger()
	}
	if err := s.page.Close(); err != nil {
		s.attendant.talk("the dashboard: " + env.Printable(err.Error()))
	}
}

func (s *shown) linger() {
	s.attendant.talk(fmt.Sprintf("the dashboard stays for another %s, or until Ctrl-C", lingering))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	timer := time.NewTimer(lingering)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
