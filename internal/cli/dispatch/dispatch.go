// Package dispatch implements the command 'gaffer dispatch': it runs agents on beads. A bead is a
// piece of work with an id that outlives any run, such as bd-42. If tmux is installed, users can
// attach to the agents' tmux sessions.
package dispatch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"gaffer/internal/app"
	"gaffer/internal/attempt/preflight"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/runview"
	"gaffer/internal/engine"
	"gaffer/internal/exit"
	"gaffer/internal/flow/beadrun"
	"gaffer/internal/flow/dispatch"
	"gaffer/internal/flow/prompt"
	"gaffer/internal/plan"
	"gaffer/internal/text/display"
	"gaffer/ledger"
	"gaffer/statefile/host"
)

const long = `Start an agent on a bead, and show it until it ends. PROMPT is the text of the
task, or - to read it from stdin. With --template it is the template's
{{PROMPT}}, and may be left out if the template has none. In a template without
{{PROMPT}} it is the DESCRIPTION, or follows the text; a PROMPT that is the
template with its variables filled in is used unchanged.

If tmux is installed, the agent runs in a tmux session called agent-BEAD, on a
separate tmux server: 'gaffer attach BEAD' shows it. The prompt is passed to the
program and never typed. The recorded end of the agent and --verify decide whether
the bead is done, never the screen. If tmux or its server is killed, the agent
continues without a terminal, and 'gaffer logs BEAD -f' shows it.

Each attempt has a run record and a result record in the ledger. A failed attempt
is repeated up to --retries times, after a pause, with the failure described in
the prompt. A bead that already has an agent is refused with exit code 4, unless
--force first ends that agent and all processes that it has started.

With --from, the beads of a JSONL file are dispatched as one run, by priority and
by their dependencies: lines such as {"bead": "bd-1", "prompt": "…", "priority":
0, "after": ["bd-0"]}, or an export of the beads issue tracker.

Ctrl-C, signals and exit codes are as for 'gaffer run'.`

// options holds the values of the command's flags.
type options struct {
	from     string
	agent    string
	repo     string
	template string
	vars     []string
	branch   string
	timeout  duration
	retries  number
	verify   []string
	parallel int
	policy   string
	tmux     bool
	headless bool
	force    bool
	detach   bool
	json     *bool
}

// New creates the command 'gaffer dispatch'.
func New(e *env.Env) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:                   "dispatch BEAD [PROMPT|-] | dispatch --from FILE.jsonl",
		DisableFlagsInUseLine: true,
		Short:                 "Run an agent on a bead, in tmux or headless",
		Long:                  long,
		Example: `  gaffer dispatch bd-42 "Fix the login crash" --agent claude:opus --verify 'go test ./...'
  gaffer dispatch bd-42 --template bug-fix --var FILE=login.go --repo ../api --branch fix/42
  gaffer dispatch --from beads.jsonl --agent claude --parallel 3
  gaffer dispatch bd-42 - --headless --detach < prompt.md`,
		Args: cobra.MaximumNArgs(2),
	}
	o.flags(cmd)
	e.SandboxFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.check(args); err != nil {
			return exit.Usage(err)
		}
		if err := runview.CheckFlags(e, false, o.detach, false); err != nil {
			return err
		}
		p, err := o.plan(cmd.Context(), e, args)
		if problems, ok := errors.AsType[plan.Problems](err); ok {
			return runview.Refuse(e, o.from, problems, *o.json)
		}
		if err != nil {
			return err
		}
		if len(p.Tasks) == 0 {
			return runview.NothingLeft(e, p, *o.json)
		}
		err = runview.CheckReady(cmd.Context(), e, p.Name, *o.json, func(ctx context.Context, opts app.Options) ([]preflight.Problem, error) {
			if o.tmux {
				return app.Preflight(ctx, opts, p, "tmux")
			}
			return app.Preflight(ctx, opts, p)
		})
		if err != nil {
			return err
		}
		return runview.With(cmd.Context(), e, func(t *runview.View) error { return run(cmd.Context(), t, p, o) })
	}
	return cmd
}

