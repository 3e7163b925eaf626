package env

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gaffer/internal/config"
)

// SandboxFlag adds the flag --sandbox. It overrides the sandbox that the plan or the setting
// "sandbox" names.
func (e *Env) SandboxFlag(cmd *cobra.Command) {
	words := []string{"none", "program", "bubblewrap", "container", "auto"}
	cmd.Flags().Func("sandbox", "`MODE` of the agents' sandbox, whatever plan and\nsettings say: none, program, bubblewrap,\ncontainer or auto", func(text string) error {
		if !slices.Contains(words, text) {
			return fmt.Errorf("want %s or %s", strings.Join(words[:len(words)-1], ", "), words[len(words)-1])
		}
		e.flags.settings = append(e.flags.settings, config.Setting{Name: "sandbox", Text: text, Flag: "--sandbox"})
		return nil
	})
	// Ignore the error: the call fails only if the flag is undeclared or already has completions.
	_ = cmd.RegisterFlagCompletionFunc("sandbox", cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}
