package team

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gaffer/internal/exit"
	"gaffer/internal/text/suggest"
)

// checkWords accepts no arguments, or one argument of several words. It returns an error in all
// other cases: a single word is probably a mistyped command, and several arguments are probably
// requirements without quotes. Agents cost money, so they must not start by mistake.
func checkWords(cmd *cobra.Command, args []string) error {
	if len(args) == 0 || len(args) == 1 && !oneWord(args[0]) {
		return nil
	}
	unknown := fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
	if near := suggest.Nearest(args[0], commandNames(cmd)); near != "" {
		return exit.WithHint(exit.Usage(unknown), fmt.Sprintf("did you mean %q? see '%s --help'", near, cmd.CommandPath()))
	}
	if len(args) > 1 {
		return exit.WithHint(exit.Usage(errors.New("the requirements are several arguments, want one")),
			fmt.Sprintf("put them in quotes: %s %q", cmd.CommandPath(), firstWords(args)))
	}
	return exit.WithHint(exit.Usage(unknown), "requirements of one word are given with -f FILE, or -f - and stdin")
}

func oneWord(text string) bool { return text != "" && !strings.ContainsAny(text, " \t\n") }

func commandNames(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		names = append(append(names, c.Name()), c.Aliases...)
	}
	return names
}

// firstWords returns the first four arguments, and "…" if there are more.
func firstWords(args []string) string {
	if len(args) > 4 {
		return strings.Join(args[:4], " ") + " …"
	}
	return strings.Join(args, " ")
}
