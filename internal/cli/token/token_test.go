package token

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"gaffer/internal/api/credential"
	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/page"
	"gaffer/internal/exit"
)

// rows stores tokens in memory.
type rows map[string]credential.Token

func (r rows) List(context.Context) (list []credential.Token, _ error) {
	for _, row := range r {
		list = append(list, row)
	}
	return list, nil
}

func (r rows) Put(_ context.Context, row credential.Token) error      { r[row.ID] = row; return nil }
func (r rows) Drop(_ context.Context, id string) error                { delete(r, id); return nil }
func (r rows) Touch(_ context.Context, id string, at time.Time) error { return nil }

// run runs 'gaffer token' with this store of tokens and returns its output.
func run(t *testing.T, tokens rows, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, talk bytes.Buffer
	e := &env.Env{Out: &out, Err: &talk, Getenv: func(string) string { return "" }, Dir: t.TempDir(), Now: time.Now}
	cmd := newWith(e, func(context.Context, app.ServerOptions) (page.Backend, error) {
		return page.Backend{Tokens: tokens, Close: func() error { return nil }}, nil
	})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(t.Context())
	return out.String(), talk.String(), err
}

func TestATokenIsMadeListedAndRevoked(t *testing.T) {
	kept := rows{}
	out, talk, err := run(t, kept, "create", "--role", "worker", "--name", "build-1")
	if err != nil || !strings.HasPrefix(out, "gft_") || strings.Count(out, "\n") != 1 || strings.Contains(talk, out[4:20]) {
		t.Fatalf("%q, %q, %v", out, talk, err)
	}
	list, _, err := run(t, kept, "list")
	if err != nil || !strings.Contains(list, "build-1") || !strings.Contains(list, "worker") || strings.Contains(list, "gft_") {
		t.Errorf("%s, %v", list, err)
	}
	asJSON, _, err := run(t, kept, "list", "--json")
	var all []struct{ ID, Name, Hash string }
	if err != nil || json.Unmarshal([]byte(asJSON), &all) != nil || len(all) != 1 || all[0].Name != "build-1" || all[0].Hash != "" {
		t.Errorf("%s, %v", asJSON, err)
	}
	if _, _, err := run(t, kept, "revoke", "build-1"); err != nil || len(kept) != 0 {
		t.Errorf("%v, %v", err, kept)
	}
	if out, talk, err := run(t, kept, "list"); err != nil || out != "" || talk == "" {
		t.Errorf("of none: %q, %q, %v", out, talk, err)
	}
	if out, _, err := run(t, kept, "list", "--json"); err != nil || out != "[]\n" {
		t.Errorf("of none: %q, %v", out, err)
	}
}

func TestMistakesEndWithTheirCodes(t *testing.T) {
	kept := rows{}
	for _, name := range []string{"twice", "twice"} {
		if _, _, err := run(t, kept, "create", "--role", "viewer", "--name", name); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]exit.Code{
		"create":                      exit.CodeUsage,
		"create --role viewer":        exit.CodeUsage,
		"create --role root --name n": exit.CodeUsage,
		"revoke nobody":               exit.CodeNotFound,
		"revoke twice":                exit.CodeConflict,
	} {
		if _, _, err := run(t, kept, strings.Fields(args)...); exit.Of(err) != want {
			t.Errorf("%s: %v ends with %s, want %s", args, err, exit.Of(err), want)
		}
	}
}
