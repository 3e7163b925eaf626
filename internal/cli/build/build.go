// Package build implements the command 'gaffer build'. The command builds a plan that is divided
// into chunks: parts of the work, each for one agent. It checks each chunk, and can continue after
// an interruption.
package build

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gaffer/internal/app"
	"gaffer/internal/attempt/preflight"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/runview"
	"gaffer/internal/exit"
	"gaffer/internal/flow/build"
	"gaffer/internal/flow/buildrun"
	"gaffer/internal/flow/dispatch"
	"gaffer/internal/flow/newrun"
	"gaffer/internal/plan"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/workflow"
)

const long = `Build the chunks of PLAN, a YAML or JSON file. Each chunk has its own agent. It
starts after the chunks that it depends on, and is checked when its agent
reports that it is done. The build and a feed of events are stored in
.fctry/state.json after every change, so that 'gaffer build resume' can continue
it.

A chunk that fails is retried. If it fails for good, the chunks that depend on
it are not built, all others are, and the build ends as partial. Checks are
shell commands, files that must exist, pages that must answer or show a text,
and screenshots. Each check has one retry. Without a browser, checks of pages
cover only what HTTP shows, and the feed says so.

An incomplete build is never replaced without your decision, not even with
--yes: the choices are printed, and --fresh is one of them. A replaced build run
is kept in .fctry/builds.`

const example = `  gaffer build chunks.yaml
  gaffer build chunks.yaml --agent claude --parallel 2 --detach
  gaffer build status
  gaffer build resume --rebuild 2 --keep 3`

// options holds the values of the command's flags.
type options struct {
	agent, model string
	questions    string
	parallel     int
	fresh, skip  bool
	yes, detach  bool
	open, json   *bool
}

// New creates the command 'gaffer build' and its subcommands.
func New(e *env.Env) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:                   "build PLAN",
		DisableFlagsInUseLine: true,
		Short:                 "Build a project in chunks that are checked and kept",
		Long:                  long,
		Example:               example,
		Args:                  cobra.ExactArgs(1),
	}
	flags := cmd.Flags()
	e.SandboxFlag(cmd)
	flags.SortFlags = false
	flags.StringVar(&o.agent, "agent", "", "agent for chunks that name none: `NAME`, such as claude")
	flags.StringVar(&o.model, "model", "", "model for chunks that name none: `NAME`")
	flags.IntVar(&o.parallel, "parallel", 0, "build `N` chunks at once; without it, as many as the plan says, or 1")
	flags.StringVar(&o.questions, "questions", "", "questions that no rule answers: `ask`, rules (deny them),\nallow or deny")
	flags.BoolVar(&o.fresh, "fresh", false, "replace an incomplete build, and keep it in .fctry/builds")
	flags.BoolVar(&o.skip, "skip", false, "build although earlier steps of the workflow are not complete")
	flags.BoolVar(&o.yes, "yes", false, "approve the plan without being asked")
	flags.BoolVar(&o.detach, "detach", false, "print the run's id and let it run in the background")
	o.open = runview.ShowFlag(cmd)
	o.json = env.JSONFlag(cmd)
	// Ignore the error: only a wrong call, such as one for an undeclared flag, can fail.
	_ = cmd.RegisterFlagCompletionFunc("questions", cobra.FixedCompletions(newrun.Questions(), cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := runview.CheckFlags(e, *o.open, o.detach, false); err != nil {
			return err
		}
		p, err := o.read(e, args[0])
		if err != nil {
			return err
		}
		err = runview.CheckReady(cmd.Context(), e, args[0], *o.json, func(ctx context.Context, opts app.Options) ([]preflight.Problem, error) {
			return app.PreflightBuild(ctx, opts, p)
		})
		if err != nil {
			return err
		}
		return runview.With(cmd.Context(), e, func(t *runview.View) error { return o.run(cmd.Context(), e, t, p) })
	}
	cmd.AddCommand(newResume(e), newStatus(e), newDone(e))
	return cmd
}

// check returns an error if the value of a flag is not valid: a negative number of chunks to build
// in parallel, an unknown agent, or an unknown policy for the agents' questions.
func (o options) check(custom []string) error {
	if err := newrun.CheckQuestions(o.questions); err != nil {
		return err
	}
	if o.parallel < 0 {
		return fmt.Errorf("--parallel %d: want 0 or more", o.parallel)
	}
	if o.agent == "" {
		return nil
	}
	if err := dispatch.CheckAgent(o.agent, custom); err != nil {
		return fmt.Errorf("--agent: %w", err)
	}
	return nil
}

