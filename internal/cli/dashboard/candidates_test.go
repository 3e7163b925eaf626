package dashboard

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/internal/cli/env"
	"gaffer/internal/connect/localservers"
	"gaffer/internal/exit"
)

func TestTheServerOfThisProjectsRunComesFirst(t *testing.T) {
	const root = "/p"
	list := orderServers([]localservers.Server{
		{URL: "http://127.0.0.1:1", Project: "/other", Run: "r1", Token: "t1"},
		{URL: "http://127.0.0.1:2", Project: "/other"},
		{URL: "http://127.0.0.1:3", Project: root, Run: "r3", Token: "t3"},
		{URL: "http://127.0.0.1:4", Project: root, Run: "r4", Token: "t4"},
	}, root)
	want := []candidate{
		{address: "http://127.0.0.1:3", token: "t3", run: "r3"},
		{address: "http://127.0.0.1:4", token: "t4", run: "r4"},
		{address: "http://127.0.0.1:2"},
		{address: "http://127.0.0.1:1", token: "t1"},
		{address: defaultAddress},
	}
	if diff := cmp.Diff(want, list, cmp.AllowUnexported(candidate{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if list := orderServers([]localservers.Server{{URL: defaultAddress}}, root); len(list) != 1 {
		t.Errorf("the default address twice: %+v", list)
	}
}

func newEnv(t *testing.T, vars map[string]string) *env.Env {
	dir := t.TempDir()
	return &env.Env{Out: new(bytes.Buffer), Err: new(bytes.Buffer), Dir: dir, Now: time.Now, Getenv: func(name string) string {
		switch name {
		case "GAFFER_PROJECT":
			return dir
		case "XDG_STATE_HOME":
			return filepath.Join(dir, "state")
		}
		return vars[name]
	}}
}

// server starts a server that answers requests for a link with this path, or with this error status
// if status is not 0. tokens receives the tokens of the requests.
func server(t *testing.T, path string, status int) (address string, tokens *[]string) {
	tokens = new([]string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*tokens = append(*tokens, r.Header.Get("Authorization"))
		if r.URL.Path != "/v1/login" || status != http.StatusCreated {
			w.WriteHeader(status)
			fmt.Fprint(w, `{"error":{"code":"unauthorized","message":"who are you?"}}`)
			return
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"path":%q,"expires_at":"2026-02-01T14:30:00Z"}`, path)
	}))
	t.Cleanup(s.Close)
	return s.URL, tokens
}

const unreachable = "http://127.0.0.1:1" // no program listens there

func TestTheFirstServerThatAnswersCreatesTheLink(t *testing.T) {
	there, tokens := server(t, "/login?code=x", http.StatusCreated)
	list := []candidate{{address: unreachable, token: "a"}, {address: there, token: "b", run: "r 1"}}
	d, link, err := firstLink(t.Context(), newEnv(t, nil), list, "")
	if want := there + "/login?code=x&to=%23%2Fruns%2Fr%25201"; err != nil || link != want || d.address != there {
		t.Errorf("%s, %v, want %s", link, err, want)
	}
	if diff := cmp.Diff([]string{"Bearer b"}, *tokens); diff != "" {
		t.Errorf("tokens (-want +got)\n%s", diff)
	}
}

func TestTheErrorIsThatOfAServerThatAnswers(t *testing.T) {
	there, _ := server(t, "", http.StatusUnauthorized)
	e := newEnv(t, nil)
	for _, c := range []struct {
		list []candidate
		code exit.Code
		want string
	}{
		{[]candidate{{address: unreachable}}, exit.CodeNotFound, "no server on this machine has the dashboard"},
		{[]candidate{{address: unreachable}, {address: there}}, exit.CodeFailed, "who are you?"},
		{[]candidate{{address: unreachable, named: true}}, exit.CodeFailed, "connection refused"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, _, err := firstLink(ctx, e, c.list, "")
		cancel()
		if err == nil || !strings.Contains(err.Error(), c.want) || exit.Of(err) != c.code {
			t.Errorf("%+v: %v (%d), want %s (%d)", c.list, err, exit.Of(err), c.want, c.code)
		}
	}
}

func TestSecurityALinkToAnotherSiteIsRefused(t *testing.T) {
	for _, path := range []string{"@evil.example/", "//evil.example/login?code=x", "http://evil.example/login?code=x", ".evil.example/", ""} {
		there, _ := server(t, path, http.StatusCreated)
		_, link, err := firstLink(t.Context(), newEnv(t, nil), []candidate{{address: there, named: true}}, "")
		if err == nil {
			t.Errorf("%q: %s", path, link)
		}
	}
}

func TestWithoutABrowserTheLinkIsNotPrintedToAFile(t *testing.T) {
	there, _ := server(t, "/login?code=x", http.StatusCreated)
	e := newEnv(t, map[string]string{"GAFFER_SERVER": there})
	if err := run(t.Context(), e, "", false); err != nil {
		t.Fatal(err)
	}
	if printed := fmt.Sprint(e.Out, e.Err); strings.Contains(printed, "code=") || !strings.Contains(printed, "'gaffer open --print' lets a browser in") {
		t.Errorf("printed: %s", printed)
	}
	if err := run(t.Context(), e, "", true); err != nil || fmt.Sprint(e.Out) != there+"/login?code=x\n" {
		t.Errorf("printed: %s, %v", e.Out, err)
	}
}

func TestTheBrowserIsOpened(t *testing.T) {
	there, _ := server(t, "/login?code=x", http.StatusCreated)
	script := filepath.Join(t.TempDir(), "browser")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nprintf %s \"$1\" >> \"$0.url\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{"GAFFER_SERVER": there, "BROWSER": script}
	if err := run(t.Context(), newEnv(t, vars), "", false); err != nil {
		t.Fatal(err)
	}
	vars["CI"] = "1"
	if err := run(t.Context(), newEnv(t, vars), "", false); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(script + ".url"); err != nil || string(got) != there+"/login?code=x" {
		t.Errorf("opened %q, %v", got, err)
	}
}
