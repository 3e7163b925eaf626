// Package worktree implements the command 'gaffer worktree': it lists and removes the
// git worktrees of tasks.
package worktree

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/cli/env"
)

// New returns the command 'gaffer worktree'.
func New(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "worktree",
		Short:   "List and remove the worktrees of tasks",
		Example: "  gaffer worktree list\n  gaffer worktree remove api",
	}
	cmd.AddCommand(list(e), remove(e))
	return cmd
}

// matchesRun reports whether text is a prefix of a run's id, or of the part of the id after the
// last hyphen. An empty text matches every run.
func matchesRun(text, run string) bool {
	return strings.HasPrefix(run, text) || strings.HasPrefix(run[strings.LastIndexByte(run, '-')+1:], text)
}

// completer returns a shell completion function for cobra. The completion function calls the
// function words with the existing worktrees, and suggests the strings that words returns.
func completer(e *env.Env, words func([]worktree.Tree) []string) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		ctx := cmd.Context()
		if ctx == nil {
			ctx = context.Background()
		}
		repo, err := open(ctx, e)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp // shell completion cannot show errors
		}
		trees, err := repo.List(ctx, "")
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words(trees), cobra.ShellCompDirectiveNoFileComp
	}
}

// open opens the git repository of the project.
func open(ctx context.Context, e *env.Env) (*worktree.Repo, error) {
	p, err := e.Project()
	if err != nil {
		return nil, err
	}
	return worktree.Open(ctx, p.Root)
}
