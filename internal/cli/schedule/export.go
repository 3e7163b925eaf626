package schedule

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/exit"
	"gaffer/internal/flow/schedule"
	"gaffer/internal/flow/schedulerun"
	"gaffer/internal/text/display"
)

// The programs that can start the runs of a schedule instead of 'gaffer serve'.
const (
	toSystemd = "systemd"
	toCron    = "cron"
)

// exportOptions holds the values of the command's flags.
type exportOptions struct {
	systemd, cron, serve bool
	dir                  string
}

func export(e *env.Env) *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use: "export NAME --systemd|--cron|--serve", DisableFlagsInUseLine: true, Short: "Let systemd or cron start the runs instead of 'gaffer serve'",
		Long: `Print a systemd timer and its service, or a line for crontab, that call 'gaffer
schedule fire NAME' at the planned times. From then on 'gaffer serve' does not
start the runs of this schedule, until 'gaffer schedule export NAME --serve'.
The rules --missed and --overlap hold as before.`,
		Example: `  gaffer schedule export nightly --systemd --dir ~/.config/systemd/user
  gaffer schedule export nightly --cron
  gaffer schedule export nightly --serve`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: openfleet.Schedules(e, false),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&o.systemd, "systemd", false, "print a systemd timer and its service")
	flags.BoolVar(&o.cron, "cron", false, "print a line for crontab")
	flags.BoolVar(&o.serve, "serve", false, "let 'gaffer serve' start the runs again")
	flags.StringVar(&o.dir, "dir", "", "write the files of systemd to the folder `DIR` instead of printing them")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.check(); err != nil {
			return err
		}
		if err := e.RefuseAgents("gaffer schedule export"); err != nil {
			return err
		}
		return withSchedules(cmd.Context(), e, func(all *schedulerun.Schedules) error { return o.run(cmd.Context(), e, all, args[0]) })
	}
	return cmd
}

func (o exportOptions) check() error {
	chosen := 0
	for _, yes := range []bool{o.systemd, o.cron, o.serve} {
		if yes {
			chosen++
		}
	}
	switch {
	case chosen != 1:
		return exit.Usage(errors.New("want one of --systemd, --cron and --serve"))
	case o.dir != "" && !o.systemd:
		return exit.Usage(errors.New("--dir is for --systemd"))
	}
	return nil
}

func (o exportOptions) run(ctx context.Context, e *env.Env, all *schedulerun.Schedules, name string) error {
	if o.serve {
		s, err := all.Export(ctx, name, "")
		if err != nil {
			return err
		}
		e.Talk("'gaffer serve' starts the runs of schedule %s, %s; remove it from systemd or cron", name, nextText(s))
		return nil
	}
	s, err := all.Get(ctx, name)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	program := toCron
	if o.systemd {
		program = toSystemd
		err = o.printSystemd(e, s, self)
	} else {
		err = e.Printf("%s", cronLines(s, self, localZone(e)))
	}
	if err != nil {
		return err
	}
	if _, err := all.Export(ctx, name, program); err != nil {
		return err
	}
	e.Talk("from now on 'gaffer serve' does not start the runs of schedule %s; 'gaffer schedule export %s --serve' changes that", name, name)
	return nil
}

func localZone(e *env.Env) string {
	zone, err := schedule.LocalZone(e.Getenv)
	if err != nil {
		return ""
	}
	return zone
}

// printSystemd prints the systemd units of a schedule, or writes them to the folder of --dir.
func (o exportOptions) printSystemd(e *env.Env, s fleet.Schedule, self string) error {
	service, timer, err := systemdUnits(s, self, e.Getenv)
	if err != nil {
		return err
	}
	unit := "gaffer-" + s.Name
	if o.dir == "" {
		return e.Printf("# %s.service\n%s\n# %s.timer\n%s", unit, service, unit, timer)
	}
	dir := e.Path(o.dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{unit + ".service": service, unit + ".timer": timer} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	e.Talk("next: systemctl --user daemon-reload && systemctl --user enable --now %s.timer", unit)
	return nil
}

// systemdUnits returns the texts of the service and of the timer. The service starts the run in the
// background and then ends. KillMode=process keeps systemd from killing the run's processes when
// the service ends.
func systemdUnits(s fleet.Schedule, self string, getenv func(string) string) (service, timer string, err error) {
	times, err := schedule.Parse(s.Cron, s.Zone)
	if err != nil {
		return "", "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[Unit]\nDescription=gaffer schedule %s\n\n[Service]\nType=oneshot\nKillMode=process\nWorkingDirectory=%s\n", s.Name, unitPath(s.Project))
	for _, name := range []string{"PATH", "XDG_STATE_HOME", "XDG_CONFIG_HOME"} {
		if v := getenv(name); v != "" {
			fmt.Fprintf(&b, "Environment=%s\n", unitWord(name+"="+v))
		}
	}
	fmt.Fprintf(&b, "ExecStart=%s schedule fire %s --project %s\n", unitWord(self), s.Name, unitWord(s.Project))
	service = b.String()
	b.Reset()
	fmt.Fprintf(&b, "[Unit]\nDescription=Times of gaffer schedule %s\n\n[Timer]\n", s.Name)
	for _, text := range times.OnCalendar() {
		fmt.Fprintf(&b, "OnCalendar=%s\n", text)
	}
	fmt.Fprintf(&b, "AccuracySec=1s\nPersistent=%t\n\n[Install]\nWantedBy=timers.target\n", s.Missed != fleet.MissedSkip)
	return service, b.String(), nil
}

// unitPath escapes a path for a setting in a systemd unit whose value is the whole text after the
// equals sign, such as WorkingDirectory.
func unitPath(path string) string { return strings.ReplaceAll(path, "%", "%%") }

// unitWord escapes and quotes a text for a setting in a systemd unit whose value systemd splits
// into words, such as ExecStart.
func unitWord(text string) string {
	text = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "$", "$$", "\n", `\n`).Replace(text)
	if strings.ContainsAny(text, " \t'\";") {
		return `"` + text + `"`
	}
	return text
}

// cronLines returns the lines for crontab. local is this machine's time zone, which cron uses. If
// the schedule has another zone, the lines set CRON_TZ.
func cronLines(s fleet.Schedule, self, local string) string {
	command := "cd " + display.ShellLine([]string{s.Project}) + " && " + display.ShellLine([]string{self, "schedule", "fire", s.Name, "--project", s.Project})
	line := s.Cron + " " + strings.ReplaceAll(command, "%", `\%`) + "\n"
	if s.Zone != local {
		return "# CRON_TZ needs cronie or another cron that knows it.\nCRON_TZ=" + s.Zone + "\n" + line
	}
	return line
}
