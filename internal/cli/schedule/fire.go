package schedule

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/flow/schedulerun"
	"gaffer/internal/text/display"
)

func runNow(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "run NAME", DisableFlagsInUseLine: true, Short: "Start a run of a schedule now, in the background",
		Long: `Start a run of a schedule now, in the background, and print its id. The planned
times stay as they are, also those of a paused schedule.`,
		Example:           "  gaffer schedule run nightly\n  id=$(gaffer schedule run nightly) && gaffer status --watch $id",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: openfleet.Schedules(e, false),
	}
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := e.RefuseAgents("gaffer schedule run"); err != nil {
			return err
		}
		return withSchedules(cmd.Context(), e, func(all *schedulerun.Schedules) error {
			f, err := all.RunNow(cmd.Context(), args[0], "")
			return report(e, args[0], []fleet.Fire{f}, err, *asJSON)
		})
	}
	return cmd
}

func fire(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "fire NAME", DisableFlagsInUseLine: true, Short: "Start the run of a planned time that has come; for systemd and cron",
		Long: `Start the run of a planned time that has come, in the background, and print its
id. systemd and cron call this command, see 'gaffer schedule export'. If no
planned time has come, or if its run was started already, nothing happens. So a
second call does no harm.`,
		Example:           "  gaffer schedule fire nightly",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: openfleet.Schedules(e, false),
	}
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return withSchedules(cmd.Context(), e, func(all *schedulerun.Schedules) error {
			fires, err := all.Fire(cmd.Context(), args[0])
			if err == nil && len(fires) == 0 && !*asJSON {
				return sayNothingDue(cmd.Context(), e, all, args[0])
			}
			return report(e, args[0], fires, err, *asJSON)
		})
	}
	return cmd
}

func sayNothingDue(ctx context.Context, e *env.Env, all *schedulerun.Schedules, name string) error {
	s, err := all.Get(ctx, name)
	if err != nil {
		return err
	}
	e.Talk("schedule %s: no planned time has come, %s", name, nextText(s))
	return nil
}

// report prints the ids of the runs that were started. If the run of a planned time was skipped or
// has to wait, it prints why. If a run could not be started, the parameter err says why, and report
// returns it.
func report(e *env.Env, name string, fires []fleet.Fire, err error, asJSON bool) error {
	if asJSON {
		if fires == nil {
			fires = []fleet.Fire{}
		}
		return cmp.Or(err, e.PrintJSON(fires))
	}
	for _, f := range fires {
		switch f.Status {
		case fleet.FireStarted:
			if err := e.Printf("%s\n", f.Run); err != nil {
				return err
			}
		case fleet.FireSkipped, fleet.FireWaiting:
			e.Talk("schedule %s: %s: %s", name, f.Status, display.Printable(f.Why))
		}
	}
	if err != nil {
		return fmt.Errorf("schedule %s: %w", name, err)
	}
	return nil
}
