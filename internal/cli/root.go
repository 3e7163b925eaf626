package cli

import (
	"context"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/accounts"
	"gaffer/internal/cli/answer"
	"gaffer/internal/cli/attach"
	"gaffer/internal/cli/backup"
	"gaffer/internal/cli/build"
	"gaffer/internal/cli/cancel"
	"gaffer/internal/cli/command"
	"gaffer/internal/cli/compare"
	"gaffer/internal/cli/completion"
	"gaffer/internal/cli/config"
	"gaffer/internal/cli/cost"
	"gaffer/internal/cli/dashboard"
	"gaffer/internal/cli/demo"
	"gaffer/internal/cli/diff"
	"gaffer/internal/cli/discard"
	"gaffer/internal/cli/dispatch"
	"gaffer/internal/cli/doctor"
	"gaffer/internal/cli/emit"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/fork"
	"gaffer/internal/cli/hook"
	"gaffer/internal/cli/inbox"
	setup "gaffer/internal/cli/init"
	"gaffer/internal/cli/interrupt"
	"gaffer/internal/cli/logs"
	"gaffer/internal/cli/mcp"
	"gaffer/internal/cli/merge"
	"gaffer/internal/cli/notify"
	"gaffer/internal/cli/permissions"
	"gaffer/internal/cli/pick"
	"gaffer/internal/cli/plan"
	"gaffer/internal/cli/poll"
	"gaffer/internal/cli/pr"
	"gaffer/internal/cli/prune"
	"gaffer/internal/cli/ps"
	"gaffer/internal/cli/rebase"
	"gaffer/internal/cli/report"
	"gaffer/internal/cli/restore"
	"gaffer/internal/cli/resume"
	"gaffer/internal/cli/retry"
	"gaffer/internal/cli/review"
	"gaffer/internal/cli/run"
	"gaffer/internal/cli/runs"
	"gaffer/internal/cli/schedule"
	"gaffer/internal/cli/schema"
	"gaffer/internal/cli/send"
	"gaffer/internal/cli/serve"
	"gaffer/internal/cli/session"
	"gaffer/internal/cli/sources"
	"gaffer/internal/cli/state"
	"gaffer/internal/cli/status"
	"gaffer/internal/cli/statusline"
	"gaffer/internal/cli/step"
	"gaffer/internal/cli/team"
	"gaffer/internal/cli/templates"
	"gaffer/internal/cli/token"
	"gaffer/internal/cli/trust"
	"gaffer/internal/cli/validate"
	"gaffer/internal/cli/version"
	"gaffer/internal/cli/watch"
	"gaffer/internal/cli/worker"
	"gaffer/internal/cli/workers"
	"gaffer/internal/cli/worktree"
)

// group is a group of commands in the help.
type group struct {
	title    string
	commands []func(*env.Env) *cobra.Command
}

// shortGroups returns the titles of the groups for which 'gaffer --help' prints only the names of
// the commands, so that the help fits on one screen. 'gaffer help commands' describes each command.
func shortGroups() []string { return []string{changes, beads, machines, documents, settings} }

const (
	changes   = "Changes"
	beads     = "Builds, teams"
	machines  = "The browser, many machines, your agent programs"
	documents = "State documents and records"
	settings  = "Setup"
)

// groups returns the groups and commands at the top of the command tree, in the order of 'gaffer
// --help'. To add a command, add it here.
func groups() []group {
	return []group{
		{"Run a plan", []func(*env.Env) *cobra.Command{plan.New, run.New, resume.New, schedule.New}},
		{"See and steer what runs", []func(*env.Env) *cobra.Command{
			watch.New, runs.New, status.New, ps.New, logs.New, answer.New, cancel.New, retry.New,
		}},
		{changes, []func(*env.Env) *cobra.Command{send.New, interrupt.New, fork.New, diff.New, review.New, merge.New, rebase.New, discard.New, pr.New, compare.New, pick.New}},
		{beads, []func(*env.Env) *cobra.Command{
			build.New, team.New, dispatch.New, attach.New, poll.New, templates.New, worktree.New, sources.New,
		}},
		{machines, []func(*env.Env) *cobra.Command{serve.New, dashboard.New, demo.New, worker.New, workers.New, token.New, doctor.New, accounts.New, setup.New, hook.New, statusline.New}},
		{documents, []func(*env.Env) *cobra.Command{
			session.New, state.New, step.New, command.New, inbox.New, emit.New, mcp.New,
			validate.New, report.New, cost.New, schema.New,
		}},
		{settings, []func(*env.Env) *cobra.Command{
			config.New, permissions.New, trust.New, notify.New, prune.New, backup.New, restore.New, completion.New, version.New,
		}},
	}
}

// Commands returns the command tree, for programs that write man pages and completion scripts.
func Commands(e *env.Env) *cobra.Command { return newRoot(e) }

// newRoot builds the command tree.
func newRoot(e *env.Env) *cobra.Command {
	// Do not sort commands alphabetically: they are in the order in which users need them.
	cobra.EnableCommandSorting = false
	root := &cobra.Command{
		Use:               "gaffer",
		Short:             "gaffer runs, tracks and recovers fleets of coding agents.",
		Version:           e.Version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetIn(e.In)
	root.SetOut(e.Out)
	root.SetErr(e.Err)
	e.GlobalFlags(root)
	addGroups(root, e)
	addHelp(root, e)
	return root
}

func addGroups(root *cobra.Command, e *env.Env) {
	for _, g := range groups() {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, command := range g.commands {
			cmd := command(e)
			cmd.GroupID = g.title
			root.AddCommand(cmd)
		}
	}
}

// completes reports whether a shell asks for completions of a command line. Cobra then parses the
// line's flags more than once, so the check for repeated flags would reject every line with a flag.
func completes(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

func execute(ctx context.Context, e *env.Env, args []string) error {
	root := newRoot(e)
	if completes(args) {
		root.SetArgs(args)
		return root.ExecuteContext(ctx)
	}
	started := rejectMistakes(root)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !*started {
		return usageError(cmd, err)
	}
	return err
}
