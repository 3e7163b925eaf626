package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/run"
	"gaffer/internal/exit"
	"gaffer/internal/flow/schedule"
	"gaffer/internal/flow/schedulerun"
	"gaffer/internal/text/display"
)

const addLong = `Add a schedule: at each time of a cron expression, 'gaffer serve' starts the run
that 'gaffer run' would start with the same plans and flags. The plan is read
now, to find mistakes, and again at each start. The three next times are
printed.

CRON has five fields: minute, hour, day of the month, month, day of the week.
Each is *, a number, a name such as mon or jan, a range 1-5, a list 1,3 or a
step */15. If both days are restricted, one of them must match. @hourly, @daily,
@weekly, @monthly and @yearly are short forms.

The times are those of the time zone --tz. If clocks are set forward over a
time, the run starts at that moment. If a time comes twice, the run starts once.

--missed: what happens to times at which no server was running, when one starts.
  run-once  one run for all of them, if the last is at most 24 hours old
  skip      nothing
  run-all   one run for each, one after the other: at most 10, of the last week
--overlap: what happens at a time while the run before has not ended.
  skip      no run at this time
  queue     the run starts when the other has ended; at most one waits
  allow     the run starts at once`

// addOptions holds the values of the command's flags.
type addOptions struct {
	name, zone, missed, overlap string
	jitter                      time.Duration
}

func add(e *env.Env) *cobra.Command {
	var o addOptions
	cmd := &cobra.Command{
		Use: "add CRON PLAN…", DisableFlagsInUseLine: true, Short: "Add a schedule, and show its next three times", Long: addLong,
		Example: `  gaffer schedule add "0 2 * * 1-5" plan.yaml
  gaffer schedule add @daily plan.yaml --name nightly --tz Europe/Berlin --missed skip
  gaffer schedule add "*/30 9-17 * * mon-fri" "Fix what the linter reports" --agent claude --worktree --overlap queue --jitter 5m`,
		Args: cobra.MinimumNArgs(1),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&o.name, "name", "", "`NAME` of the schedule (default that of the plan)")
	flags.StringVar(&o.zone, "tz", "", "time zone of CRON: an IANA `ZONE` such as Europe/Berlin (default this\nmachine's)")
	flags.StringVar(&o.missed, "missed", string(fleet.MissedRunOnce), "`RULE` for times at which no server was running: run-once, skip, run-all")
	flags.StringVar(&o.overlap, "overlap", string(fleet.OverlapSkip), "`RULE` for times at which the run before has not ended: skip, queue,\nallow")
	flags.DurationVar(&o.jitter, "jitter", 0, "start each run up to this much later than planned, such as 10m")
	request := run.RequestFlags(cmd)
	asJSON := env.JSONFlag(cmd)
	// Ignore the errors: the flags exist and have no completion functions yet.
	_ = cmd.RegisterFlagCompletionFunc("missed", cobra.FixedCompletions(texts(fleet.MissedRules()), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("overlap", cobra.FixedCompletions(texts(fleet.OverlapRules()), cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := e.RefuseAgents("gaffer schedule add"); err != nil {
			return err
		}
		n, err := o.schedule(e, args[0])
		if err != nil {
			return err
		}
		if n.Args, err = request.Args(e, args[1:]); err != nil {
			return err
		}
		return addSchedule(cmd, e, n, *asJSON)
	}
	return cmd
}

func texts[T ~string](list []T) (words []string) {
	for _, v := range list {
		words = append(words, string(v))
	}
	return words
}

// schedule returns the schedule that the parameter cron and the flags describe, without the
// arguments that name its plan. It returns an error if a value is not valid.
func (o addOptions) schedule(e *env.Env, cron string) (n schedule.Schedule, err error) {
	n = schedule.Schedule{Name: o.name, Cron: cron, Zone: o.zone, Missed: fleet.MissedRule(o.missed), Overlap: fleet.OverlapRule(o.overlap), Jitter: o.jitter}
	switch {
	case !slices.Contains(fleet.MissedRules(), n.Missed):
		return n, exit.Usage(fmt.Errorf("--missed %q: want %s", o.missed, strings.Join(texts(fleet.MissedRules()), ", ")))
	case !slices.Contains(fleet.OverlapRules(), n.Overlap):
		return n, exit.Usage(fmt.Errorf("--overlap %q: want %s", o.overlap, strings.Join(texts(fleet.OverlapRules()), ", ")))
	case o.jitter < 0 || o.jitter > schedule.MaxJitter:
		return n, exit.Usage(fmt.Errorf("--jitter %s: want a time of at most %s", o.jitter, schedule.MaxJitter))
	case o.name != "":
		if err := schedule.CheckName(o.name); err != nil {
			return n, err
		}
	}
	if n.Zone == "" {
		if n.Zone, err = schedule.LocalZone(e.Getenv); err != nil {
			return n, err
		}
	}
	_, err = n.Times()
	return n, err
}

// addSchedule reads the plan, checks it, and stores the schedule. If this machine lacks something
// for the plan, such as a program, addSchedule only prints a warning, because the user may install
// it before the first run.
func addSchedule(cmd *cobra.Command, e *env.Env, n schedule.Schedule, asJSON bool) error {
	ctx := cmd.Context()
	root, err := e.Project()
	if err != nil {
		return err
	}
	n.Project = root.Root
	p, err := run.Load(ctx, e.AtProject(root.Root), n.Args)
	if err != nil {
		return err
	}
	if n.Name == "" {
		if n.Name = schedule.NameOf(p.Name); n.Name == "" {
			return exit.Usage(fmt.Errorf("the plan has no name that a schedule can have: use --name"))
		}
	}
	opts, err := openfleet.Options(e, nil)
	if err != nil {
		return err
	}
	lacks, err := app.Preflight(ctx, opts, p)
	if err != nil {
		return err
	}
	for _, w := range p.Warnings {
		warn(e, w.String())
	}
	for _, l := range lacks {
		warn(e, l.String())
	}
	return withSchedules(ctx, e, func(all *schedulerun.Schedules) error {
		s, err := all.Add(ctx, n)
		if err != nil {
			return err
		}
		if asJSON {
			return e.PrintJSON(s)
		}
		if err := e.Printf("schedule %s is added; its next times:\n", s.Name); err != nil {
			return err
		}
		for _, at := range s.Next {
			if err := e.Printf("  %s\n", timeIn(s, at)); err != nil {
				return err
			}
		}
		e.Talk("'gaffer serve' starts its runs; 'gaffer schedule run %s' starts one now", s.Name)
		return nil
	})
}

func warn(e *env.Env, text string) {
	e.Talk("%s: %s", e.Paint(e.Err, display.Yellow, "warning"), display.Printable(text))
}
