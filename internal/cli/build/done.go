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
		Long: `Mark CHUNK of the build in .fctry/state.json as completed. This is for a chunk
that waits for the user, such as one with the status awaiting-user. 'gaffer build
resume' then builds the chunks that depend on it. A chunk that gaffer itself
builds cannot be marked.`,
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
