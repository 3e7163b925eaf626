// Package statusline is the command 'gaffer statusline': how the project stands,
// for the prompt of an agent program.
package statusline

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/app"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/byhand/hookevents"
	"gaffer/internal/cli/connect"
	"gaffer/internal/cli/env"
	"gaffer/internal/project"
	"gaffer/internal/ui/statusline"
	"gaffer/statefile/jsontree"
)

// options holds the values of the command's flags.
type options struct {
	fleet, all, json bool
	named            bool // the project was named by a flag or a variable
}

// New creates the command.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "statusline [--fleet]",
		Short: "Print how the project stands, for an agent's status line",
		Long: `Print how the project stands in two rows: the project, its branch, its spec and
the agent's context; then the command, chunk, section, scores and next step.

The agent's JSON is read from stdin if one is given. It is for a prompt, so it
starts nothing, waits for nobody, and shows what it can find out: what cannot be
read is left out without a word. Rows are cut to COLUMNS if that is set, and
coloured unless NO_COLOR is set or --color is never.`,
		Example: `  gaffer statusline
  gaffer statusline --fleet
  echo '{"cwd": "/src/demo", "context_window": {"used_percentage": 42}}' | gaffer statusline --json`,
		Args: cobra.NoArgs,
	}
	var o options
	cmd.Flags().BoolVar(&o.fleet, "fleet", false, "add a row for what gaffer runs, if anything does")
	cmd.Flags().BoolVarP(&o.all, "all", "a", false, "in that row, count all projects; implies --fleet")
	cmd.Flags().BoolVar(&o.json, "json", false, "print the parts as JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		named := cmd.Flag("project")
		o.named = named != nil && named.Changed || e.Getenv(project.EnvVar) != ""
		show(cmd.Context(), e, o)
		return nil
	}
	return cmd
}

// Main runs the command without the rest of the tree, which takes longer to
// build than a prompt should wait. It reports false, having done nothing, for a
// command line that is not plain: help and mistakes are the tree's.
func Main(e *env.Env, args []string) (code int, ok bool) {
	cmd := New(e)
	e.GlobalFlags(cmd)
	if err := cmd.ParseFlags(args); err != nil || cmd.Flags().NArg() > 0 {
		return 0, false
	}
	cmd.SetContext(context.Background())
	return 0, cmd.RunE(cmd, nil) == nil
}

// show prints the line. Nothing that goes wrong here may break a prompt.
func show(ctx context.Context, e *env.Env, o options) {
	defer func() { _ = recover() }()
	agent := readAgent(e.In)
	p := locate(e, o.named, statusline.ReadAgent(agent).Dirs)
	line := statusline.Read(p.documents(agent))
	if o.fleet || o.all {
		line.Fleet = glance(ctx, e, o.all)
		note(e, agent)
	}
	if o.json {
		_ = e.PrintJSON(line)
		return
	}
	rows := statusline.Render(line, statusline.Look{Color: colored(e), Columns: columns(e), Now: e.Now()})
	_ = e.Printf("%s\n", strings.Join(rows, "\n"))
}

// note keeps what the agent says it has used, for who looks at the fleet. What
// gaffer runs itself it knows better.
func note(e *env.Env, agent []byte) {
	doc, err := jsontree.Parse(agent)
	if err != nil || e.Getenv(supervisor.Mark) != "" {
		return
	}
	state, err := e.StateDir()
	if m, ok := hookevents.ReadMeter(doc.Value()); ok && err == nil {
		_ = hookevents.In(state).Note(m) // a status line has nobody to tell
	}
}

// patience is how long a database on another machine may take to answer.
const patience = 500 * time.Millisecond

func glance(ctx context.Context, e *env.Env, everywhere bool) *fleet.Glance {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	opts, err := connect.Options(e, func(string) {})
	if err != nil {
		return nil
	}
	g, err := app.Glance(ctx, opts, everywhere)
	if err != nil {
		return nil
	}
	return &g
}

// colored differs from other commands: whoever reads a status line shows
// colours, though it is no terminal.
func colored(e *env.Env) bool {
	if c, err := e.Config(); err == nil && c.Choice("color") != "auto" {
		return c.Choice("color") == "always"
	}
	return e.Getenv("NO_COLOR") == "" && e.Getenv("FORCE_COLOR") != "0"
}

func columns(e *env.Env) int {
	n, err := strconv.Atoi(e.Getenv("COLUMNS"))
	if err != nil {
		return 0
	}
	return n
}
