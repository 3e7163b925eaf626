package runview

import (
	"context"

	"gaffer/internal/text/display"
)

// Detach starts a background process that executes a run. For a run on a server it starts none,
// because the server's workers do the work. In both cases it prints the id of the run. Without
// asJSON it also prints how to watch the run.
func (v *View) Detach(ctx context.Context, run string, asJSON bool) error {
	if !asJSON {
		r, err := v.Fleet.Run(ctx, run)
		if err != nil {
			return err
		}
		if text := pausedText(r, v.env.Now()); text != "" {
			v.env.Talk("run %s: %s", run, text)
		}
	}
	if v.remote() {
		v.openDashboard(ctx, run)
		if asJSON {
			return v.env.PrintJSON(detached{run, v.Fleet.Where()})
		}
		server := v.env.ServerArg()
		v.env.Talk("it runs on the workers of %s", display.Printable(v.Fleet.Where()))
		v.env.Talk("'gaffer status --watch %s%s' shows it, 'gaffer cancel %s%s' ends it", run, server, run, server)
		return v.env.Printf("%s\n", run)
	}
	d, err := v.App.Background.Start(ctx, run)
	if err != nil {
		return err
	}
	if asJSON {
		return v.env.PrintJSON(d)
	}
	v.env.Talk("runs in the background, pid %d, log %s", d.PID, display.Printable(d.Log))
	if r, err := v.App.Fleet.Run(ctx, run); err == nil && parallelText(r, false) != "" {
		v.env.Talk("tasks: %s", parallelText(r, false))
	}
	if d.Team != "" {
		v.env.Talk("'gaffer team status' shows how session %s stands", d.Team)
	}
	v.env.Talk("'gaffer status --watch %s' shows it, 'gaffer cancel %s' ends it", d.Run, d.Run)
	return v.env.Printf("%s\n", d.Run)
}

// detached is the JSON that --detach prints for a run on a server.
type detached struct {
	Run    string `json:"run"`
	Server string `json:"server"`
}
