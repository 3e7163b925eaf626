// Package runview shows a run until it ends, and optionally works on it. In a terminal
// it shows a live view, otherwise plain lines. 'gaffer run', 'resume', 'retry --resume'
// and 'status --watch' use it.
package runview

import (
	"context"
	"fmt"
	"time"

	"gaffer/fleet"
	"gaffer/internal/app"
	"gaffer/internal/cli/connect"
	"gaffer/internal/cli/env"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui"
)

// View shows runs for one command and works on them.
type View struct {
	Fleet connect.Fleet
	App   *app.App // nil if the fleet is a server's
	Show  bool     // Work also shows the run in the browser

	env     *env.Env
	notices notices
	remark  string // a note for the live view
	shown   *shown // nil if this process serves no dashboard
}

// With opens gaffer on this machine in the command's project, calls do and closes
// gaffer. Running agents continue.
func With(ctx context.Context, e *env.Env, do func(*View) error) error {
	t := newView(e)
	a, err := connect.App(ctx, e, t.notices.tell)
	if err != nil {
		return err
	}
	t.App, t.Fleet = a, connect.Here(a)
	return t.finally(do)
}

// WithFleet is like [With], but uses the configured server if there is one.
func WithFleet(ctx context.Context, e *env.Env, do func(*View) error) error {
	far, err := connect.Remote(e)
	if err != nil {
		return err
	}
	if !far {
		return With(ctx, e, do)
	}
	t := newView(e)
	f, err := connect.Server(e, t.notices.tell)
	if err != nil {
		return err
	}
	t.Fleet = f
	return t.finally(do)
}

func newView(e *env.Env) *View {
	t := &View{env: e}
	t.notices.to = t.talk
	return t
}

// finally calls do, waits while a browser shows the dashboard, and closes the fleet.
func (t *View) finally(do func(*View) error) error {
	err := do(t)
	t.shown.end(err)
	if closed := t.Fleet.Close(); err == nil {
		err = closed
	}
	return err
}

// far reports whether the run belongs to a server, whose workers work on it.
func (t *View) far() bool { return t.Fleet.Where() != "" }

func (t *View) talk(text string) { t.env.Talk("gaffer: %s", display.Printable(text)) }

// ending describes why a view ended.
type ending struct {
	run         fleet.Run
	interrupted bool   // the user or a signal ended it
	left        string // why it ended before the run did, or ""
	detached    bool
}

// Work works on a run until it has ended, and prints the result. A server's run is only
// followed. The returned error determines the exit code; it is nil if every task is
// complete.
func (t *View) Work(ctx context.Context, run string, asJSON bool) error {
	t.show(ctx, run)
	return t.attend(ctx, run, asJSON)
}

func (t *View) attend(ctx context.Context, run string, asJSON bool) error {
	r, err := t.Fleet.Run(ctx, run)
	if err != nil {
		return err
	}
	signals := takeSignals(ctx)
	defer signals.give()
	show := t.plain
	if term, err := tui.Open(t.env.In, t.env.Err); err == nil && t.env.Getenv("TERM") != "dumb" {
		show = func(ctx context.Context, j job) (ending, error) { return t.live(ctx, term, j) }
	}
	// The views handle signals themselves, so ctx must not be cancelled by one.
	ctx = context.WithoutCancel(ctx)
	end, err := show(ctx, job{run: r, work: newWork(ctx, t, run), signals: signals.hear, interval: connect.Pace(len(r.Tasks))})
	if err != nil {
		return err
	}
	if end.detached {
		return t.background(ctx, end, asJSON)
	}
	if err := t.tell(end, asJSON); err != nil || t.App == nil || !end.run.Status.Final() {
		return err
	}
	return t.App.OwedBy(ctx, run) // scripts that read the documents next must not mistake old ones for the result
}

// job holds the parameters of a view of a run.
type job struct {
	run      fleet.Run
	work     *work // nil if this process only watches the run
	signals  <-chan word
	interval time.Duration
}

// background lets a background process continue the run.
func (t *View) background(ctx context.Context, end ending, asJSON bool) error {
	t.shown.leave()
	if err := t.Detach(ctx, end.run.ID, asJSON); err != nil {
		return err
	}
	if end.interrupted {
		return exit.Interrupted(fmt.Errorf("run %s: %s", end.run.ID, t.goesOn()))
	}
	return nil
}

// goesOn describes what happens to a run after this process has left it.
func (t *View) goesOn() string {
	if t.far() {
		return "left; it goes on without this"
	}
	return "hung up; it goes on in the background"
}

// tell prints the result and returns the error for the exit code.
func (t *View) tell(end ending, asJSON bool) error {
	if asJSON {
		if err := t.env.PrintJSON(end.run); err != nil {
			return err
		}
	} else if err := t.summary(end.run); err != nil {
		return err
	}
	return verdict(end)
}

// verdict returns nil if every task is complete, otherwise the error for the exit code.
func verdict(end ending) error {
	r := end.run
	switch {
	case end.left != "":
		return &exit.Error{
			Code: exit.CodeInterrupted, Err: fmt.Errorf("run %s: %s", r.ID, end.left),
			Next: fmt.Sprintf("'%s' goes on, 'gaffer status' shows how it stands", resuming(r)),
		}
	case r.Status == fleet.Complete && (r.Counts.Cancelled == 0 || r.Team != ""):
		return nil // even if a signal tried to end it
	case r.Team != "":
		return teamVerdict(end)
	case end.interrupted:
		return &exit.Error{
			Code: exit.CodeInterrupted, Err: fmt.Errorf("run %s: %s, %s", r.ID, r.Status, phrase.Counts(r.Counts)),
			Next: fmt.Sprintf("'gaffer retry %s/TASK' queues a task again", r.ID),
		}
	}
	return &exit.Error{Code: exit.CodeFailed, Err: fmt.Errorf("run %s: %s, %s", r.ID, r.Status, phrase.Counts(r.Counts))}
}

// teamVerdict returns the error for a session that did not complete. The user continues
// the session, whatever task has failed.
func teamVerdict(end ending) error {
	if end.interrupted {
		return &exit.Error{
			Code: exit.CodeInterrupted, Err: fmt.Errorf("session %s: interrupted", end.run.Team), Next: "'gaffer team resume' goes on where it was",
		}
	}
	return &exit.Error{
		Code: exit.CodeFailed, Err: fmt.Errorf("session %s: stopped before it was complete", end.run.Team),
		Next: "'gaffer team status' says why and what to do, 'gaffer team resume' goes on",
	}
}
