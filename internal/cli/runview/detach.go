package runview

import (
	"context"

	"gaffer/internal/text/display"
)

// Detach starts a background process that works on a run. It prints the run's id and
// how to see the run again.
func (t *View) Detach(ctx context.Context, run string, asJSON bool) error {
	if !asJSON {
		r, err := t.Fleet.Run(ctx, run)
		if err != nil {
			return err
		}
		if text := pauses(r, t.env.Now()); text != "" {
			t.env.Talk("run %s: %s", run, text)
		}
	}
	if t.far() {
		t.show(ctx, run)
		return t.leaveTo(run, asJSON)
	}
	d, err := t.App.Background(ctx, run)
	if err != nil {
		return err
	}
	if asJSON {
		return t.env.PrintJSON(d)
	}
	t.env.Talk("runs in the background, pid %d, log %s", d.PID, display.Printable(d.Log))
	if r, err := t.App.Fleet.Run(ctx, run); err == nil && atOnce(r, false) != "" {
		t.env.Talk("tasks: %s", atOnce(r, false))
	}
	if d.Team != "" {
		t.env.Talk("'gaffer team status' shows how session %s stands", d.Team)
	}
	t.env.Talk("'gaffer status --watch %s' shows it, 'gaffer cancel %s' ends it", d.Run, d.Run)
	return t.env.Printf("%s\n", d.Run)
}

// left is the JSON form of a run that a server's workers work on.
type left struct {
	Run    string `json:"run"`
	Server string `json:"server"`
}

// leaveTo prints how to see a run again that a server's workers work on.
func (t *View) leaveTo(run string, asJSON bool) error {
	if asJSON {
		return t.env.PrintJSON(left{run, t.Fleet.Where()})
	}
	again := t.env.ServerArg()
	t.env.Talk("it runs on the workers of %s", display.Printable(t.Fleet.Where()))
	t.env.Talk("'gaffer status --watch %s%s' shows it, 'gaffer cancel %s%s' ends it", run, again, run, again)
	return t.env.Printf("%s\n", run)
}
