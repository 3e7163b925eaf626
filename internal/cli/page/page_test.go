package page

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/cookiejar"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gaffer/coordinator"
	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/connect/localservers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// begin opens gaffer and its page in an empty project.
func begin(t *testing.T) (*env.Env, *app.App, *Page) {
	t.Helper()
	dir := t.TempDir()
	vars := map[string]string{"GAFFER_PROJECT": dir, "XDG_STATE_HOME": filepath.Join(dir, "state"), "HOME": dir}
	e := &env.Env{Out: new(bytes.Buffer), Err: new(bytes.Buffer), Dir: dir, Now: time.Now, Getenv: func(name string) string { return vars[name] }}
	a, err := openfleet.OpenApp(t.Context(), e, func(text string) { t.Log(text) })
	if err != nil {
		t.Fatal(err)
	}
	p, err := Open(t.Context(), e, a, "r1", func(text string) { t.Error(text) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(p.Close(), a.Close()); err != nil {
			t.Error(err)
		}
	})
	return e, a, p
}

func notes(t *testing.T, e *env.Env) []localservers.Server {
	t.Helper()
	state, err := e.StateDir()
	if err != nil {
		t.Fatal(err)
	}
	list, err := localservers.List(state)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func status(t *testing.T, c *http.Client, method, url, token string) int {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := c.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

func TestALinkLogsABrowserInAndOpenFindsThePage(t *testing.T) {
	e, _, p := begin(t)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer browser.CloseIdleConnections()
	if got := status(t, browser, "GET", p.URL+"/v1/runs", ""); got != 401 || p.Visited() {
		t.Errorf("before: %d, visited %v", got, p.Visited())
	}
	link, err := p.Link(RunFragment("r1"))
	if err != nil {
		t.Fatal(err)
	}
	if got := status(t, browser, "GET", link, ""); got != 303 || !p.Visited() {
		t.Errorf("the link: %d, visited %v", got, p.Visited())
	}
	if got := status(t, browser, "GET", p.URL+"/v1/runs", ""); got != 200 {
		t.Errorf("with the cookie: %d", got)
	}
	list := notes(t, e)
	if len(list) != 1 || list[0].URL != p.URL || list[0].Run != "r1" || list[0].Project != e.Dir {
		t.Fatalf("%+v", list)
	}
	client, err := coordinator.New(p.URL, coordinator.Options{Token: list[0].Token, Now: e.Now})
	if err != nil {
		t.Fatal(err)
	}
	if l, err := client.Login(t.Context()); err != nil || l.Path == "" || !l.Expires.After(e.Now()) {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestAPageHasNoWorkForWorkersAndNoTokensOfItsOwnInTheDatabase(t *testing.T) {
	e, a, p := begin(t)
	token := notes(t, e)[0].Token
	client := &http.Client{}
	defer client.CloseIdleConnections()
	if got := status(t, client, "POST", p.URL+"/v1/work/beat", token); got < 400 || got == 401 {
		t.Errorf("a worker's beat: %d", got)
	}
	c, err := a.ServeRun()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if rows, err := c.Protocol.Tokens().List(t.Context()); err != nil || len(rows) != 0 {
		t.Errorf("%+v, %v", rows, err)
	}
	if got := status(t, client, "POST", p.URL+"/v1/tokens", token); got != 403 {
		t.Errorf("a token from a page: %d", got)
	}
}

func TestAClosedPageIsNotFound(t *testing.T) {
	dir := t.TempDir()
	e := &env.Env{Dir: dir, Now: time.Now, Getenv: func(name string) string { return map[string]string{"GAFFER_PROJECT": dir, "HOME": dir}[name] }}
	a, err := openfleet.OpenApp(t.Context(), e, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Open(t.Context(), e, a, "", func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Close(), a.Close()); err != nil {
		t.Error(err)
	}
	if list := notes(t, e); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	if res, err := http.Get(p.URL); err == nil {
		_ = res.Body.Close()
		t.Error("it still answers")
	}
}

func TestALinkIsPrintedOnlyToATerminal(t *testing.T) {
	e := &env.Env{Out: new(bytes.Buffer), Err: new(bytes.Buffer), Getenv: func(string) string { return "" }}
	if MayOpenBrowser(e) {
		t.Error("a browser would be opened for a program")
	}
	OpenOrPrint(t.Context(), e, "http://a", "http://a/login?code=x", true, "gaffer open")
	if got := e.Err.(*bytes.Buffer).String(); got != "the dashboard is at http://a; 'gaffer open' lets a browser in\n" {
		t.Errorf("%q", got)
	}
}
