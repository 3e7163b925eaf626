package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gaffer/internal/exit"
	"gaffer/internal/text/suggest"
)

// rejectMistakes makes every command reject an unknown subcommand, for which cobra would print the
// help and succeed. It also makes flags with a single value reject a second value, which the parser
// would accept. *started becomes true if the command line is valid and the command is started.
func rejectMistakes(root *cobra.Command) (started *bool) {
	started = new(bool)
	walk(root, func(cmd *cobra.Command) {
		// VisitAll does not visit the flags that cmd inherits. They are visited when walk reaches
		// the command that declares them.
		cmd.Flags().VisitAll(rejectRepeated)
		cmd.PersistentFlags().VisitAll(rejectRepeated)
		if cmd.HasSubCommands() && !cmd.Runnable() {
			cmd.Args = noSuchCommand
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
		if check := cmd.Args; check != nil && !cmd.HasSubCommands() {
			cmd.Args = func(cmd *cobra.Command, args []string) error {
				return argumentError(cmd, args, check(cmd, args))
			}
		}
		if run := cmd.RunE; run != nil {
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				*started = true
				return run(cmd, args)
			}
		}
	})
	return started
}

// rejectRepeated makes a flag reject a second value, unless the flag collects several values. A
// flag that needs no value, such as --json, may still be repeated with the same value.
func rejectRepeated(f *pflag.Flag) {
	_, list := f.Value.(pflag.SliceValue)
	own, ok := f.Value.(interface{ Collects() bool })
	if !list && (!ok || !own.Collects()) {
		f.Value = &singleValue{Value: f.Value, flag: f}
	}
}

// singleValue is the value of a flag that cannot be given two values. given is the text of the
// value; nil means that the flag was not given yet.
type singleValue struct {
	pflag.Value
	flag  *pflag.Flag
	given *string
}

func (s *singleValue) Set(text string) error {
	if s.given != nil && (s.flag.NoOptDefVal == "" || *s.given != text) {
		return &exit.Error{Code: exit.CodeUsage, Err: fmt.Errorf("--%s is given twice, as %q and %q: it has one value", s.flag.Name, *s.given, text)}
	}
	s.given = &text
	return s.Value.Set(text)
}

func walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, sub := range cmd.Commands() {
		walk(sub, visit)
	}
}

func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	next := didYouMean(cmd, suggest.Nearest(args[0], names))
	if other := otherPrograms[args[0]]; other != "" && !cmd.HasParent() {
		next = other
	}
	return &exit.Error{Code: exit.CodeUsage, Err: fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath()), Next: next}
}

// otherPrograms maps commands of other programs to a hint that names gaffer's equivalent.
var otherPrograms = map[string]string{
	"rm":     removes,
	"remove": removes,
	"delete": removes,
	"start":  "'gaffer run PLAN' begins a run, 'gaffer resume RUN' continues one",
	"tail":   "'gaffer logs TASK -f' follows what an agent says and does",
}

const removes = "'gaffer prune' takes away runs that ended long ago; 'gaffer cancel RUN' ends one, 'gaffer worktree remove' takes away a task's worktree"

// usageError turns an error of the command line's parser into a usage error with a hint. If err
// wraps an [exit.Error], usageError returns that one instead.
func usageError(cmd *cobra.Command, err error) error {
	if e, ok := errors.AsType[*exit.Error](err); ok {
		return e // leave out the text that the parser has added to e
	}
	// If the command line also has an unknown subcommand, report that instead of err. A command
	// such as 'gaffer build PLAN' is an exception: it also takes arguments, so a word after it need
	// not be a subcommand.
	_, takes := positional(cmd.Use)
	if words := cmd.Flags().Args(); cmd.HasSubCommands() && takes == 0 && len(words) > 0 {
		return noSuchCommand(cmd, words)
	}
	near := ""
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if unknown.GetSpecifiedName() == "server" {
			return noServerError(cmd)
		}
		near = nearestFlag(cmd, unknown.GetSpecifiedName())
	}
	return &exit.Error{Code: exit.CodeUsage, Err: err, Next: didYouMean(cmd, near)}
}

// noServerError returns the error for the flag --server on a command that works only on this
// machine.
func noServerError(cmd *cobra.Command) error {
	return &exit.Error{
		Code: exit.CodeUsage, Err: fmt.Errorf("%s is of this machine: it asks no server", cmd.CommandPath()),
		Next: "'gaffer help server' says which commands do",
	}
}

func nearestFlag(cmd *cobra.Command, name string) string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := suggest.Nearest(name, names); near != "" {
		return "--" + near
	}
	return ""
}

func didYouMean(cmd *cobra.Command, near string) string {
	see := fmt.Sprintf("see '%s --help'", cmd.CommandPath())
	if near == "" {
		return see
	}
	return fmt.Sprintf("did you mean %q? %s", near, see)
}
