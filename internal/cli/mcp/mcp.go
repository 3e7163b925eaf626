// Package mcp implements the command 'gaffer mcp': it serves gaffer's tools to an agent
// over the Model Context Protocol.
package mcp

import (
	"context"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"gaffer/internal/byhand/agentproc"
	"gaffer/internal/byhand/caller"
	"gaffer/internal/byhand/hookevents"
	"gaffer/internal/byhand/mcp"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/runview"
	"gaffer/internal/cli/session"
	"gaffer/internal/cli/state"
	"gaffer/internal/cli/team"
	"gaffer/internal/plan"
	"gaffer/statefile/host"
)

const long = `Serve gaffer's tools to an agent over stdin and stdout: read the workflow's
state, sessions and runs, begin and finish steps, emit events, use the inbox,
send messages in a team, ask the user and wait, submit plans. The agent's
program starts this command; 'gaffer init' adds it to the program's settings.

The role decides which tools are available. An agent that gaffer runs keeps the
role it was started with; --role can only make it a reader. Otherwise the role
is person, which is the user's own agent, unless --role names another: worker,
pm, developer, qa_expert, tech_lead or reader. Tools that a role may not use are
neither listed nor accepted.

The command ends when stdin is closed, or on SIGTERM. It then withdraws its open
questions and returns its items to the inbox.`

// New creates the command 'gaffer mcp'.
func New(e *env.Env) *cobra.Command {
	var role string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve gaffer's tools to an agent (MCP, on stdio)",
		Long:  long,
		Example: `  claude mcp add gaffer -- gaffer mcp
  codex -c 'mcp_servers.gaffer={command="gaffer", args=["mcp"]}'
  gaffer mcp --role reader --project ~/src/web`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&role, "role", "", "what the agent is: `ROLE`, such as reader or developer")
	var words []string
	for _, r := range mcp.Roles() {
		words = append(words, string(r))
	}
	// Ignore the error: the call fails only if the flag is undeclared or already has completions.
	_ = cmd.RegisterFlagCompletionFunc("role", cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	openfleet.FleetFlags(e, cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		opts, err := options(e, role)
		if err != nil {
			return err
		}
		// Catch SIGPIPE, which the process gets if the client stops reading. By default it would
		// kill the process before the process has withdrawn its open questions to the user.
		broken := make(chan os.Signal, 1)
		signal.Notify(broken, syscall.SIGPIPE)
		defer signal.Stop(broken)
		return mcp.New(opts).Serve(cmd.Context(), e.In, e.Out)
	}
	return cmd
}

// options returns the options of the MCP server. They contain the opened documents of the project's
// workflow, sessions and team. options reads the project and the settings into the cache of e, so
// that concurrent tool calls find them there and do not write them.
func options(e *env.Env, role string) (o mcp.Options, err error) {
	o = mcp.Options{Version: e.Version}
	if o.Caller, err = identify(e, role); err != nil {
		return o, err
	}
	p, err := e.Project()
	if err != nil {
		return o, err
	}
	c, err := e.Config()
	if err != nil {
		return o, err
	}
	if o.Self, err = host.Identify(os.Getpid()); err != nil {
		return o, err
	}
	for _, program := range agentproc.Programs() {
		if agent := hookevents.Caller(program); agent.PID > 0 {
			o.Agent = hookevents.WorkerName(program, agent, "")
		}
	}
	if o.Workflow, err = state.Open(e); err != nil {
		return o, err
	}
	if o.Sessions, err = session.Open(e); err != nil {
		return o, err
	}
	if o.Team, err = team.Open(e); err != nil {
		return o, err
	}
	o.Plans = plan.Options{Dir: p.Root, Root: p.Root, Agents: slices.Sorted(maps.Keys(c.Agents()))}
	o.WithFleet = func(ctx context.Context, do func(mcp.Fleet) error) error {
		return openfleet.WithFleet(ctx, e, func(f openfleet.Fleet) error { return do(mcpFleet{f}) })
	}
	o.Submit = func(ctx context.Context, p plan.Plan) (mcp.Submitted, error) { return submit(ctx, e, p) }
	return o, nil
}

// identify returns the agent that has started this MCP server. gaffer sets environment variables
// that name the agent, but an agent program may start its MCP servers without them. So identify
// first looks for the variables in the environments of the ancestor processes, and only then in the
// server's own environment.
func identify(e *env.Env, role string) (mcp.Caller, error) {
	for _, a := range caller.Ancestors(os.Getpid()) {
		if a.Attempt != "" {
			return mcp.Identify(a.Getenv, role)
		}
	}
	return mcp.Identify(e.Getenv, role)
}

// mcpFleet adapts a fleet to the interface that the MCP server needs.
type mcpFleet struct{ openfleet.Fleet }

func (m mcpFleet) FindRun(ctx context.Context, name string) (string, error) {
	return openfleet.FindRun(ctx, m.Fleet, name, false)
}

// submit creates a run from a plan. On this machine it also starts a gaffer process in the
// background that works on the run.
func submit(ctx context.Context, e *env.Env, p plan.Plan) (s mcp.Submitted, err error) {
	err = runview.WithFleet(ctx, e, func(t *runview.View) error {
		if err := runview.CheckFlags(e, false, true, t.App == nil); err != nil {
			return err
		}
		if s.Run, s.Warnings, err = openfleet.Submit(ctx, e, t.Fleet, p, ""); err != nil {
			return err
		}
		if t.App == nil {
			s.Where = "the workers of " + t.Fleet.Where()
			return nil
		}
		d, err := t.App.Background.Start(ctx, s.Run)
		if err != nil {
			return err
		}
		s.Where = "a gaffer in the background, its log is " + d.Log
		return nil
	})
	return s, err
}
