package runview

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"gaffer/fleet"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/exit"
	"gaffer/internal/ui/tui/terminal"
)

// Watch shows a run that another process works on, until the run ends or the user leaves. If there
// is no terminal or asJSON is true, it prints lines to stdout as [View.printChanges] does.
func (v *View) Watch(ctx context.Context, run string, asJSON bool) error {
	r, err := v.Fleet.Run(ctx, run)
	if err != nil {
		return err
	}
	term, none := terminal.Open(v.env.In, v.env.Err)
	if asJSON || none != nil || v.env.Getenv("TERM") == "dumb" {
		return v.printChanges(ctx, r, asJSON)
	}
	requests, release := takeSignals(ctx)
	defer release()
	end, err := v.showLive(context.WithoutCancel(ctx), term, job{run: r, requests: requests, interval: openfleet.ReadInterval(len(r.Tasks))})
	if err != nil {
		return err
	}
	if !end.run.Status.Final() {
		return exit.Interrupted(fmt.Errorf("run %s: left before its end; it goes on", r.ID))
	}
	return v.printResult(end, false)
}

// printChanges prints the progress of the run to stdout until the run ends. Without asJSON it
// prints a line of text for each change. With asJSON it prints the whole run as one line of JSON:
// at the start, after changes, and at intervals if nothing has changed.
func (v *View) printChanges(ctx context.Context, r fleet.Run, asJSON bool) error {
	var all sync.WaitGroup
	defer all.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	runs, failed := follow(ctx, v.Fleet, r.ID, openfleet.ReadInterval(len(r.Tasks)), &all)
	seen := r
	if !asJSON {
		if err := v.env.Printf("%s\n", strings.Join(openingLines(r, v.remote(), v.env.Now()), "\n")); err != nil {
			return err
		}
	}
	for r := range runs {
		var err error
		if asJSON {
			enc := json.NewEncoder(v.env.Out)
			enc.SetEscapeHTML(false)
			err = enc.Encode(r)
		} else {
			for _, line := range changeLines(seen, r, v.env.Now()) {
				err = errors.Join(err, v.env.Printf("%s\n", line))
			}
		}
		if err != nil {
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
		return verdict(viewEnd{run: seen})
	}
	return v.printResult(viewEnd{run: seen}, false)
}
