package session

import (
	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/text/display"
)

// completer is a function that returns suggestions for the next argument, for shell completion.
// After an error it suggests nothing, because a shell prompt cannot show errors.
type completer = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

func completeIDs(e *env.Env) completer {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return sessionIDs(e), cobra.ShellCompDirectiveNoFileComp
	}
}

func completeAgents(e *env.Env) completer {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		switch len(args) {
		case 0:
			return sessionIDs(e), cobra.ShellCompDirectiveNoFileComp
		case 1:
			return agentIDs(e, args[0]), cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

func sessionIDs(e *env.Env) []string {
	s, err := Open(e)
	if err != nil {
		return nil
	}
	ids, err := s.IDs()
	if err != nil {
		return nil
	}
	return append([]string{"active"}, ids...)
}

func agentIDs(e *env.Env, id string) []string {
	s, id, err := openAt(e, id)
	if err != nil {
		return nil
	}
	status, err := s.Load(id)
	if err != nil {
		return nil
	}
	var ids []string
	for _, a := range status.Agents {
		ids = append(ids, a.ID+"\t"+display.Printable(a.Name+" "+string(a.Status)))
	}
	return ids
}