// read reads a build plan from a file and applies the command's flags to it. If the plan names an
// agent or a model, the flags --agent and --model do not override them.
func (o options) read(e *env.Env, name string) (build.Plan, error) {
	c, err := e.Config()
	if err != nil {
		return build.Plan{}, err
	}
	custom := slices.Sorted(maps.Keys(c.Agents()))
	if err := o.check(custom); err != nil {
		return build.Plan{}, exit.Usage(err)
	}
	file := name
	if !filepath.IsAbs(file) {
		file = filepath.Join(e.Dir, file)
	}
	data, err := statefile.ReadBytes(host.OS(), file)
	if err != nil {
		return build.Plan{}, err
	}
	p, err := build.Read(name, data, custom)
	if problems, ok := errors.AsType[plan.Problems](err); ok {
		return p, runview.Refuse(e, name, problems, *o.json)
	}
	if o.agent != "" && p.Agent == "" {
		p.Agent = o.agent
	}
	if o.model != "" && p.Model == "" {
		p.Model = o.model
	}
	if o.parallel > 0 {
		p.Parallel = o.parallel
	}
	if o.questions != "" {
		p.Questions = o.questions
	}
	return p, err
}

func (o options) run(ctx context.Context, e *env.Env, t *runview.View, p build.Plan) error {
	if !o.yes && e.Interactive() {
		e.Talk("%s", display.PrintableLines(outline(p)))
		if choice, err := choose(ctx, e, "(1) Build this plan (recommended)\n(2) Cancel", 2); choice != 1 {
			return err
		}
	}
	n := buildrun.Request{Plan: p, Fresh: o.fresh, Skip: o.skip}
	id, err := t.App.Builds.Start(ctx, n)
	if missing := (*workflow.PrerequisiteError)(nil); errors.As(err, &missing) && e.Interactive() {
		e.Talk("%s", missing)
		choice, interrupted := choose(ctx, e, "", 3)
		switch {
		case interrupted != nil:
			return interrupted
		case choice != workflow.Skip:
			return err
		}
		n.Skip = true
		id, err = t.App.Builds.Start(ctx, n)
	}
	if found := (*buildrun.IncompleteError)(nil); errors.As(err, &found) {
		return o.askAboutIncomplete(ctx, e, t, n, found)
	}
	if err != nil {
		return err
	}
	return o.work(ctx, t, id)
}

func (o options) work(ctx context.Context, t *runview.View, id string) error {
	if o.detach {
		return t.Detach(ctx, id, *o.json)
	}
	t.Show = *o.open
	return t.Work(ctx, id, *o.json)
}

// askAboutIncomplete asks the user whether to resume an incomplete build, to replace it or to do
// nothing, and does what the user chooses. Without a terminal it cannot ask. It then returns the
// [*buildrun.IncompleteError] with a hint.
func (o options) askAboutIncomplete(ctx context.Context, e *env.Env, t *runview.View, n buildrun.Request, found *buildrun.IncompleteError) error {
	if !e.Interactive() {
		return exit.WithHint(found, "'gaffer build resume' goes on with it, --fresh replaces it and keeps it in .fctry/builds")
	}
	e.Talk("%s", display.PrintableLines(found.Found.Resume.Text(e.Now())))
	choice, err := choose(ctx, e, "", 3)
	switch choice {
	case 1:
		r := resume{options: o}
		return r.run(ctx, e, t, true)
	case 2:
		n.Fresh = true
		id, err := t.App.Builds.Start(ctx, n)
		if err != nil {
			return err
		}
		return o.work(ctx, t, id)
	}
	return err
}

// outline describes a plan, so that the user can decide whether to approve it.
func outline(p build.Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:\n", phrase.Count(len(p.Chunks), "chunk"))
	for _, c := range p.Chunks {
		fmt.Fprintf(&b, "  Chunk %s: %s", c.ID, c.Name)
		if len(c.Sections) > 0 {
			fmt.Fprintf(&b, " %s", strings.Join(c.Sections, " "))
		}
		if len(c.DependsOn) > 0 {
			fmt.Fprintf(&b, " (after %s)", joined(c.DependsOn))
		}
		if len(c.Verify) == 0 {
			b.WriteString(", not checked")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func joined(ids []build.ID) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = string(id)
	}
	return strings.Join(texts, ", ")
}
