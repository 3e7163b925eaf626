// Package schema implements the command 'gaffer schema': it prints the JSON Schema of a kind of
// document, such as a plan.
package schema

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/exit"
	"gaffer/internal/plan"
	"gaffer/internal/text/suggest"
	"gaffer/ledger"
	"gaffer/team"
)

// New creates the command 'gaffer schema'.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schema [NAME]",
		Short: "Print the JSON Schema of a document",
		Long:  "Print the JSON Schema of a document, or without a name list the names.",
		Example: `  gaffer schema
  gaffer schema run > state/schemas/run.schema.json`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return names(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) == 1 {
			return show(e, args[0])
		}
		return list(e, *asJSON)
	}
	return cmd
}

// schemas returns the JSON Schemas that the command can print, by name.
func schemas() map[string][]byte {
	all := maps.Clone(team.Schemas())
	all["plan"] = plan.Schema()
	for _, kind := range ledger.Kinds() {
		all[string(kind)] = ledger.Schema(kind)
	}
	return all
}

func names() []string { return slices.Sorted(maps.Keys(schemas())) }

func list(e *env.Env, asJSON bool) error {
	if asJSON {
		return e.PrintJSON(names())
	}
	for _, name := range names() {
		if err := e.Printf("%s\n", name); err != nil {
			return err
		}
	}
	return nil
}

func show(e *env.Env, name string) error {
	schema, ok := schemas()[name]
	if !ok {
		hint := "'gaffer schema' lists the names"
		if near := suggest.Nearest(name, names()); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		return exit.WithHint(exit.NotFound(fmt.Errorf("no schema is called %q", name)), hint)
	}
	_, err := e.Out.Write(schema)
	return err
}
