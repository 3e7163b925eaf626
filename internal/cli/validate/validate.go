// Package validate implements the command 'gaffer validate'. It checks the JSON files that gaffer
// and other programs write, such as run records and session documents, against the protocols that
// define their formats. It also repairs run and result records.
package validate

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gaffer/internal/cli/env"
	"gaffer/internal/exit"
)

// options holds the values of the command's flags.
type options struct {
	fix, strict, json bool
	marks             []kindMark
}

// New creates the command 'gaffer validate'.
func New(e *env.Env) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "validate [PATH…]",
		Short: "Check documents against their protocols, and repair records",
		Long: `Check documents against their protocols.

Without a flag and a path, everything in the project is checked. A path is a
file or a folder. With one kind's flag every path is of that kind; with several,
a path is of the kind whose flag stands before it; without one, the kind follows
from the path's name.

A document that breaks its protocol, or that other JSON readers refuse or read
otherwise, is invalid, and the command ends with code 5. One that readers
understand, but not all of them, is irregular; --strict makes that an error too.
--fix adds to run and result records what can be derived, and keeps each record
as it was beside it, as NAME.bak.`,
		Example: `  gaffer validate
  gaffer validate --runs state/runs/bd-1.json
  gaffer validate --runs old/runs --results old/results
  gaffer validate --fix --runs
  gaffer validate --all --json | jq .summary`,
		Args: cobra.ArbitraryArgs,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	for _, k := range []struct {
		kind kind
		doc  string
	}{
		{runs, "run records"},
		{results, "result records"},
		{sessions, "session status"},
		{workflows, "workflow state and inbox"},
		{teams, "team state and messages"},
		{all, "everything in the project"},
	} {
		f := flags.VarPF(&kindFlag{k.kind, o, flags}, string(k.kind), "", "check "+k.doc)
		f.NoOptDefVal = "true"
	}
	flags.BoolVar(&o.fix, "fix", false, "repair run and result records first")
	flags.BoolVar(&o.strict, "strict", false, "take irregular documents for invalid, and no agent but claude and codex")
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.json = *asJSON
		return run(cmd.Context(), e, o, args)
	}
	return cmd
}

// kindFlag is a flag that selects a kind of documents, such as --runs. When the flag is parsed,
// kindFlag records how many paths come before the flag.
type kindFlag struct {
	kind  kind
	opts  *options
	flags *pflag.FlagSet
}

func (f *kindFlag) Set(text string) error {
	if text != "true" {
		return errors.New("takes no value; put the path after a space")
	}
	f.opts.marks = append(f.opts.marks, kindMark{f.kind, f.flags.NArg()})
	return nil
}

func (f *kindFlag) String() string { return "" }

// Type returns "bool", so that the help shows the flag without a value.
func (f *kindFlag) Type() string { return "bool" }

func run(ctx context.Context, e *env.Env, o *options, args []string) error {
	c, err := e.Config()
	if err != nil {
		return err
	}
	targets, err := resolve(e, assignKinds(o.marks, args))
	if err != nil {
		return err
	}
	v := &validator{env: e, config: c, strict: o.strict}
	if o.fix && !slices.ContainsFunc(targets, v.repairable) {
		return exit.Usage(errors.New("--fix: only run and result records can be repaired"))
	}
	p := newPrinter(e, o)
	if o.fix {
		if err := v.fix(ctx, targets, p.fixed); err != nil {
			return errors.Join(err, p.end())
		}
	}
	for _, t := range targets {
		if err := v.check(ctx, t, p.document); err != nil {
			return errors.Join(err, p.end())
		}
	}
	if err := p.end(); err != nil {
		return err
	}
	return p.verdict()
}

// resolve makes the paths of the targets absolute. If a target has a path but no kind, resolve
// infers the kind from the names of files and folders.
func resolve(e *env.Env, targets []target) ([]target, error) {
	for i := range targets {
		t := &targets[i]
		if t.path == "" {
			continue
		}
		t.path = e.Path(t.path)
		if t.kind != unknown {
			continue
		}
		k, err := infer(t.path)
		if err != nil {
			return nil, err
		}
		t.kind = k
	}
	return targets, nil
}
