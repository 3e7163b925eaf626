package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/exit"
	"gaffer/session"
	"gaffer/statefile"
	"gaffer/statefile/host"
)

type newOptions struct{ source, sourceFile, agents, waves string }

func newCommand(e *env.Env) *cobra.Command {
	var o newOptions
	cmd := &cobra.Command{
		Use:                   "new --source SOURCE --source-file FILE --agents AGENTS.json [--waves WAVES.json]",
		DisableFlagsInUseLine: true,
		Short:                 "Make a session and print its id",
		Long: `Make a session, make it the active one, and print its id.

AGENTS.json is an array of agents, each with an id; name, prompt_path, wave and
model are of the protocol, and any other member is kept. WAVES.json is an array
of waves, each with a number (wave) and the ids of its agents; without it the
agents' own wave numbers make the waves. '-' reads either from stdin.`,
		Example: `  gaffer session new --source orchestrate --source-file plan.md --agents agents.json
  echo '[{"id":"001"}]' | gaffer session new --source run-prompt --source-file p.md --agents -`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runNew(cmd, e, o) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&o.source, "source", "", "what runs the session: orchestrate, execute-phase or run-prompt")
	flags.StringVar(&o.sourceFile, "source-file", "", "the plan or prompt `FILE`")
	flags.StringVar(&o.agents, "agents", "", "`FILE` with the agents, or - for stdin")
	flags.StringVar(&o.waves, "waves", "", "`FILE` with the waves, or - for stdin")
	for _, required := range []string{"source", "source-file", "agents"} {
		_ = cmd.MarkFlagRequired(required) // an error is returned only for an undeclared flag
	}
	_ = cmd.RegisterFlagCompletionFunc("source", cobra.FixedCompletions(session.Sources(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func runNew(cmd *cobra.Command, e *env.Env, o newOptions) error {
	if o.agents == "-" && o.waves == "-" {
		return exit.Usage(errors.New("only one of --agents and --waves can be read from stdin"))
	}
	draft, err := readDraft(cmd.Context(), e, o)
	if err != nil {
		return err
	}
	s, err := Open(e)
	if err != nil {
		return err
	}
	id, err := s.Create(cmd.Context(), draft)
	if err != nil {
		return err
	}
	return e.Printf("%s\n", id)
}

func readDraft(ctx context.Context, e *env.Env, o newOptions) (session.Draft, error) {
	draft := session.Draft{Source: o.source, SourceFile: o.sourceFile}
	data, err := read(ctx, e, o.agents)
	if err != nil {
		return draft, err
	}
	if draft.Agents, err = session.ParseAgents(o.agents, data); err != nil || o.waves == "" {
		return draft, err
	}
	if data, err = read(ctx, e, o.waves); err == nil {
		draft.Waves, err = session.ParseWaves(o.waves, data)
	}
	return draft, err
}

// read reads the file that the user named, or stdin if the name is "-". It returns an error if the
// content exceeds the maximum size of a document.
func read(ctx context.Context, e *env.Env, name string) ([]byte, error) {
	if name != "-" {
		return statefile.ReadBytes(host.OS(), e.Path(name))
	}
	data, err := e.ReadIn(ctx, statefile.MaxSize+1)
	if err == nil && len(data) > statefile.MaxSize {
		err = &statefile.FormError{Path: "stdin", Problem: fmt.Sprintf("has more than the %d MiB a document may have", statefile.MaxSize>>20)}
	}
	return data, err
}
