package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gaffer/docs"
	"gaffer/internal/cli/env"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
	"gaffer/internal/text/markdown"
	"gaffer/internal/text/suggest"
	"gaffer/internal/ui/tui/terminal"
)

// topic is a help topic that is a page of the documentation.
type topic struct {
	name  string
	page  string // file in docs/
	about string
}

// topics lists the pages that 'gaffer help' prints, in the order in which users need them.
var topics = []topic{
	{"quickstart", "quickstart.md", "Your first hour: a run, a question, a review, a merge"},
	{"running", "running.md", "Run a plan, follow it, resume it"},
	{"plans", "plans.md", "Write a plan; every format that gaffer reads"},
	{"agents", "agents.md", "Claude Code, Codex, Gemini CLI, opencode, any command"},
	{"worktrees", "worktrees.md", "A folder and a branch for each task"},
	{"review", "review.md", "Read changes, comment, merge; let several agents compete"},
	{"fork", "fork.md", "Continue a copy of a conversation"},
	{"permissions", "permissions.md", "Rules that answer the requests of agents"},
	{"sandbox", "sandbox.md", "What an agent can reach"},
	{"sources", "sources.md", "Issues and tables as tasks"},
	{"schedules", "schedules.md", "Runs at planned times, such as every night"},
	{"accounts", "accounts.md", "Several accounts, and what happens at a rate limit"},
	{"cost", "cost.md", "What agents cost, and limits for it"},
	{"report", "report.md", "Reports of runs, and the morning report"},
	{"notifications", "notifications.md", "Be told when an agent asks or a task fails"},
	{"dashboard", "dashboard.md", "The fleet in the browser"},
	{"watch", "watch.md", "The fleet in the terminal"},
	{"builds", "builds.md", "Build a project in parts, each checked"},
	{"team", "team.md", "A team of agents with roles"},
	{"dispatch", "dispatch.md", "Hand out beads, the task files of bd"},
	{"init", "init.md", "gaffer in the settings of your agent programs"},
	{"hooks", "hooks.md", "The agents that you start yourself"},
	{"statusline", "statusline.md", "Rows under the prompt of an agent"},
	{"mcp", "mcp.md", "gaffer as a tool of agents"},
	{"serve", "serve.md", "Share tasks with other machines and users"},
	{"worker", "worker.md", "Run tasks for a server on this machine"},
	{"operations", "operations.md", "Back up, upgrade, prune, watch over a server"},
	{"macos", "macos.md", "What is different on macOS"},
	{"security", "security.md", "What agents and projects may do, and what stops them"},
	{"demo", "demo.md", "An example fleet"},
	{"plan-keys", "reference/plan.md", "Every key of a plan"},
	{"settings", "reference/settings.md", "Every setting"},
	{"events", "reference/events.md", "Every event of feeds, streams and notifications"},
	{"http", "reference/http.md", "Every route of the server"},
	{"database", "schema.md", "The database, for queries"},
	{"words", "glossary.md", "What gaffer's words mean"},
}

const topicTopics = "topics" // name of the topic that lists the topics

func findTopic(name string) (topic, bool) {
	i := slices.IndexFunc(topics, func(t topic) bool { return t.name == name })
	if i < 0 {
		return topic{}, false
	}
	return topics[i], true
}

// maxTextColumns is the maximum width of a page. Longer lines are hard to read.
const maxTextColumns = 100

// printTopic prints the page of a topic, wrapped for the terminal.
func printTopic(e *env.Env, t topic) error {
	page, err := docs.Pages.ReadFile(t.page)
	if err != nil {
		return err
	}
	columns := terminal.Columns(e.Out)
	if columns == 0 {
		columns = 80
	}
	var style markdown.Style
	if e.Color(e.Out) {
		style = markdown.Style{Heading: display.Style("1;4").Paint, Code: display.Bold.Paint}
	}
	return e.Printf("%s", markdown.Format(string(page), min(columns, maxTextColumns), style))
}

// listTopics prints the names of all topics, and how to print a topic that has the name of a
// command.
func listTopics(e *env.Env, root *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Topics for 'gaffer help TOPIC'. Where a command has the same name, the topic is\n'gaffer help topics TOPIC'.\n\n")
	for _, cmd := range root.Commands() {
		if isTopic(cmd) {
			fmt.Fprintf(&b, "  %-13s  %s\n", cmd.Name(), cmd.Short)
		}
	}
	b.WriteString("\n")
	for _, t := range topics {
		fmt.Fprintf(&b, "  %-13s  %s\n", t.name, t.about)
	}
	return e.Printf("%s", b.String())
}

// noSuchTopic returns the error for a word that is neither a command nor a topic.
func noSuchTopic(root *cobra.Command, word string) error {
	names := topicNames()
	for _, cmd := range root.Commands() {
		if !cmd.Hidden {
			names = append(names, cmd.Name())
		}
	}
	next := "'gaffer help topics' lists the topics, 'gaffer help commands' the commands"
	if near := suggest.Nearest(word, names); near != "" {
		next = fmt.Sprintf("did you mean %q? %s", near, next)
	}
	return &exit.Error{Code: exit.CodeUsage, Err: fmt.Errorf("there is no command and no topic %q", word), Next: next}
}

func topicNames() []string {
	names := make([]string, len(topics))
	for i, t := range topics {
		names[i] = t.name
	}
	return names
}

func helpCommand(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND | TOPIC]",
		Short: "Show the help of a command or topic",
		Long: `Show the help of a command, or a topic: a page of the documentation. 'gaffer help
topics' lists the topics.`,
		Example:           "  gaffer help config\n  gaffer help topics\n  gaffer help plans",
		Hidden:            true,
		ValidArgsFunction: completeHelp,
		RunE:              func(help *cobra.Command, args []string) error { return showHelp(e, help.Root(), args) },
	}
}

// showHelp prints the help of the command or topic that args name. A command is preferred to a
// topic with the same name.
func showHelp(e *env.Env, root *cobra.Command, args []string) error {
	if len(args) > 0 && args[0] == topicTopics {
		return showTopic(e, root, args[1:])
	}
	cmd, rest, err := root.Find(args)
	if err == nil && len(rest) == 0 {
		return cmd.Help()
	}
	if t, ok := findTopic(args[0]); ok && len(args) == 1 {
		return printTopic(e, t)
	}
	if err == nil && cmd != root {
		return noSuchCommand(cmd, rest)
	}
	return noSuchTopic(root, args[0])
}

func showTopic(e *env.Env, root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return listTopics(e, root)
	}
	if t, ok := findTopic(args[0]); ok {
		return printTopic(e, t)
	}
	if cmd, rest, err := root.Find(args); err == nil && len(rest) == 0 && isTopic(cmd) {
		return cmd.Help()
	}
	return noSuchTopic(root, args[0])
}

// completeHelp completes the names of commands and topics.
func completeHelp(help *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var words []string
	if len(args) == 0 || args[0] == topicTopics && len(args) == 1 {
		for _, t := range topics {
			words = append(words, t.name+"\t"+t.about)
		}
	}
	if len(args) == 0 {
		words = append(words, topicTopics+"\tAll topics")
	}
	if cmd, rest, err := help.Root().Find(args); err == nil && len(rest) == 0 {
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() || isTopic(sub) {
				words = append(words, sub.Name()+"\t"+sub.Short)
			}
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}
