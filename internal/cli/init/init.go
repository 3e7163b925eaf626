// Package setup implements the command 'gaffer init': it adds gaffer to the settings of the user's
// agent programs. With --undo, it removes gaffer from them.
package setup

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"gaffer/internal/byhand/agentsettings"
	"gaffer/internal/cli/env"
	"gaffer/internal/exit"
	"gaffer/statefile/host"
)

type options struct {
	user, dryRun, undo, yes, statusLine bool
	project                             projectFlag
	json                                *bool
}

// projectFlag is the value of the flag --project of 'gaffer init'. The flag selects the project's
// settings instead of the user's. --project=DIR also says which folder is the project, as in other
// commands.
type projectFlag struct {
	given bool
	dir   string
}

// Set implements [pflag.Value].
func (f *projectFlag) Set(text string) error {
	f.given, f.dir = text != "false", ""
	if text != "true" && text != "false" {
		f.dir = text
	}
	return nil
}

func (f *projectFlag) String() string { return f.dir }

// Type returns "bool", so that the help shows the flag without a value.
func (f *projectFlag) Type() string { return "bool" }

// New creates the command 'gaffer init'.
func New(e *env.Env) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:                   "init [claude|codex|all] [--project|--user] [--dry-run] [--undo]",
		DisableFlagsInUseLine: true,
		Short:                 "Add gaffer to the settings of Claude Code and Codex, or remove it",
		Long: `Add gaffer to the settings of the agent programs that you use: hooks, which tell
gaffer what an agent does that you started yourself; an MCP server, with which an
agent uses gaffer; Claude Code's status line; and, for a project, lines in
.gitignore for files that belong to this machine.

The command shows the exact change and asks. Without a terminal it needs --yes.
Existing settings stay unchanged, byte for byte; gaffer's are added to them. A
status line that is not gaffer's stays, unless you use --statusline. Running the
command again changes nothing. --undo removes what was added: a file that has not
been changed since is restored exactly.

Without a name, the command sets up those of both programs that are installed.
Without --user or --project, it changes the settings of the project if you are in
one, otherwise your own. A file with unexpected content is reported with its line,
and then no file is written.`,
		Example: `  gaffer init --dry-run
  gaffer init claude --project
  gaffer init --user --yes
  gaffer init --undo`,
		ValidArgs: []string{"claude\tClaude Code", "codex\tCodex", "all\tthose that are installed"},
		Args:      cobra.MaximumNArgs(1),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(&o.project, "project", "the project's settings; --project=DIR is another project")
	flags.Lookup("project").NoOptDefVal = "true"
	flags.BoolVar(&o.user, "user", false, "your own settings, for all projects")
	flags.BoolVar(&o.dryRun, "dry-run", false, "write nothing, only show the change")
	flags.BoolVar(&o.undo, "undo", false, "take out what was put in")
	flags.BoolVar(&o.statusLine, "statusline", false, "also in the place of another status line")
	flags.BoolVar(&o.yes, "yes", false, "do not ask")
	o.json = env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return run(cmd, e, &o, args) }
	return cmd
}

func run(cmd *cobra.Command, e *env.Env, o *options, args []string) error {
	if err := check(e, o); err != nil {
		return err
	}
	if o.project.dir != "" {
		// This command's --project hides the global flag, so set the global flag's value here.
		if err := cmd.Root().PersistentFlags().Lookup("project").Value.Set(o.project.dir); err != nil {
			return err
		}
	}
	s, err := newSetupPlan(e, o, args)
	if err != nil {
		return err
	}
	edits, err := s.plan()
	if err != nil {
		return withHint(err)
	}
	return s.applyEdits(cmd.Context(), edits)
}

func check(e *env.Env, o *options) error {
	switch {
	case o.user && o.project.given:
		return exit.Usage(errors.New("--user and --project: want one of them"))
	case o.undo && o.statusLine:
		return exit.Usage(errors.New("--statusline and --undo: --undo takes out gaffer's status line anyway"))
	case !o.dryRun && !o.yes && !e.Interactive():
		return exit.WithHint(exit.Usage(errors.New("there is no terminal to ask whether the change is right")),
			"--dry-run shows it, --yes makes it without asking")
	}
	return nil
}

// withHint adds the hint "nothing was written" to err, if err has no hint.
func withHint(err error) error {
	if hint := (interface{ Hint() string })(nil); errors.As(err, &hint) {
		return err
	}
	return exit.WithHint(err, "nothing was written")
}

// plan returns the planned edit of each settings file.
func (s *setupPlan) plan() ([]agentsettings.Edit, error) {
	if s.opts.undo {
		return s.editor().PlanUndo(s.files)
	}
	return s.editor().Plan(s.files)
}

func (s *setupPlan) editor() *agentsettings.Editor {
	return &agentsettings.Editor{Host: host.OS(), Dir: filepath.Join(s.state, "init")}
}

// applyEdits shows the edits and asks the user whether to apply them. With --yes it applies them
// without asking, with --dry-run it applies nothing.
func (s *setupPlan) applyEdits(ctx context.Context, edits []agentsettings.Edit) error {
	r := s.report(edits)
	if !*s.opts.json {
		if err := s.showDiffs(edits); err != nil {
			return err
		}
	}
	write := !s.opts.dryRun
	if write && r.changes() && !s.opts.yes {
		var err error
		if write, err = s.env.Confirm(ctx, "Make this change?"); err != nil {
			return err
		}
	}
	if write {
		// Call Apply even if no file changes: an undo also deletes the files' entries in the
		// journal of earlier edits.
		if err := s.editor().Apply(ctx, edits); err != nil {
			return err
		}
		r.Written = r.changes()
	}
	if *s.opts.json {
		return s.env.PrintJSON(r)
	}
	return s.printReport(r)
}
