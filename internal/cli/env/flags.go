package env

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gaffer/internal/config"
)

// globalFlags holds the values of --project, --token-file and all flags that change settings.
type globalFlags struct {
	project   string
	settings  []config.Setting
	tokenFile string
}

// GlobalFlags adds the flags that every command has: --project, --set, and the flags that override
// one setting each.
func (e *Env) GlobalFlags(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.SortFlags = false
	flags.StringVar(&e.flags.project, "project", "", "use `DIR` as the project's root instead of finding it")
	flags.Var(&settingFlag{e: e}, "set", "override one setting, see 'gaffer config'")
	for _, key := range config.Keys() {
		if key.Flag != "" {
			flags.Var(&settingFlag{e: e, key: key}, key.Flag, key.Usage())
		}
	}
	completeSettings(root)
}

func completeSettings(root *cobra.Command) {
	complete := func(flag string, words []string) {
		// Ignore the error: the call fails only if the flag is undeclared or already has
		// completions.
		_ = root.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
	var names []string
	for _, key := range config.Keys() {
		names = append(names, key.Name+"=\t"+key.Doc)
		if key.Flag != "" {
			complete(key.Flag, key.Choices)
		}
	}
	complete("set", names)
}

// settingFlag is a flag that changes the setting key. If key is empty, the flag is --set, and its
// value KEY=VALUE names the setting.
type settingFlag struct {
	e   *Env
	key config.Key
}

func (f *settingFlag) Set(text string) error {
	s := config.Setting{Name: f.key.Name, Text: text, Flag: "--" + f.key.Flag}
	if f.key.Name == "" {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return errors.New("want KEY=VALUE")
		}
		s = config.Setting{Name: name, Text: value, Flag: "--set"}
	}
	f.e.flags.settings = append(f.e.flags.settings, s)
	return nil
}

// Collects reports whether the user may repeat the flag. Only --set may be repeated.
func (f *settingFlag) Collects() bool { return f.key.Name == "" }

func (f *settingFlag) String() string { return "" }

// Type returns the placeholder for the value in the help.
func (f *settingFlag) Type() string {
	switch {
	case f.key.Name == "":
		return "KEY=VALUE"
	case f.key.Kind == config.Choice:
		return "WHEN"
	}
	return "VALUE"
}

var _ pflag.Value = (*settingFlag)(nil)

// JSONFlag adds the flag --json to cmd. It returns a pointer to the flag's value.
func JSONFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("json", false, "print the result as JSON")
}
