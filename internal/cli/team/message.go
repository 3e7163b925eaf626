package team

import (
	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
)

func messageCommand(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "message",
		Short: "Send, list and acknowledge messages",
		Long: `Messages go from developer to qa_expert, from qa_expert to tech_lead and from
tech_lead to developer.`,
		Example: `  gaffer team message list --unread
  gaffer team message ack msg_20250106_100800`,
	}
	cmd.AddCommand(sendCommand(e), listCommand(e), ackCommand(e))
	return cmd
}
