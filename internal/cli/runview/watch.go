package runview

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"gaffer/fleet"
	"gaffer/internal/cli/connect"
	"gaffer/internal/exit"
	"gaffer/internal/ui/tui"
)

// Watch shows a run that another process works on, until the run ends or the user
// leaves. Without a terminal, or with asJSON, it prints each change as a line to
// stdout.
func (t *View) Watch(ctx context.Context, run string, asJSON bool) error {
	r, err := t.Fleet.Run(ctx, run)
	if err != nil {
		return err
	}
	term, none := tui.Open(t.env.In, t.env.Err)
	if asJSON || none != nil || t.env.Getenv("TERM") == "dumb" {
		return t.lines(ctx, r, asJSON)
	}
	signals := takeSignals(ctx)
	defer signals.give()
	end, err := t.live(context.WithoutCancel(ctx), term, job{run: r, signals: signals.hear, interval: connect.Pace(len(r.Tasks))})
	if err != nil {
		return err
	}
	if !end.run.Status.Final() {
		return exit.Interrupted(fmt.Errorf("run %s: left before its end; it goes on", r.ID))
	}
	return t.tell(end, false)
}

// lines prints each change to stdout, as text or as JSON.
func (t *View) lines(ctx context.Context, r fleet.Run, asJSON bool) error {
	var all sync.WaitGroup
	defer all.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	runs, failed := follow(ctx, t.Fleet, r.ID, connect.Pace(len(r.Tasks)), &all)
	seen := r
	if !asJSON {
		if err := t.env.Printf("%s\n", strings.Join(opening(r, t.far(), t.env.Now()), "\n")); err != nil {
			return err
		}
	}
	for r := range runs {
		if err := t.change(seen, r, asJSON); err != nil {
			return err
		}
		seen = r
	}
	if err := pending(failed); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if asJSON {
		return verdict(ending{run: seen})
	}
	return t.tell(ending{run: seen}, false)
}

func (t *View) change(before, after fleet.Run, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(t.env.Out)
		enc.SetEscapeHTML(false)
		return enc.Encode(after)
	}
	var errs []error
	for _, line := range changes(before, after, t.env.Now()) {
		errs = append(errs, t.env.Printf("%s\n", line))
	}
	return errors.Join(errs...)
}
