package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gaffer/internal/cli/env"
	"gaffer/internal/exit"
)

// addHelp adds the flag --help, the help command and the help topics. The flag is hidden, to save a
// line in each help text.
func addHelp(root *cobra.Command, e *env.Env) {
	root.PersistentFlags().BoolP("help", "h", false, "show help")
	root.PersistentFlags().Lookup("help").Hidden = true
	root.AddCommand(append(treeTopics(), serverTopic(), exitCodesTopic())...)
	root.SetHelpCommand(helpCommand(e))
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { printHelp(e.Out, cmd) })
	root.SetUsageFunc(func(cmd *cobra.Command) error { printHelp(e.Err, cmd); return nil })
}

// printHelp writes the help of cmd. It replaces cobra's templates, because the template
// engine would make the binary larger.
func printHelp(w io.Writer, cmd *cobra.Command) {
	var b strings.Builder
	if cmd.HasParent() {
		commandHelp(&b, cmd)
	} else {
		rootHelp(&b, cmd)
	}
	// Ignore the error, because cobra's help function cannot return an error.
	_, _ = io.WriteString(w, b.String())
}

// rootHelp writes the help of gaffer itself. It must fit into 80 columns and 24 lines.
func rootHelp(b *strings.Builder, root *cobra.Command) {
	fmt.Fprintf(b, "%s\n", root.Short)
	for _, group := range root.Groups() {
		if slices.Contains(shortGroups(), group.ID) {
			nameCommands(b, group.Title, root, group.ID)
		} else {
			listCommands(b, group.Title, root, group.ID)
		}
	}
	fmt.Fprintf(b, "Flags: %s\n", strings.Join(flagNames(root), "  "))
	b.WriteString("More: gaffer COMMAND --help, gaffer help topics|commands|flags|exit-codes\n")
}

func flagNames(root *cobra.Command) (names []string) {
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			value, _ := pflag.UnquoteUsage(f)
			names = append(names, "--"+f.Name+" "+value)
		}
	})
	return names
}

// nameCommands writes the title of a group of commands and the commands' names. It writes the names
// on the same line as the title if they fit into 80 columns, and otherwise on the next line. It
// puts two spaces between names or, if the names then do not fit, one. If they fit on no line, it
// writes nothing.
func nameCommands(b *strings.Builder, title string, root *cobra.Command, group string) {
	var names []string
	for _, cmd := range root.Commands() {
		if cmd.GroupID == group && cmd.IsAvailableCommand() {
			names = append(names, cmd.Name())
		}
	}
	const width = 80
	for _, before := range []string{": ", "\n  "} {
		for _, space := range []string{"  ", " "} {
			if line := before + strings.Join(names, space); len(title)+len(line) <= width || before != ": " && len(line) <= width {
				fmt.Fprintln(b, title+line)
				return
			}
		}
	}
}

func commandHelp(b *strings.Builder, cmd *cobra.Command) {
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	fmt.Fprintln(b, text)
	if isTopic(cmd) {
		topicBody(b, cmd)
		return
	}
	fmt.Fprintf(b, "\nUsage:\n  %s\n", usageLine(cmd))
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(b, "\nAlso called: %s\n", strings.Join(cmd.Aliases, ", "))
	}
	if cmd.Example != "" {
		fmt.Fprintf(b, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\n")
		listCommands(b, "Commands:", cmd, "")
	}
	if cmd.HasAvailableLocalFlags() {
		fmt.Fprintf(b, "\nFlags:\n%s", cmd.LocalFlags().FlagUsages())
	}
	b.WriteString("\nFlags of every command are in 'gaffer help flags'.\n")
	if _, ok := findTopic(cmd.Name()); ok && cmd.Parent() == cmd.Root() {
		fmt.Fprintf(b, "The guide is 'gaffer help topics %s'.\n", cmd.Name())
	}
}

func usageLine(cmd *cobra.Command) string {
	if cmd.HasSubCommands() && !cmd.Runnable() {
		return cmd.CommandPath() + " COMMAND"
	}
	return cmd.UseLine()
}

// listCommands writes the commands of a group, one per line. It writes nothing if the
// group has no commands.
func listCommands(b *strings.Builder, title string, parent *cobra.Command, group string) {
	for _, cmd := range parent.Commands() {
		if cmd.GroupID != group || !cmd.IsAvailableCommand() {
			continue
		}
		if title != "" {
			fmt.Fprintln(b, title)
			title = ""
		}
		fmt.Fprintf(b, "  %-*s  %s\n", parent.NamePadding(), cmd.Name(), cmd.Short)
	}
}

// isTopic reports whether cmd is a help topic: it cannot be run and has no subcommands.
func isTopic(cmd *cobra.Command) bool { return !cmd.Runnable() && !cmd.HasSubCommands() }

// Names of the help topics that gaffer generates from the command tree.
const (
	topicCommands = "commands"
	topicFlags    = "flags"
)

func treeTopics() []*cobra.Command {
	return []*cobra.Command{
		{Use: topicCommands, Short: "What every command does", Long: "All commands of gaffer, by what they are for:"},
		{Use: topicFlags, Short: "The flags of every command", Long: "Flags that every command has:\n"},
	}
}

func topicBody(b *strings.Builder, topic *cobra.Command) {
	root := topic.Root()
	switch topic.Name() {
	case topicCommands:
		for _, group := range root.Groups() {
			b.WriteString("\n")
			listCommands(b, group.Title, root, group.ID)
		}
	case topicFlags:
		b.WriteString(root.PersistentFlags().FlagUsagesWrapped(80))
	}
}

// serverTopic returns the help topic about the flags that choose a server.
func serverTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "server",
		Short: "How a server is asked instead of this machine",
		Long: `Every command about runs (run, resume, runs, status, ps, logs, answer, send,
interrupt, cancel, retry, doctor, report) asks the server that is named, and this
machine if none is:

  --server URL         or GAFFER_SERVER, or the setting 'server'; several that
                       share a database with commas between them
  --local              this machine, whatever else names a server
  --token-file FILE    or GAFFER_TOKEN_FILE; its last line is the token.
                       Else GAFFER_TOKEN. A server of this machine has left one
                       in gaffer's state folder, which is taken without asking.
  --fingerprint SHA    or the setting 'server_fingerprint': the certificate that
                       'gaffer serve --tls' has made and whose SHA-256 it prints
  --ca FILE            or the setting 'server_ca': who vouches for a certificate

A token goes to another machine by https:// alone. GAFFER_INSECURE_HTTP=1 lets it
go by http:// too: for a network that is encrypted already, such as a VPN.

Names are looked for in the project, which a server knows by the setting
'project_name', or else by the name of its root folder. 'gaffer workers' lists
who runs the tasks, 'gaffer doctor' says what your token may do. A server that is
away is waited for where a run or a log is followed.`,
	}
}

// exitCodesTopic returns the help topic about exit codes.
func exitCodesTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean",
		Long: "gaffer ends with one of these codes:\n\n" + exit.Table() + `
Errors are printed to stderr. With --json it is one line:
  {"error":{"code":"not_found","message":"…","hint":"…"}}`,
	}
}
