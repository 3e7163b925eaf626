// Package statusline implements the command 'gaffer statusline': it prints the state of
// the project for an agent program's status line.
package statusline

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gaffer/internal/app"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/byhand/hookevents"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/project"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/statusline"
	"gaffer/statefile/jsontree"
)

// options holds the values of the command's flags.
type options struct {
	fleet, all, json bool
	named            bool // a flag or an environment variable names the project
}

// New creates the command 'gaffer statusline'.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "statusline [--fleet]",
		Short: "Print the project's state, for an agent's status line",
		Long: `Print the state of the project in two rows: the project, its branch, its spec and
the agent's context; then the command, chunk, section, scores and next step.

The agent's JSON is read from stdin if there is any. The command is meant for a
prompt: it starts no process, waits for nothing, and leaves out what it cannot
read. Rows are cut to COLUMNS if that is set, and coloured unless NO_COLOR is set
or --color is never.`,
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

// Main runs the command without building the command tree, which takes too long for a prompt. If
// the command line is not valid or asks for help, Main does nothing and returns ok = false. The
// caller then runs the command tree, which prints the error or the help.
func Main(e *env.Env, args []string) (code int, ok bool) {
	cmd := New(e)
	e.GlobalFlags(cmd)
	if err := cmd.ParseFlags(args); err != nil || cmd.Flags().NArg() > 0 {
		return 0, false
	}
	cmd.SetContext(context.Background())
	return 0, cmd.RunE(cmd, nil) == nil
}

// databaseTimeout is the timeout for reading the summary of the fleet, such as the number of
// running tasks, from the database, which may be on another machine.
const databaseTimeout = 500 * time.Millisecond

// show prints the status line. It ignores errors and panics, because they must not break the
// agent's prompt.
func show(ctx context.Context, e *env.Env, o options) {
	defer func() { _ = recover() }()
	var agent []byte
	if e.In != nil && !display.IsTerminal(e.In) {
		agent = readWithin(e.In, agentWithin)
	}
	line := statusline.Read(findFolders(e, o.named, statusline.ReadAgent(agent).Dirs).documents(agent))
	if o.fleet || o.all {
		if opts, err := openfleet.Options(e, func(string) {}); err == nil {
			ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
			defer cancel()
			if g, err := app.Summary(ctx, opts, o.all); err == nil {
				line.Fleet = &g
			}
		}
		storeUsage(e, agent)
	}
	if o.json {
		_ = e.PrintJSON(line)
		return
	}
	columns, _ := strconv.Atoi(e.Getenv("COLUMNS")) // 0, which means unknown, if COLUMNS is not a number
	rows := statusline.Render(line, statusline.Format{Color: colored(e), Columns: columns, Now: e.Now()})
	_ = e.Printf("%s\n", strings.Join(rows, "\n"))
}

// storeUsage stores the cost and the use of the context window that the agent program passes to its
// status line, for views of the fleet. It does nothing if gaffer runs the agent as a task.
func storeUsage(e *env.Env, agent []byte) {
	doc, err := jsontree.Parse(agent)
	if err != nil || e.Getenv(supervisor.Mark) != "" {
		return
	}
	state, err := e.StateDir()
	if m, ok := hookevents.ParseUsage(doc.Value()); ok && err == nil {
		_ = hookevents.NewFolder(state).StoreUsage(m) // ignore the error: a status line cannot report it
	}
}

// colored reports whether to use colour. Unlike other commands it does not check for a terminal,
// because agent programs show the colours of a status line.
func colored(e *env.Env) bool {
	if c, err := e.Config(); err == nil && c.Choice("color") != "auto" {
		return c.Choice("color") == "always"
	}
	return e.Getenv("NO_COLOR") == "" && e.Getenv("FORCE_COLOR") != "0"
}
