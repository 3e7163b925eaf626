// Package templates implements the command 'gaffer templates': it lists prompt
// templates and the success rate of each.
package templates

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/flow/prompt"
	"gaffer/internal/text/display"
)

// New creates the command 'gaffer templates'.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "templates",
		Short: "List prompt templates and how well each does",
		Long: `List the prompt templates, which are the files templates/*.md at the project's
root except README.md, with what the run and result records say of each.

In a template {{NAME}} is a variable; its name has letters, digits and _, and
may have spaces around it. {{{{ stands for {{. The first heading says what the
template is for. The success rate is of the runs that have ended.`,
		Example: `  gaffer templates
  gaffer templates --json | jq '.[] | select(.runs > 2 and .success_rate < 70)'
  gaffer templates show bug-fix`,
		Args: cobra.NoArgs,
	}
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return list(cmd.Context(), e, *asJSON) }
	cmd.AddCommand(show(e))
	return cmd
}

// folder returns the path of the folder with the project's templates.
func folder(e *env.Env) (string, error) {
	p, err := e.Project()
	if err != nil {
		return "", err
	}
	return filepath.Join(p.Root, "templates"), nil
}

func show(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show NAME",
		Short:   "Print a template",
		Example: "  gaffer templates show bug-fix\n  gaffer templates show bug-fix --json | jq -r .text",
		Args:    cobra.ExactArgs(1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return complete(e, args), cobra.ShellCompDirectiveNoFileComp
		},
	}
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		dir, err := folder(e)
		if err != nil {
			return err
		}
		t, err := prompt.Load(dir, args[0])
		if err != nil {
			return err
		}
		if *asJSON {
			return e.PrintJSON(describe(t))
		}
		return e.Printf("%s", e.ForOut(t.Text))
	}
	return cmd
}

func complete(e *env.Env, args []string) (names []string) {
	dir, err := folder(e)
	if err != nil || len(args) > 0 {
		return nil
	}
	all, _ := prompt.List(dir)
	for _, t := range all {
		names = append(names, t.Name+"\t"+display.Line(t.Description, descriptionWidth))
	}
	return names
}
