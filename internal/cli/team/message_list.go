package team

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/cli/table"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
	"gaffer/team"
)

func listCommand(e *env.Env) *cobra.Command {
	var to, group string
	var unread bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List messages, the oldest first",
		Example: `  gaffer team message list --to qa_expert --unread
  gaffer team message list --group A --json | jq '.[].subject'`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&to, "to", "", "only those to this `ROLE`")
	cmd.Flags().StringVar(&group, "group", "", "only those about the group `ID`")
	cmd.Flags().BoolVar(&unread, "unread", false, "only unread ones")
	_ = cmd.RegisterFlagCompletionFunc("to", completeRoles) // cannot fail: the flag exists and has no completions yet
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := checkReceiver(to); err != nil {
			return err
		}
		s, err := Open(e)
		if err != nil {
			return err
		}
		messages, err := s.Messages(cmd.Context(), team.Filter{To: team.Role(to), Group: group, Unread: unread})
		if err != nil {
			return err
		}
		if *asJSON {
			return e.PrintJSON(team.List[team.Message](messages))
		}
		return printMessages(e, messages)
	}
	return cmd
}

// checkReceiver returns an error if role is not a role that receives messages. An empty role is
// valid. Without this check, a misspelt role would look like an empty inbox.
func checkReceiver(role string) error {
	roles, _ := completeRoles(nil, nil, "")
	if role == "" || slices.Contains(roles, role) {
		return nil
	}
	return exit.Usage(fmt.Errorf("--to %q: want one of %v", role, roles))
}

func printMessages(e *env.Env, messages []team.Message) error {
	if len(messages) == 0 {
		e.Talk("no messages")
		return nil
	}
	rows := [][]string{{"", "ID", "FROM", "TO", "GROUP", "SUBJECT"}}
	for _, m := range messages {
		mark := "*"
		if m.Read {
			mark = ""
		}
		row := []string{mark, m.ID, string(m.From), string(m.To), m.GroupID, m.Subject}
		for i := range row {
			row[i] = display.Printable(row[i])
		}
		rows = append(rows, row)
	}
	return table.Texts(e, rows)
}
