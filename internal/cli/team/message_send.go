package team

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gaffer/internal/cli/env"
	"gaffer/internal/exit"
	"gaffer/team"
)

type sendOptions struct {
	from, to, group, subject string
	fields                   []string
}

func sendCommand(e *env.Env) *cobra.Command {
	var o sendOptions
	cmd := &cobra.Command{
		Use:                   "send --from ROLE --to ROLE --group ID --subject TEXT [--field KEY=VALUE]…",
		DisableFlagsInUseLine: true,
		Short:                 "Send a message and print its id",
		Long:                  sendLong(),
		Example: `  gaffer team message send --from developer --to qa_expert --group A --subject "Ready for QA" \
    --field status=READY_FOR_QA --field files_modified=auth.py --field files_modified=test_auth.py
  gaffer team message send --from tech_lead --to developer --group A --subject "Review" \
    --field decision=changes_requested --field issues='{"priority":"high","title":"No rate limit"}'`,
		Args: cobra.NoArgs,
	}
	flags := cmd.Flags()
	flags.StringVar(&o.from, "from", "", "the `ROLE` that sends")
	flags.StringVar(&o.to, "to", "", "the `ROLE` that receives")
	flags.StringVar(&o.group, "group", "", "the `ID` of the group that it is about")
	flags.StringVar(&o.subject, "subject", "", "the subject's `TEXT`")
	flags.StringArrayVar(&o.fields, "field", nil, "set a field of the body, `KEY=VALUE`; lists may be given several times")
	for _, name := range []string{"from", "to", "group", "subject"} {
		_ = cmd.MarkFlagRequired(name) // an error is returned only for an undeclared flag
	}
	for _, name := range []string{"from", "to"} {
		_ = cmd.RegisterFlagCompletionFunc(name, completeRoles)
	}
	_ = cmd.RegisterFlagCompletionFunc("field", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return fieldNames(o), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return send(cmd, e, o) }
	return cmd
}

func send(cmd *cobra.Command, e *env.Env, o sendOptions) error {
	var fields []team.Field
	for _, text := range o.fields {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return exit.Usage(fmt.Errorf("--field %q: want KEY=VALUE", text))
		}
		fields = append(fields, team.Field{Name: key, Value: value})
	}
	from, to := team.Role(o.from), team.Role(o.to)
	body, err := team.NewBody(from, to, fields)
	if err != nil {
		return err
	}
	s, err := Open(e)
	if err != nil {
		return err
	}
	m, err := s.Send(cmd.Context(), team.Draft{Group: o.group, From: from, To: to, Subject: o.subject, Body: body})
	if err != nil {
		return err
	}
	return e.Printf("%s\n", m.ID)
}

func sendLong() string {
	var b strings.Builder
	b.WriteString("Send a message and print its id.\n\nFields of the body, where the last part of a name is enough:\n")
	for _, p := range team.Pairs() {
		fmt.Fprintf(&b, "  %s to %s\n", p[0], p[1])
		for _, name := range fieldNames(sendOptions{from: string(p[0]), to: string(p[1])}) {
			fmt.Fprintf(&b, "    %s\n", strings.TrimSuffix(name, "="))
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func fieldNames(o sendOptions) []string {
	names, err := team.BodyFields(team.Role(o.from), team.Role(o.to))
	if err != nil {
		return nil
	}
	for i := range names {
		names[i] += "="
	}
	return names
}

func completeRoles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var roles []string
	for _, p := range team.Pairs() {
		// Each pair consists of a sender and a receiver. It is enough to add the senders, because
		// every role that receives messages also sends messages.
		roles = append(roles, string(p[0]))
	}
	return roles, cobra.ShellCompDirectiveNoFileComp
}
