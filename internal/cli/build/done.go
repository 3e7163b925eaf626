package build

import (
	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/cli/runview"
	"gaffer/internal/text/display"
	"gaffer/workflow"
)

func newDone(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "done CHUNK",
		Short: "Mark a chunk done that the user has done",
		Long: `Mark CHUNK of the build in .fctry/state.json completed: one that waits for a
person, such as one that is awaiting-user. 'gaffer build resume' builds what
depends on it. A chunk that gaffer builds is refused.`,
		Example: "  gaffer build done MANUAL && gaffer build resume",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runview.With(cmd.Context(), e, func(t *runview.View) error {
				chunk, err := t.App.Builds.CompleteChunk(cmd.Context(), workflow.ID(args[0]))
				if err != nil {
					return err
				}
				e.Talk("%s is completed", display.Printable(chunk.Label()))
				return nil
			})
		},
	}
}
