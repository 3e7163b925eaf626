package team

import (
	"context"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/text/display"
	"gaffer/team"
)

func ackCommand(e *env.Env) *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:                   "ack ID [--to ROLE]",
		DisableFlagsInUseLine: true,
		Short:                 "Mark a message as read",
		Example:               "  gaffer team message ack msg_20250106_100800",
		Args:                  cobra.ExactArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return unreadIDs(cmd.Context(), e), cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "the `ROLE` whose message it is, if several have one of that id")
	_ = cmd.RegisterFlagCompletionFunc("to", completeRoles) // cannot fail: the flag exists and has no completions yet
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkReceiver(to); err != nil {
			return err
		}
		s, err := Open(e)
		if err != nil {
			return err
		}
		return s.Acknowledge(cmd.Context(), args[0], team.Role(to))
	}
	return cmd
}

// unreadIDs returns the ids of unread messages, for shell completion. After an error it returns
// nil, because a shell prompt cannot show errors.
func unreadIDs(ctx context.Context, e *env.Env) []string {
	s, err := Open(e)
	if err != nil {
		return nil
	}
	messages, err := s.Messages(ctx, team.Filter{Unread: true})
	if err != nil {
		return nil
	}
	var ids []string
	for _, m := range messages {
		ids = append(ids, m.ID+"\t"+display.Printable(m.Subject))
	}
	return ids
}
