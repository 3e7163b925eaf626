// Package token implements the command 'gaffer token': it creates, lists and revokes access tokens
// for a gaffer server.
package token

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gaffer/internal/api/credential"
	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/serve"
	"gaffer/internal/cli/table"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
)

// New creates the command 'gaffer token'.
func New(e *env.Env) *cobra.Command { return newWith(e, serve.Open(e)) }

func newWith(e *env.Env, open serve.Opener) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Create, list and revoke access tokens of a coordinator",
		Long: `Create, list and revoke the tokens with which programs and users access a
coordinator. The database stores only their hashes, so a token is shown only
when it is created. A running server notices changes within seconds.

An admin may do everything; an operator all but this: add tasks, answer, cancel;
a worker may take tasks and speak for its own agents; a viewer may look.`,
	}
	cmd.AddCommand(create(e, open), list(e, open), revoke(e, open))
	return cmd
}

// withTokens opens the database with the tokens, calls fn and closes the database.
func withTokens(ctx context.Context, e *env.Env, open serve.Opener, fn func(*credential.TokenStore) error) error {
	b, err := open(ctx, app.ServerOptions{})
	if err != nil {
		return err
	}
	err = fn(credential.NewTokenStore(b.Tokens, e.Now, rand.Reader))
	if closed := b.Close(); err == nil {
		err = closed
	}
	return err
}

func create(e *env.Env, open serve.Opener) *cobra.Command {
	var role, name string
	var limits credential.Limits
	cmd := &cobra.Command{
		Use:                   "create --role ROLE --name NAME [--projects A,B] [--pools A,B]",
		DisableFlagsInUseLine: true,
		Short:                 "Create a token and print it as the last line",
		Example:               "  gaffer token create --role worker --name build-1\n  gaffer token create --role worker --name gpu-1 --projects web --pools gpu\n  TOKEN=$(gaffer token create --role viewer --name wall | tail -n 1)",
		Args:                  cobra.NoArgs,
	}
	cmd.Flags().StringVar(&role, "role", "", "what its holder may do: `ROLE` is "+strings.Join(roles(), ", "))
	cmd.Flags().StringVar(&name, "name", "", "who its holder is; a new token of the same name and role replaces an old one")
	cmd.Flags().StringSliceVar(&limits.Projects, "projects", nil, "a worker's token is good for tasks of these projects alone, `A,B`")
	cmd.Flags().StringSliceVar(&limits.Pools, "pools", nil, "and for tasks that want one of these labels, `A,B`, and no others")
	complete := cobra.FixedCompletions(roles(), cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("role", complete) // cannot fail: the flag exists and has no completions yet
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if name == "" || !slices.Contains(roles(), role) {
			return exit.Usage(fmt.Errorf("a token needs --role, one of %s, and --name", strings.Join(roles(), ", ")))
		}
		if err := e.RefuseAgents("gaffer token create"); err != nil {
			return err
		}
		return withTokens(cmd.Context(), e, open, func(b *credential.TokenStore) error {
			text, row, err := b.Create(cmd.Context(), credential.TokenSpec{Role: credential.Role(role), Name: name, Limits: limits})
			if err != nil {
				return err
			}
			kind, limits := row.Shown()
			only := ""
			if text := limits.Text(); text != "" {
				only = ", limited to " + display.Printable(text)
			}
			e.Talk("token %s of %s %s%s; it is not shown again", row.ID, kind, display.Printable(row.Name), only)
			return e.Printf("%s\n", text)
		})
	}
	return cmd
}

func roles() (all []string) {
	for _, r := range credential.Roles() {
		all = append(all, string(r))
	}
	return all
}

// tokenJSON is the JSON form of a token.
type tokenJSON struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Role credential.Role `json:"role"`
	credential.Limits
	Created time.Time `json:"created_at"`
	Expires time.Time `json:"expires_at,omitzero"`
	Used    time.Time `json:"used_at,omitzero"`
}

func list(e *env.Env, open serve.Opener) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", DisableFlagsInUseLine: true,
		Short:   "List the tokens, without their secrets",
		Example: "  gaffer token list\n  gaffer token list --json | jq -r '.[] | select(.role == \"worker\").id'",
		Args:    cobra.NoArgs,
	}
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return withTokens(cmd.Context(), e, open, func(b *credential.TokenStore) error {
			rows, err := b.List(cmd.Context())
			if err != nil {
				return err
			}
			return show(e, rows, *asJSON)
		})
	}
	return cmd
}

func show(e *env.Env, rows []credential.Token, asJSON bool) error {
	all := []tokenJSON{}
	for _, r := range rows {
		role, limits := r.Shown()
		all = append(all, tokenJSON{r.ID, r.Name, role, limits, r.Created, r.Expires, r.Used})
	}
	if asJSON {
		return e.PrintJSON(all)
	}
	if len(all) == 0 {
		e.Talk("there are no tokens: 'gaffer serve' makes the first one")
		return nil
	}
	cells := [][]table.Cell{table.Row("ID", "Name", "Role", "Limited to", "Made", "Last used")}
	for _, t := range all {
		cells = append(cells, table.Row(t.ID, t.Name, string(t.Role), t.Text(), ago(e, t.Created), ago(e, t.Used)))
	}
	return table.Print(e, cells)
}

func ago(e *env.Env, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return phrase.Elapsed(max(e.Now().Sub(t), 0)) + " ago"
}

func revoke(e *env.Env, open serve.Opener) *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "revoke ID|NAME",
		DisableFlagsInUseLine: true,
		Short:                 "Revoke a token, and log out its browsers",
		Example:               "  gaffer token revoke t1f0c2ab9\n  gaffer token revoke build-1",
		Args:                  cobra.ExactArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := e.RefuseAgents("gaffer token revoke"); err != nil {
			return err
		}
		return withTokens(cmd.Context(), e, open, func(b *credential.TokenStore) error {
			row, err := b.Revoke(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			e.Talk("token %s of %s %s is revoked", row.ID, row.Identity().Role, display.Printable(row.Name))
			return nil
		})
	}
	return cmd
}
