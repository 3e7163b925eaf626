package team

import (
	"context"

	"github.com/spf13/cobra"

	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
)

func archiveCommand(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "archive",
		Short: "Move the session to the archive and print where",
		Long: `Move the documents of the session to a folder of their own below
coordination/archive. Other files stay where they are. A session that a gaffer
works on is refused; the run of one that was left is ended.`,
		Example: "  gaffer team archive",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := Open(e)
			if err != nil {
				return err
			}
			if err := endRun(cmd.Context(), e); err != nil {
				return err
			}
			folder, err := s.Archive(cmd.Context())
			if err != nil {
				return withTeamHint(err)
			}
			return e.Printf("%s\n", folder)
		},
	}
}

// endRun ends the run of the current team session, if there is one, so that the session can be
// archived. It returns an error if a gaffer process works on the run.
func endRun(ctx context.Context, e *env.Env) error {
	return openfleet.WithApp(ctx, e, func(a *app.App) error { return a.Teams.End(ctx) })
}
