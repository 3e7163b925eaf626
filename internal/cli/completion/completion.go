// Package completion implements the command 'gaffer completion': it prints completion
// scripts for shells.
package completion

import (
	"fmt"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/exit"
	"gaffer/internal/text/suggest"
)

// New creates the command 'gaffer completion'.
func New(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use:       "completion bash|zsh|fish|powershell",
		Short:     "Print the completion script for a shell",
		ValidArgs: shells(),
		Args:      cobra.ExactArgs(1),
		Example: `  source <(gaffer completion bash)
  gaffer completion zsh > "${fpath[1]}/_gaffer"
  gaffer completion fish > ~/.config/fish/completions/gaffer.fish
  gaffer completion powershell | Out-String | Invoke-Expression`,
		RunE: func(cmd *cobra.Command, args []string) error { return run(e, cmd.Root(), args[0]) },
	}
}

func shells() []string { return []string{"bash", "zsh", "fish", "powershell"} }

func run(e *env.Env, root *cobra.Command, shell string) error {
	switch shell {
	case "bash":
		return root.GenBashCompletionV2(e.Out, true)
	case "zsh":
		return root.GenZshCompletion(e.Out)
	case "fish":
		return root.GenFishCompletion(e.Out, true)
	case "powershell":
		return root.GenPowerShellCompletionWithDesc(e.Out)
	}
	return unknown(shell)
}

func unknown(shell string) error {
	err := exit.Usage(fmt.Errorf("unknown shell %q, want bash, zsh, fish or powershell", shell))
	if near := suggest.Nearest(shell, shells()); near != "" {
		return exit.WithHint(err, fmt.Sprintf("did you mean %q?", near))
	}
	return err
}
