// Package schedule implements the command 'gaffer schedule': it adds, shows and changes the times
// at which gaffer starts a run by itself.
package schedule

import (
	"context"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/run"
	"gaffer/internal/flow/schedulerun"
)

const long = `Start the same run again and again, at the times of a cron expression. 'gaffer
serve' on this machine starts the runs; without it, 'gaffer schedule export'
lets systemd or cron start them.

If no server was running at a planned time, the rule --missed decides what
happens when one starts. If the run before has not ended, the rule --overlap
decides. 'gaffer schedule show' says what became of each planned time.

Schedules are kept in the database. Each belongs to the machine and the user
that added it. Its runs work in the project's folder there.`

// New creates the command 'gaffer schedule'.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{Use: "schedule", Short: "Start runs at planned times, such as every night", Long: long}
	cmd.AddCommand(add(e), list(e), show(e), pause(e), resume(e), runNow(e), remove(e), restore(e), export(e), fire(e))
	return cmd
}

// withSchedules opens the database and calls fn with its schedules.
func withSchedules(ctx context.Context, e *env.Env, fn func(*schedulerun.Schedules) error) error {
	return openfleet.WithApp(ctx, e, func(a *app.App) error {
		all, err := a.Schedules(run.Loader(e))
		if err != nil {
			return err
		}
		return fn(all)
	})
}

// change is a command that changes one schedule.
type change struct {
	use, short, example string
	removed             bool // completion suggests removed schedules instead of existing ones
	do                  func(ctx context.Context, all *schedulerun.Schedules, name string) (fleet.Schedule, error)
	done                func(fleet.Schedule) string // returns the text that is printed after the function do has succeeded
}

func (c change) command(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: c.use + " NAME", DisableFlagsInUseLine: true, Short: c.short, Example: c.example, Args: cobra.ExactArgs(1), ValidArgsFunction: openfleet.Schedules(e, c.removed),
	}
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := e.RefuseAgents("gaffer schedule " + c.use); err != nil {
			return err
		}
		return withSchedules(cmd.Context(), e, func(all *schedulerun.Schedules) error {
			s, err := c.do(cmd.Context(), all, args[0])
			if err != nil {
				return err
			}
			if *asJSON {
				return e.PrintJSON(s)
			}
			e.Talk("%s", c.done(s))
			return nil
		})
	}
	return cmd
}

func pause(e *env.Env) *cobra.Command {
	return change{
		use: "pause", short: "Start no more runs of a schedule until it is resumed", example: "  gaffer schedule pause nightly",
		do: func(ctx context.Context, all *schedulerun.Schedules, name string) (fleet.Schedule, error) {
			return all.Pause(ctx, name)
		},
		done: func(s fleet.Schedule) string {
			return "schedule " + s.Name + " is paused; 'gaffer schedule resume " + s.Name + "' lets it continue"
		},
	}.command(e)
}

func resume(e *env.Env) *cobra.Command {
	return change{
		use: "resume", short: "Let a paused schedule continue; times during the pause are not run", example: "  gaffer schedule resume nightly",
		do: func(ctx context.Context, all *schedulerun.Schedules, name string) (fleet.Schedule, error) {
			return all.Resume(ctx, name)
		},
		done: func(s fleet.Schedule) string { return "schedule " + s.Name + " continues, " + nextText(s) },
	}.command(e)
}

func remove(e *env.Env) *cobra.Command {
	return change{
		use: "remove", short: "Remove a schedule; it can be restored for 30 days", example: "  gaffer schedule remove nightly",
		do: func(ctx context.Context, all *schedulerun.Schedules, name string) (fleet.Schedule, error) {
			s, err := all.Get(ctx, name)
			if err != nil {
				return s, err
			}
			s.State, s.Next, s.Removed = fleet.ScheduleRemoved, nil, e.Now()
			return s, all.Remove(ctx, name)
		},
		done: func(s fleet.Schedule) string {
			text := "schedule " + s.Name + " is removed; 'gaffer schedule restore " + s.Name + "' brings it back, for 30 days"
			if s.Exporter != "" {
				text += "; also remove it from " + s.Exporter
			}
			return text
		},
	}.command(e)
}

func restore(e *env.Env) *cobra.Command {
	return change{
		use: "restore", short: "Bring back a schedule that was removed", example: "  gaffer schedule restore nightly", removed: true,
		do: func(ctx context.Context, all *schedulerun.Schedules, name string) (fleet.Schedule, error) {
			return all.Restore(ctx, name)
		},
		done: func(s fleet.Schedule) string { return "schedule " + s.Name + " is back, " + nextText(s) },
	}.command(e)
}
