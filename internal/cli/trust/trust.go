// Package trust implements the command 'gaffer trust': it allows gaffer to run the programs that
// the settings of a project name.
package trust

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/table"
	"gaffer/internal/exit"
	"gaffer/internal/project/trust"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
)

const long = `Show the programs that this project makes gaffer run, and trust them if you agree:
the programs and environments of agents and the tests of a team in its gaffer.yaml,
roles there that are allowed everything, and filters and other programs in the
settings of its git repository. Before that none of them runs: 'gaffer run' asks you
at a terminal, and refuses elsewhere.

What you trust is remembered by its content, for this folder, in your state folder.
A setting that changes or is added later must be trusted again. A plan that you name
on the command line is not asked about: it runs what it says.

GAFFER_TRUST=all trusts every project. It is for machines that you throw away.`

// New creates the command 'gaffer trust'.
func New(e *env.Env) *cobra.Command {
	var yes, list, remove bool
	cmd := &cobra.Command{
		Use:                   "trust [--yes | --list | --remove]",
		DisableFlagsInUseLine: true,
		Short:                 "Trust the programs that a project names",
		Long:                  long,
		Example:               "  gaffer trust\n  gaffer trust --project ~/src/web --yes\n  gaffer trust --list\n  gaffer trust --remove",
		Args:                  cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&list, "list", false, "list the projects that you trust")
	cmd.Flags().BoolVar(&remove, "remove", false, "trust this project no longer")
	cmd.MarkFlagsMutuallyExclusive("yes", "list", "remove")
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if list {
			return show(e, *asJSON)
		}
		if err := e.RefuseAgents("gaffer trust"); err != nil {
			return err
		}
		if remove {
			p, err := e.Project()
			if err != nil {
				return err
			}
			if err := trust.Remove(e.Getenv, p.Root); err != nil {
				return err
			}
			e.Talk("%s is no longer trusted", display.Printable(p.Root))
			return nil
		}
		opts, err := openfleet.Options(e, nil)
		if err != nil {
			return err
		}
		if !yes && !e.Interactive() {
			return exit.WithHint(exit.Usage(errors.New("cannot ask whether you trust the programs: this is not a terminal")),
				"look at them in gaffer.yaml and in the repository's .git/config, then 'gaffer trust --yes'")
		}
		return add(cmd.Context(), e, opts, yes)
	}
	return cmd
}

// Ask prints the programs that a project's settings name, and asks the user at the terminal whether
// to trust them. If the user agrees, Ask stores the decision. It returns an error if the user
// declines.
func Ask(ctx context.Context, e *env.Env, opts app.Options) error { return add(ctx, e, opts, false) }

func add(ctx context.Context, e *env.Env, opts app.Options, yes bool) error {
	root := opts.Project.Root
	programs, err := app.ProjectPrograms(ctx, opts)
	if err != nil {
		return err
	}
	if len(programs) == 0 {
		e.Talk("%s names no programs", display.Printable(root))
		return nil
	}
	e.Talk("%s makes gaffer run:", display.Printable(root))
	for _, p := range programs {
		e.Talk("  %s  %s", display.Printable(p.Setting), display.Printable(p.Value))
	}
	if !yes {
		yes, err = e.Confirm(ctx, "Trust them?")
		if err != nil {
			return err
		}
		if !yes {
			return &trust.Error{Root: root, Programs: programs}
		}
	}
	if err := trust.Add(e.Getenv, root, programs, e.Now()); err != nil {
		return err
	}
	e.Talk("trusted; 'gaffer trust --remove' takes it back")
	return nil
}

func show(e *env.Env, asJSON bool) error {
	list, err := trust.List(e.Getenv)
	if asJSON {
		return errors.Join(e.PrintJSON(append([]trust.Entry{}, list...)), err)
	}
	if len(list) == 0 && err == nil {
		e.Talk("you trust no project")
		return nil
	}
	rows := [][]table.Cell{table.Row("Project", "Since", "Programs")}
	for _, t := range list {
		rows = append(rows, table.Row(t.Root, fmt.Sprintf("%s ago", phrase.Age(max(e.Now().Sub(t.At), 0))), settings(t.Programs)))
	}
	return errors.Join(table.Print(e, rows), err)
}

func settings(list []trust.Program) (text string) {
	for i, p := range list {
		if i > 0 {
			text += ", "
		}
		text += p.Setting
	}
	return text
}
