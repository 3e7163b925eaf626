package step

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/cli/state"
	"gaffer/internal/text/display"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

func beginCommand(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "begin STEP",
		Short: "Begin a step, if its prerequisites are complete",
		Long: `Begin a step, if the steps that it requires are complete.

If one is missing, the user at a terminal chooses: run the missing step first,
skip it, or abort the command. Without a terminal the choices are printed and the
exit code is 4. --run, --skip and --abort choose beforehand; they have no effect
if nothing is missing.`,
		Example: `  gaffer step begin interviewer
  gaffer step begin interviewer --skip`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: names(),
	}
	flags := map[int]*bool{
		workflow.RunMissing: cmd.Flags().Bool("run", false, "begin the missing step that can run now instead"),
		workflow.Skip:       cmd.Flags().Bool("skip", false, "go on although a step it needs is missing"),
		workflow.Abort:      cmd.Flags().Bool("abort", false, "end the command if a step it needs is missing"),
	}
	cmd.MarkFlagsMutuallyExclusive("run", "skip", "abort")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := state.Open(e)
		if err != nil {
			return err
		}
		err = s.Update(cmd.Context(), func(root *jsontree.Node) error {
			return workflow.BeginStep(root, workflow.Step(args[0]), false)
		})
		missing, ok := errors.AsType[*workflow.PrerequisiteError](err)
		if !ok {
			return err
		}
		choice, err := choose(cmd.Context(), e, missing, flags)
		if err != nil {
			return err
		}
		return carryOut(cmd.Context(), e, s, missing, choice)
	}
	return cmd
}

// choose returns how to continue if a prerequisite of a workflow step is missing: run the missing
// step, skip it, or abort. The choice comes from a flag or, if no flag was given, from the user at
// the terminal. If there is neither a flag nor a terminal, choose returns the parameter missing as
// the error.
func choose(ctx context.Context, e *env.Env, missing *workflow.PrerequisiteError, flags map[int]*bool) (int, error) {
	for choice, set := range flags {
		if *set {
			return choice, nil
		}
	}
	if !display.IsTerminal(e.In) {
		return 0, missing
	}
	return ask(ctx, e.In, e.Err, missing)
}

// carryOut changes the workflow's state according to the user's choice. For the choice
// workflow.RunMissing it also prints which step to run, and for workflow.Abort it returns an error.
func carryOut(ctx context.Context, e *env.Env, s *workflow.Store, missing *workflow.PrerequisiteError, choice int) error {
	err := s.Update(ctx, func(root *jsontree.Node) error { return missing.Choose(root, choice) })
	switch {
	case err != nil:
		return err
	case choice == workflow.RunMissing:
		e.Talk("%s comes first: run it, then 'gaffer step done %s'", missing.Next.Agent(), missing.Next)
	case choice == workflow.Abort:
		return &abortedError{missing}
	}
	return nil
}

// abortedError is the error of carryOut if the user has chosen to abort.
type abortedError struct{ missing *workflow.PrerequisiteError }

func (a *abortedError) Error() string { return "step " + string(a.missing.Step) + ": aborted" }

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (a *abortedError) Conflict() bool { return true }
