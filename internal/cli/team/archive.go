package team

import (
	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
)

func archiveCommand(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "archive",
		Short: "Move the session to the archive and print where",
		Long: `Move the documents of the session to a folder of their own below
coordination/archive. Other files stay where they are.`,
		Example: "  gaffer team archive",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := openTeam(e)
			if err != nil {
				return err
			}
			folder, err := s.Archive(cmd.Context())
			if err != nil {
				return err
			}
			return e.Printf("%s\n", folder)
		},
	}
}
