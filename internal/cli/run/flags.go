package run

import (
	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/runview"
	"gaffer/internal/flow/newrun"
	"gaffer/internal/plan"
)

// planFlags adds the flags that say which plan is run, and how. Both 'gaffer run' and 'gaffer
// schedule add' have these flags.
func (o *options) planFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&o.over.Agent, "agent", "", "agent for tasks that name none: `NAME`, such as claude")
	flags.StringVar(&o.over.Model, "model", "", "model for tasks that name none: `NAME`")
	flags.StringSliceVar(&o.over.Fallback, "fallback", nil, "`AGENTS` that continue a task while its own agent is at a rate limit,\nsuch as codex,claude:haiku")
	o.over.Given = flags.Changed
	flags.IntVar(&o.over.BestOf, "best-of", 0, "let `N` agents do each task, each in its own worktree, and pick one\nresult; --agent is then a list such as claude,codex,claude:opus")
	flags.StringVar(&o.over.Pick, "pick", "", "who picks with --best-of: `user`, checks or judge")
	flags.IntVar(&o.over.Parallel, "parallel", 0, "run `N` tasks at once, whatever the plan says; without it and\n'parallel' in the plan, and with 0: 8 on this machine, on a\nserver as many as its workers take")
	flags.IntVar(&o.over.Retries, "retries", 0, "`N` more attempts after a failed one")
	flags.DurationVar(&o.over.Timeout, "timeout", 0, "how long the agent may work in one attempt, such as 45m; 0 is no limit")
	flags.BoolVar(&o.over.Worktree, "worktree", false, "give each task its own git worktree and branch")
	flags.StringVar(&o.over.Land, "land", "", "what becomes of the changes in worktrees when the run's tasks are\ncomplete: `review`, merge, pr or keep")
	flags.StringVar(&o.over.Into, "into", "", "`BRANCH` that the changes in worktrees are for (default the one that is\nchecked out)")
	flags.StringVar(&o.over.OnFailure, "on-failure", "", "after a failed task, what to do with tasks that do not depend on it:\n`continue`, stop or stop-now")
	flags.StringArrayVar(&o.over.Verify, "verify", nil, "shell `CMD` that must succeed before a task counts as done; may be repeated")
	flags.Float64Var(&o.over.Budget, "budget", 0, "what the run may cost, in `USD`")
	flags.StringVar(&o.over.Questions, "questions", "", "what becomes of requests and questions that no rule answers: `ask`, rules\n(they are denied), allow or deny; see docs/permissions.md")
	flags.BoolVar(&o.load.PendingOnly, "pending-only", false, "skip tasks that are ticked or have a summary")
	flags.BoolVar(&o.load.SeparateFiles, "separate-files", false, "let tasks that change the same files wait for each other")
	flags.StringVar(&o.load.Workflow, "workflow", "", "run the workflow `ID` of a file with several")
	flags.StringVar(&o.load.PromptsDir, "prompts-dir", "", "find prompts by id below `DIR` (default prompts in the project)")
	flags.StringVar(&o.format, "format", "", "read PLAN as `FORMAT` instead of detecting it, see 'gaffer plan check'")
	o.source.Add(cmd)
	o.source.AddReport(cmd)
	completePlanFlags(cmd)
}

// flags adds all flags of 'gaffer run'.
func (o *options) flags(e *env.Env, cmd *cobra.Command) {
	o.planFlags(cmd)
	flags := cmd.Flags()
	e.SandboxFlag(cmd)
	flags.BoolVar(&o.dryRun, "dry-run", false, "with --from, show what would run, and take nothing")
	flags.BoolVar(&o.detach, "detach", false, "print the run's id and let it run in the background")
	o.open = runview.ShowFlag(cmd)
	flags.StringVar(&o.on, "on", "", "let only this `WORKER` of the server run the tasks")
	openfleet.FleetFlags(e, cmd)
	o.json = env.JSONFlag(cmd)
}

func completePlanFlags(cmd *cobra.Command) {
	complete(cmd, "agent", newrun.PromptAgents())
	complete(cmd, "fallback", newrun.PromptAgents())
	complete(cmd, "on-failure", newrun.Failures())
	complete(cmd, "pick", newrun.Picks())
	complete(cmd, "land", newrun.Lands())
	complete(cmd, "questions", newrun.Questions())
	complete(cmd, "format", formats())
}

func complete(cmd *cobra.Command, flag string, words []string) {
	// Ignore the error: planFlags has declared the flag, which has no completion function yet.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

func formats() (words []string) {
	for _, f := range plan.Formats() {
		words = append(words, string(f))
	}
	return words
}
