package step

import (
	"errors"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/cli/state"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

func beginCommand(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "begin STEP",
		Short: "Begin a step, if what it needs is complete",
		Long: `Begin a step, if the steps it needs are complete.

If one is missing, a person at a terminal chooses: run the missing step first,
skip it, or abort the command. Elsewhere the choices are shown and the code is
4; --skip makes the second choice.`,
		Example:   "  gaffer step begin interviewer\n  gaffer step begin interviewer --skip",
		Args:      cobra.ExactArgs(1),
		ValidArgs: names(),
	}
	skip := cmd.Flags().Bool("skip", false, "go on although a step it needs is missing")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := state.Open(e)
		if err != nil {
			return err
		}
		begin := func(step workflow.Step, skip bool) error {
			return s.Update(cmd.Context(), func(root *jsontree.Node) error { return workflow.BeginStep(root, step, skip) })
		}
		err = begin(workflow.Step(args[0]), *skip)
		missing, ok := errors.AsType[*workflow.PrerequisiteError](err)
		if !ok || !env.IsTerminal(e.In) {
			return err
		}
		switch ask(e.In, e.Err, missing) {
		case workflow.RunMissing:
			e.Talk("%s comes first: run it, then 'gaffer step done %s'", missing.Next.Agent(), missing.Next)
			return begin(missing.Next, false)
		case workflow.Skip:
			return begin(missing.Step, true)
		}
		return abort(cmd, s, missing)
	}
	return cmd
}

// abort ends the command that the step belongs to, and says no.
func abort(cmd *cobra.Command, s *workflow.Store, missing *workflow.PrerequisiteError) error {
	if missing.Command != "" {
		if err := s.Update(cmd.Context(), workflow.EndCommand); err != nil {
			return err
		}
	}
	return &aborted{missing}
}

// aborted is a person's choice not to go on.
type aborted struct{ missing *workflow.PrerequisiteError }

func (a *aborted) Error() string { return "step " + string(a.missing.Step) + ": aborted" }

// Conflict gives it the code of the refusal that it follows.
func (a *aborted) Conflict() bool { return true }
