// Package dashboard implements the command 'gaffer open', with the alias 'gaffer
// dashboard'. It opens a server's dashboard in the browser.
package dashboard

import (
	"context"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/page"
)

const long = `Open the dashboard in the browser, at a run or a task if one is named; - is the
latest run that has not ended. The server creates a link that logs one browser in,
within a minute, with the permissions of your token.

The server is the one that a flag or the settings name. Otherwise it is a server
of yours on this machine: first the one of 'gaffer run --open' in this project,
then 'gaffer serve' at any address.

The browser is the one that BROWSER names, or the system's. Without a browser, or
with --print, the link is printed.`

// New creates the command 'gaffer open'.
func New(e *env.Env) *cobra.Command {
	var printed bool
	cmd := &cobra.Command{
		Use:                   "open [RUN|TASK] [--print]",
		Aliases:               []string{"dashboard"},
		DisableFlagsInUseLine: true,
		Short:                 "Open the dashboard in the browser",
		Long:                  long,
		Example:               "  gaffer open\n  gaffer open abc1/api\n  gaffer open --print --server https://build.example:4870",
		Args:                  cobra.MaximumNArgs(1),
		ValidArgsFunction:     openfleet.RunsAndTasks(e),
	}
	cmd.Flags().BoolVar(&printed, "print", false, "print the link and open nothing")
	openfleet.FleetFlags(e, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return run(cmd.Context(), e, append(args, "")[0], printed)
	}
	return cmd
}

func run(ctx context.Context, e *env.Env, name string, printed bool) error {
	// Refuse agents: the link logs a browser in with the user's permissions.
	if err := e.RefuseAgents("gaffer open"); err != nil {
		return err
	}
	list, err := candidates(e)
	if err != nil {
		return err
	}
	d, link, err := firstLink(ctx, e, list, name)
	if err != nil {
		return err
	}
	if printed {
		return e.Printf("%s\n", link)
	}
	page.OpenOrPrint(ctx, e, d.address, link, e.Getenv("CI") == "", "gaffer open --print"+e.ServerArg())
	return nil
}