func (o *options) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&o.from, "from", "", "dispatch the beads of `FILE`, one JSON object on each line")
	flags.StringVar(&o.repo, "repo", "", "the folder the agent works in, `DIR` (default: the project)")
	flags.StringVar(&o.agent, "agent", "claude", "of beads that name no agent: `NAME[:MODEL]`, such as claude:opus")
	flags.StringVar(&o.template, "template", "", "make the prompt from templates/`NAME`.md, see 'gaffer templates'")
	flags.StringArrayVar(&o.vars, "var", nil, "a variable of the template, `NAME=VALUE`; may be repeated")
	flags.StringVar(&o.branch, "branch", "", "work in a git worktree on branch `B`")
	flags.Var(&o.timeout, "timeout", "how long the agent may work in one attempt; 0 is no limit (default 1h)")
	flags.Var(&o.retries, "retries", "attempts after a failed one (default 2)")
	flags.StringArrayVar(&o.verify, "verify", nil, "shell `CMD` that must succeed before the bead is done; may be repeated")
	flags.StringVar(&o.policy, "questions", "", "what becomes of the agent's questions: `ask`, rules, deny or allow")
	flags.IntVar(&o.parallel, "parallel", 0, "with --from, run `N` agents at once; 0, as without it, is 8")
	flags.BoolVar(&o.tmux, "tmux", false, "run in tmux, or not at all")
	flags.BoolVar(&o.headless, "headless", false, "run without a terminal")
	flags.BoolVar(&o.force, "force", false, "end the agent that has the bead first")
	flags.BoolVar(&o.detach, "detach", false, "print the run's id and let it run in the background")
	o.json = env.JSONFlag(cmd)
	fixed := func(flag string, words ...string) {
		// Ignore the error: the call fails only if the flag is undeclared or already has
		// completions.
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
	fixed("agent", plan.Agents()...)
	fixed("questions", string(plan.Ask), string(plan.Rules), string(plan.Deny), string(plan.Allow))
}

func (o *options) check(args []string) error {
	switch {
	case o.from == "" && len(args) == 0:
		return errors.New("want a bead, or --from FILE.jsonl")
	case o.from != "" && len(args) > 0:
		return errors.New("--from has the beads and their prompts: want no BEAD beside it")
	case o.from != "" && o.branch != "":
		return errors.New("--branch: beads of a file have branches of their own, each in its line")
	case o.from == "" && o.parallel != 0:
		return errors.New("--parallel is for --from: a bead has one agent at a time")
	case o.parallel < 0:
		return fmt.Errorf("--parallel %d: want 0 or more", o.parallel)
	case o.tmux && o.headless:
		return errors.New("--tmux and --headless exclude each other")
	case slices.ContainsFunc(o.verify, func(c string) bool { return strings.TrimSpace(c) == "" }):
		return errors.New("--verify: found nothing, want a shell command such as 'go test ./...'")
	case o.policy != "" && !slices.Contains([]plan.QuestionPolicy{plan.Ask, plan.Rules, plan.Deny, plan.Allow}, plan.QuestionPolicy(o.policy)):
		return fmt.Errorf("--questions %q: want ask, rules, deny or allow", o.policy)
	}
	if len(args) > 0 {
		return ledger.CheckBead(args[0])
	}
	return nil
}

// plan returns the plan to run. It has one task for each bead. The command's flags and the prompt
// templates are already applied to the tasks.
func (o *options) plan(ctx context.Context, e *env.Env, args []string) (plan.Plan, error) {
	c, err := e.Config()
	if err != nil {
		return plan.Plan{}, err
	}
	root, err := e.Project()
	if err != nil {
		return plan.Plan{}, err
	}
	custom := slices.Sorted(maps.Keys(c.Agents()))
	s, err := o.settings(e, root.Root, custom)
	if err != nil {
		return plan.Plan{}, err
	}
	p, err := o.beads(ctx, e, root.Root, args, custom)
	if err != nil {
		return p, err
	}
	return dispatch.Plan(p, s, func(name string) (prompt.Template, error) {
		return prompt.Load(filepath.Join(root.Root, "templates"), name)
	})
}

