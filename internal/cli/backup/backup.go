// Package backup implements the command 'gaffer backup': it copies the database while
// it is in use.
package backup

import (
	"errors"

	"github.com/spf13/cobra"

	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
)

// New creates the command 'gaffer backup'.
func New(e *env.Env) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:                   "backup FILE [--force]",
		DisableFlagsInUseLine: true,
		Short:                 "Copy the database to a file while it is in use",
		Long: `Write a copy of the database to FILE, while it is in use. The copy is consistent,
compact and fully checked, and is on the disk before FILE gets its name. It
contains the prompts and answers of all agents: only you can read it, so keep it
private.

'gaffer restore FILE' restores it. If the database belongs to a server, the
command says which program to use instead.`,
		Example: "  gaffer backup gaffer-$(date +%F).db\n  gaffer backup --force latest.db",
		Args:    cobra.ExactArgs(1),
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace FILE if it is there")
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		opts, err := openfleet.Options(e, nil)
		if err != nil {
			return err
		}
		c, err := app.Backup(cmd.Context(), opts, e.Path(args[0]), force, Progress(e))
		if err != nil {
			return WithBackupToolHint(err)
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

// WithBackupToolHint adds a hint to err if err reports that the database is on a database server
// such as PostgreSQL. The hint is a command line that runs the backup tool of that server.
func WithBackupToolHint(err error) error {
	if server := (*app.DatabaseServerError)(nil); errors.As(err, &server) {
		return exit.WithHint(err, display.ShellLine(server.Argv))
	}
	return err
}
