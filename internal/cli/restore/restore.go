// Package restore implements the command 'gaffer restore': it replaces the database by
// a backup.
package restore

import (
	"github.com/spf13/cobra"

	"gaffer/internal/app"
	"gaffer/internal/cli/backup"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/text/display"
)

// New creates the command 'gaffer restore'.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "restore FILE",
		DisableFlagsInUseLine: true,
		Short:                 "Replace the database by a backup",
		Long: `Replace the database by a copy of FILE, which 'gaffer backup' has written. The
command is refused while any program has the database open: stop 'gaffer serve'
and all runs first. FILE is fully checked before anything is changed. A file of a
newer gaffer is refused.

The replaced database is kept under a name that is printed: restore that file to
undo the command. Running agents continue, but the restored database does not know
of anything that began after the backup.`,
		Example: "  gaffer restore gaffer-2026-03-01.db",
		Args:    cobra.ExactArgs(1),
	}
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := e.RefuseAgents("gaffer restore"); err != nil {
			return err
		}
		opts, err := openfleet.Options(e, nil)
		if err != nil {
			return err
		}
		c, err := app.Restore(cmd.Context(), opts, e.Path(args[0]), backup.Progress(e))
		if err != nil {
			return backup.WithBackupToolHint(err)
		}
		if *asJSON {
			return e.PrintJSON(c)
		}
		if c.Before != "" {
			e.Talk("the database before is kept; 'gaffer restore %s' undoes this", display.ShellLine([]string{c.Before}))
		}
		return e.Printf("%s: %s, up to event %d, schema version %d\n", display.Printable(c.File), display.Bytes(c.Bytes), c.Last, c.Version)
	}
	return cmd
}
