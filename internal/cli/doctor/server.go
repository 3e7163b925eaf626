package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/workers"
	"gaffer/internal/connect/serverfleet"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
)

// printServer prints the state of the configured server. 'gaffer doctor' calls it instead of
// checking this machine. It returns an error if the server would not run a plan of this user; see
// canRun.
func printServer(ctx context.Context, e *env.Env, repair, asJSON bool) error {
	if repair {
		return exit.WithHint(exit.Usage(errors.New("--repair ends processes of this machine, not of a server")), "'gaffer doctor --local --repair'")
	}
	f, err := openfleet.ServerFleet(e, nil)
	if err != nil {
		return err
	}
	h, err := f.Doctor(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		if err := e.PrintJSON(h); err != nil {
			return err
		}
		return canRun(h)
	}
	if err := e.Printf("server   %s, version %s\ntoken    %s\nproject  %s\n", display.Printable(h.Server), display.Printable(cmp.Or(h.Version, "unknown")),
		tokenOf(h), display.Printable(h.Project)); err != nil {
		return err
	}
	if err := workers.Show(e, h.Workers); err != nil {
		return err
	}
	for _, line := range serverRemarks(h, e.Now()) {
		if err := e.Printf("%s\n", line); err != nil {
			return err
		}
	}
	return canRun(h)
}

// canRun returns an error if the server would not run a plan of this user, because the user's token
// does not allow it or because no worker of the project is online.
func canRun(h serverfleet.Health) error {
	switch {
	case h.Role == "viewer" || h.Role == "worker":
		return fmt.Errorf("a run could not work: the token is a %s's", h.Role)
	case h.Projects()[h.Project] == 0:
		return fmt.Errorf("a run could not work: no worker of project %s is online", display.Printable(h.Project))
	}
	return nil
}

func tokenOf(h serverfleet.Health) string {
	if h.Role == "" {
		return "of an unknown role"
	}
	return display.Printable(h.Role + " " + h.Name)
}

func serverRemarks(h serverfleet.Health, now time.Time) (lines []string) {
	projects := h.Projects()
	for _, project := range slices.Sorted(maps.Keys(projects)) {
		lines = append(lines, fmt.Sprintf("project %s: %s at once", display.Printable(project), phrase.Count(projects[project], "task")))
	}
	lines = append(lines, phrase.Count(len(h.Runs), "run")+" going on")
	for _, q := range h.Questions {
		lines = append(lines, fmt.Sprintf("%s/%s asks: %s", display.Printable(q.Run), display.Printable(q.Task), phrase.Line(q.Text)))
	}
	for _, l := range h.Lanes {
		lines = append(lines, phrase.Paused(l, now))
	}
	for _, text := range h.Advice {
		lines = append(lines, "advice: "+phrase.Line(text))
	}
	return lines
}
