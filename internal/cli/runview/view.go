// Package runview shows a run until it ends. For commands such as 'gaffer run' it also executes the
// run. In a terminal it shows a live view; without a terminal it prints lines.
package runview

import (
	"context"
	"fmt"
	"time"

	"gaffer/fleet"
	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/terminal"
)

// View shows the runs of one command to the user, and executes them if the command asks for that.
type View struct {
	Fleet openfleet.Fleet
	App   *app.App // nil if the fleet is on a server
	// Show makes [View.Work] open the run in the browser, but only once. For a run on a server,
	// [View.Detach] does so, too.
	Show bool

	env       *env.Env
	notices   notices
	remark    string     // a message that the live view shows at its start
	dashboard *dashboard // the dashboard that this process serves; nil if there is none
}

// With opens the fleet of this machine in the command's project, calls fn and closes the fleet.
// Agents that are still running at that time keep running.
func With(ctx context.Context, e *env.Env, fn func(*View) error) error {
	v := newView(e)
	a, err := openfleet.OpenApp(ctx, e, v.notices.send)
	if err != nil {
		return err
	}
	v.App, v.Fleet = a, openfleet.LocalFleet(a)
	return v.use(fn)
}

// WithFleet is like [With], but uses the configured server if there is one.
func WithFleet(ctx context.Context, e *env.Env, fn func(*View) error) error {
	remote, err := openfleet.UsesServer(e)
	if err != nil {
		return err
	}
	if !remote {
		return With(ctx, e, fn)
	}
	v := newView(e)
	if v.Fleet, err = openfleet.ServerFleet(e, v.notices.send); err != nil {
		return err
	}
	return v.use(fn)
}

func newView(e *env.Env) *View {
	v := &View{env: e}
	v.notices.to = v.print
	return v
}

// use calls fn, and then closes the dashboard and the fleet. Before it closes the dashboard, it may
// wait until no browser shows the page; see [dashboard.end].
func (v *View) use(fn func(*View) error) error {
	err := fn(v)
	v.dashboard.end(err)
	if closed := v.Fleet.Close(); err == nil {
		err = closed
	}
	return err
}

// remote reports whether the runs of v.Fleet are on a server. The workers of the server then
// execute them, and not this process.
func (v *View) remote() bool { return v.Fleet.Where() != "" }

// print prints a message for the user to stderr.
func (v *View) print(text string) { v.env.Talk("gaffer: %s", display.Printable(text)) }

// viewEnd describes why a view ended.
type viewEnd struct {
	run         fleet.Run
	interrupted bool   // the run was cancelled, or the view was left because of a signal
	left        string // error text if the user left while agents were still ending
	detached    bool
}

// job holds what a view needs to show a run.
type job struct {
	run      fleet.Run
	work     *work // executes the run; nil if the command only shows a run that another process executes
	requests <-chan request
	interval time.Duration
}

// Work executes a run until it has ended, and prints the result. If the run is on a server, Work
// only follows it. If the user detaches or closes the terminal, Work hands the run to a background
// process and returns. The returned error determines the exit code; see [verdict].
func (v *View) Work(ctx context.Context, run string, asJSON bool) error {
	v.openDashboard(ctx, run)
	r, err := v.Fleet.Run(ctx, run)
	if err != nil {
		return err
	}
	requests, release := takeSignals(ctx)
	defer release()
	show := v.showLines
	if term, err := terminal.Open(v.env.In, v.env.Err); err == nil && v.env.Getenv("TERM") != "dumb" {
		show = func(ctx context.Context, j job) (viewEnd, error) { return v.showLive(ctx, term, j) }
	}
	// Ignore the cancellation of ctx by a signal, because the views handle signals themselves.
	ctx = context.WithoutCancel(ctx)
	end, err := show(ctx, job{run: r, work: newWork(ctx, v, run), requests: requests, interval: openfleet.ReadInterval(len(r.Tasks))})
	if err != nil {
		return err
	}
	if end.detached {
		v.dashboard.release()
		if err := v.Detach(ctx, end.run.ID, asJSON); err != nil || !end.interrupted {
			return err
		}
		if v.remote() {
			return exit.Interrupted(fmt.Errorf("run %s: left; it goes on without this", end.run.ID))
		}
		return exit.Interrupted(fmt.Errorf("run %s: hung up; it goes on in the background", end.run.ID))
	}
	if err := v.printResult(end, asJSON); err != nil || v.App == nil || !end.run.Status.Final() {
		return err
	}
	// After a run has ended, gaffer writes documents about it, which scripts read. Return an error
	// if they are not written yet, because scripts would read old documents.
	return v.App.Pending.Check(ctx, run)
}

// printResult prints the result of the run and returns the error that determines the exit code.
func (v *View) printResult(end viewEnd, asJSON bool) error {
	if asJSON {
		if err := v.env.PrintJSON(end.run); err != nil {
			return err
		}
	} else if err := v.printSummary(end.run); err != nil {
		return err
	}
	return verdict(end)
}

// verdict returns the error that determines the exit code. It returns nil if the run is complete,
// no task was cancelled, and the user has not left the view while agents were still ending. For a
// run of 'gaffer team' there are two differences: cancelled tasks do not matter, and the hint of
// the error says how to continue the session instead of how to retry a task.
func verdict(end viewEnd) error {
	r := end.run
	switch {
	case end.left != "":
		return &exit.Error{
			Code: exit.CodeInterrupted, Err: fmt.Errorf("run %s: %s", r.ID, end.left),
			Next: fmt.Sprintf("'%s' goes on, 'gaffer status' shows how it stands", resumeCommand(r)),
		}
	case r.Status == fleet.Complete && (r.Counts.Cancelled == 0 || r.Team != ""):
		return nil // the run is complete, even if a signal came too late to end it
	case r.Team != "" && end.interrupted:
		return &exit.Error{
			Code: exit.CodeInterrupted, Err: fmt.Errorf("session %s: interrupted", r.Team), Next: "'gaffer team resume' goes on where it was",
		}
	case r.Team != "":
		return &exit.Error{
			Code: exit.CodeFailed, Err: fmt.Errorf("session %s: stopped before it was complete", r.Team),
			Next: "'gaffer team status' says why and what to do, 'gaffer team resume' goes on",
		}
	case end.interrupted:
		return &exit.Error{
			Code: exit.CodeInterrupted, Err: fmt.Errorf("run %s: %s, %s", r.ID, r.Status, phrase.Counts(r.Counts)),
			Next: fmt.Sprintf("'gaffer retry %s/TASK' queues a task again", r.ID),
		}
	}
	return &exit.Error{Code: exit.CodeFailed, Err: fmt.Errorf("run %s: %s, %s", r.ID, r.Status, phrase.Counts(r.Counts))}
}
