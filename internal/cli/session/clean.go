package session

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/text/display"
	"gaffer/session"
)

func cleanCommand(e *env.Env) *cobra.Command {
	older := env.Age(7 * 24 * time.Hour)
	var c session.Cleaning
	cmd := &cobra.Command{
		Use:                   "clean [--older-than AGE] [--dry-run] [--force]",
		DisableFlagsInUseLine: true,
		Short:                 "Remove sessions that ended long ago",
		Long: `Remove sessions that ended more than 7 days ago, with their logs, and print
their ids. The active session and those that still run are kept unless forced;
one whose document cannot be read is always kept.`,
		Example: "  gaffer session clean --dry-run\n  gaffer session clean --older-than 30d",
		Args:    cobra.NoArgs,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(&older, "older-than", "how long ago, such as 7d, 12h or 30m")
	flags.BoolVar(&c.DryRun, "dry-run", false, "remove nothing, only print")
	flags.BoolVar(&c.Force, "force", false, "also the active session and those that run")
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		s, err := Open(e)
		if err != nil {
			return err
		}
		c.OlderThan = time.Duration(older)
		done, err := s.Clean(c)
		return printCleaned(e, done, err, *asJSON)
	}
	return cmd
}

// printCleaned prints the sessions in the parameter done, and returns the parameter err. Even if
// err is not nil, done may contain sessions that were removed before the error.
func printCleaned(e *env.Env, done []session.Cleaned, err error, asJSON bool) error {
	if asJSON {
		return errors.Join(e.PrintJSON(append([]session.Cleaned{}, done...)), err)
	}
	for _, one := range done {
		if one.Kept != "" {
			e.Talk("kept %s: %s", display.Printable(one.ID), display.Printable(one.Kept))
			continue
		}
		if err := e.Printf("%s\n", display.Printable(one.ID)); err != nil {
			return err
		}
	}
	return err
}
