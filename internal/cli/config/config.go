// Package config implements the command 'gaffer config': it prints each setting and where its value
// comes from.
package config

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/cli/table"
	"gaffer/internal/config"
	"gaffer/internal/text/display"
)

// New creates the command 'gaffer config'.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config [KEY]",
		Short: "Show every setting and where it came from",
		Long:  long(),
		Example: `  gaffer config
  gaffer config lock_timeout
  gaffer config --set color=never --json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: complete,
	}
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error { return run(e, args, *asJSON) }
	return cmd
}

func run(e *env.Env, args []string, asJSON bool) error {
	c, err := e.Config()
	if err != nil {
		return err
	}
	if len(args) == 1 {
		return showOne(e, c, args[0], asJSON)
	}
	return showAll(e, c, asJSON)
}

func showOne(e *env.Env, c *config.Config, name string, asJSON bool) error {
	v, err := c.Lookup(name)
	if err != nil {
		return err
	}
	if asJSON {
		return e.PrintJSON(describe(v))
	}
	return e.Printf("%s\n", e.ForOut(v.Text))
}

func showAll(e *env.Env, c *config.Config, asJSON bool) error {
	if asJSON {
		return printAll(e, c)
	}
	rows := [][]string{{"KEY", "VALUE", "FROM"}}
	for _, v := range c.Values() {
		rows = append(rows, []string{display.Printable(v.Key.Name), display.Printable(v.Text), display.Printable(v.Origin.String())})
	}
	return table.Texts(e, rows)
}

func complete(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return config.Names(), cobra.ShellCompDirectiveNoFileComp
}

// long returns the command's help, with a description of every setting.
func long() string {
	var b strings.Builder
	b.WriteString(`Show every setting and where it came from.

A setting comes from the first of: a flag (--set KEY=VALUE), the environment,
gaffer.yaml at the project's root, the user's gaffer.yaml in
$XDG_CONFIG_HOME/gaffer or ~/.config/gaffer, the default. Relative paths start
at the project's root.

Keys:
`)
	for _, k := range config.Keys() {
		fmt.Fprintf(&b, "  %-26s  %s\n", k.Name, k.Usage())
		fmt.Fprintf(&b, "  %-26s  default %s, env %s\n", "", k.Default, k.Env())
	}
	fmt.Fprintf(&b, `
Each role of a team, which is %s, has keys of
its own below team.roles. They are listed where they are set; the default of any
is shown by 'gaffer config team.roles.pm.timeout'.

`, strings.Join(config.TeamRoles(), ", "))
	for _, k := range config.RoleKeys("ROLE") {
		fmt.Fprintf(&b, "  %-29s  %s\n", k.Name, k.Usage())
	}
	return strings.TrimSuffix(b.String(), "\n")
}
