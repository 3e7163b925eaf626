// Package backup implements the command 'gaffer backup': it copies the database while
// it is in use.
package backup

import (
	"errors"

	"github.com/spf13/cobra"

	"gaffer/internal/app"
	"gaffer/internal/cli/connect"
	"gaffer/internal/cli/env"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
)

// New creates the command.
func New(e *env.Env) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:                   "backup FILE [--force]",
		DisableFlagsInUseLine: true,
		Short:                 "Copy the database to a file while it is in use",
		Long: `Write a copy of the database, as it is at one moment, to FILE, while everything
goes on. It is on the disk, has been checked from end to end, and is as small as
it can be before FILE gets its name. It holds all that agents were told and have
answered: only you can read it, keep it so.

'gaffer restore FILE' puts it back. Of a database that is a server's it says which
program to use.`,
		Example: "  gaffer backup gaffer-$(date +%F).db\n  gaffer backup --force latest.db",
		Args:    cobra.ExactArgs(1),
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace FILE if it is there")
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		opts, err := connect.Options(e, nil)
		if err != nil {
			return err
		}
		c, err := app.Backup(cmd.Context(), opts, e.Path(args[0]), force, Progress(e))
		if err != nil {
			return Instead(err)
		}
		if *asJSON {
			return e.PrintJSON(c)
		}
		return e.Printf("%s: %s, up to event %d, schema version %d\n", display.Printable(c.File), display.Bytes(c.Bytes), c.Last, c.Version)
	}
	return cmd
}

// Progress returns a callback that prints the progress of a long copy to stderr.
func Progress(e *env.Env) func(done, total int64) {
	return func(done, total int64) { e.Talk("copied %s of about %s", display.Bytes(done), display.Bytes(total)) }
}

// Instead adds a hint to an error about a server's database: the command line of that
// database's backup tool.
func Instead(err error) error {
	if server := (*app.ServerError)(nil); errors.As(err, &server) {
		return exit.WithHint(err, display.ShellLine(server.Argv))
	}
	return err
}