// beads returns a plan with one task for each bead. The beads come from the file in --from. Without
// --from, the command's arguments describe a single bead.
func (o *options) beads(ctx context.Context, e *env.Env, root string, args, custom []string) (plan.Plan, error) {
	if o.from != "" {
		p, err := plan.Load(host.OS(), o.from, plan.Options{Dir: e.Dir, Root: root, Format: plan.Beads, Agents: custom})
		if err != nil {
			return p, err
		}
		p.Parallel = o.parallel
		for _, w := range p.Warnings {
			e.Talk("%s: %s", e.Paint(e.Err, display.Yellow, "warning"), display.Printable(w.String()))
		}
		return p, nil
	}
	text, err := promptOf(ctx, e, args)
	if err != nil {
		return plan.Plan{}, err
	}
	return plan.Plan{Name: args[0], Format: plan.PromptText, OnFailure: plan.Continue, Tasks: []plan.Task{dispatch.BeadTask(args[0], text)}}, nil
}

// maxPrompt is the maximum length of a prompt, in bytes.
const maxPrompt = 1 << 20

// promptOf returns the prompt: the second argument or, if that is "-", the text from stdin. Without
// a second argument it returns "".
func promptOf(ctx context.Context, e *env.Env, args []string) (string, error) {
	if len(args) < 2 {
		return "", nil
	}
	text := args[1]
	if text == "-" {
		data, err := e.ReadIn(ctx, maxPrompt+1)
		if err != nil {
			return "", fmt.Errorf("read the prompt: %w", err)
		}
		text = string(data)
	}
	switch {
	case len(text) > maxPrompt:
		return "", exit.Usage(fmt.Errorf("the prompt has more than %d MiB", maxPrompt>>20))
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return "", exit.Usage(errors.New("the prompt is not text"))
	}
	return text, nil
}

func (o *options) settings(e *env.Env, root string, custom []string) (dispatch.Settings, error) {
	s := dispatch.Settings{
		Template: o.template, Branch: o.branch, Verify: o.verify, Questions: plan.QuestionPolicy(o.policy),
		Timeout: o.timeout.value, Retries: o.retries.value,
	}
	s.Agent, s.Model = dispatch.SplitAgent(o.agent)
	if err := dispatch.CheckAgent(s.Agent, custom); err != nil {
		return s, fmt.Errorf("--agent: %w", err)
	}
	for _, v := range o.vars {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return s, exit.Usage(fmt.Errorf("--var %q: want NAME=VALUE", v))
		}
		if s.Vars == nil {
			s.Vars = map[string]string{}
		}
		s.Vars[name] = value
	}
	if o.repo == "" {
		s.Repo = root
		return s, nil
	}
	s.Repo = o.repo
	if !filepath.IsAbs(s.Repo) {
		s.Repo = filepath.Join(e.Dir, s.Repo)
	}
	if info, err := os.Stat(s.Repo); err != nil || !info.IsDir() {
		return s, exit.NotFound(fmt.Errorf("--repo %s: no folder is there", o.repo))
	}
	return s, nil
}

func run(ctx context.Context, t *runview.View, p plan.Plan, o options) error {
	d := beadrun.Request{Plan: p, Force: o.force}
	switch {
	case o.tmux:
		d.Terminal = beadrun.RequireTmux
	case o.headless:
		d.Terminal = beadrun.Headless
	}
	id, err := t.App.Beads.Dispatch(ctx, d)
	if held := (*engine.BeadHeldError)(nil); errors.As(err, &held) {
		return exit.WithHint(err, fmt.Sprintf("'gaffer attach %s' shows it, 'gaffer resume %s' continues it, --force ends it first", held.Bead, held.By.Run))
	}
	if err != nil {
		return err
	}
	if o.detach {
		return t.Detach(ctx, id, *o.json)
	}
	return t.Work(ctx, id, *o.json)
}
