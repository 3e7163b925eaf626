package server

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"gaffer/internal/api/credential"
)

func TestSecurityAReplayedOneTimeLink(t *testing.T) {
	w := start(t, nil)
	path, err := w.server.LoginPath()
	if err != nil {
		t.Fatal(err)
	}
	w.wants("HEAD does not use it", w.ask("", "HEAD", path, ""), 405, "no JSON: ")
	got := w.ask("", "GET", path, "")
	cookie := got.header.Get("Set-Cookie")
	if got.status != 303 || got.header.Get("Location") != "/" || !strings.Contains(cookie, "HttpOnly") ||
		!strings.Contains(cookie, "SameSite=Strict") || !strings.Contains(cookie, "Path=/") || strings.Contains(cookie, "Domain") {
		t.Errorf("%d %v", got.status, got.header)
	}
	got = w.ask("", "GET", path, "")
	w.wants("again", got, 401, "unauthorized")
	if got.header.Get("Set-Cookie") != "" {
		t.Error("a second cookie")
	}
}

func TestALinkThatIsTooOldIsRefused(t *testing.T) {
	now := time.Now()
	l := &loginCodes{now: func() time.Time { return now }, random: zeros{}}
	code, _, err := l.add("n", credential.Viewer, "")
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(codeLife)
	if _, ok := l.use(code); ok {
		t.Error("it was good")
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestSecurityAChangeByCookieNeedsThePagesOwnOrigin(t *testing.T) {
	w := start(t, nil)
	link := w.ask(credential.Operator, "POST", "/v1/login", "")
	path, _ := link.field("path").(string)
	set := w.ask("", "GET", path, "").header.Get("Set-Cookie")
	cookie, _, _ := strings.Cut(set, ";")
	ask := func(method, path, name, value string) reply {
		q := w.request(method, path, `{"title":"x"}`)
		q.Header.Set("Cookie", cookie)
		if name != "" {
			q.Header.Set(name, value)
		}
		return w.do(q)
	}
	for _, step := range []struct {
		method, path, name, value string
		status                    int
		code                      string
	}{
		{"GET", "/v1/tasks", "", "", 200, ""},
		{"POST", "/v1/tasks", "", "", 403, "forgery"},
		{"POST", "/v1/tasks", "Origin", "https://evil.example", 403, "foreign_origin"},
		{"POST", "/v1/tasks", "Sec-Fetch-Site", "cross-site", 403, "forgery"},
		{"POST", "/v1/tasks", "Sec-Fetch-Site", "same-origin", 201, ""},
		{"POST", "/v1/tasks", "Origin", "http://" + w.addr, 201, ""},
		{"POST", "/v1/tokens", "Origin", "http://" + w.addr, 403, "forbidden"}, // refused, because an operator's browser has only the operator role
		{"POST", "/v1/logout", "Origin", "http://" + w.addr, 200, ""},
		{"GET", "/v1/tasks", "", "", 401, "unauthorized"},
	} {
		w.wants(step.method+" "+step.path+" "+step.value, ask(step.method, step.path, step.name, step.value), step.status, step.code)
	}
}

func TestABrowserIsLoggedOutWhenTheTokenBehindItIsRevoked(t *testing.T) {
	w := start(t, nil)
	path, _ := w.ask(credential.Operator, "POST", "/v1/login", "").field("path").(string)
	cookie, _, _ := strings.Cut(w.ask("", "GET", path, "").header.Get("Set-Cookie"), ";")
	look := func() int {
		q := w.request("GET", "/v1/tasks", "")
		q.Header.Set("Cookie", cookie)
		return w.do(q).status
	}
	if got := look(); got != 200 {
		t.Fatalf("logged in: %d", got)
	}
	if _, err := w.book.Revoke(t.Context(), "the operator"); err != nil {
		t.Fatal(err)
	}
	if got := look(); got != 401 {
		t.Errorf("after that: %d", got)
	}
}

func TestABrowserLandsAtThePlaceThatTheLinkNames(t *testing.T) {
	w := start(t, nil)
	for to, want := range map[string]string{
		"":                            "/",
		"&to=":                        "/",
		"&to=%23/runs/20260201-1":     "/#/runs/20260201-1",
		"&to=%23/":                    "/#/",
		"&to=%23/runs/a/tasks/b%2520": "/#/runs/a/tasks/b%20",
	} {
		path, err := w.server.LoginPath()
		if err != nil {
			t.Fatal(err)
		}
		got := w.ask("", "GET", path+to, "")
		if got.status != 303 || got.header.Get("Location") != want || got.header.Get("Set-Cookie") == "" {
			t.Errorf("%q: %d %v", to, got.status, got.header)
		}
	}
	if !w.server.Visited() {
		t.Error("nobody has logged in")
	}
}

func TestSecurityALinkLeadsNowhereElse(t *testing.T) {
	w := start(t, nil)
	path, err := w.server.LoginPath()
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{
		"https://evil.example", "//evil.example", "/", "/\\evil.example", "/v1/tasks", "runs", "#", "#runs", "#//evil.example", "#/\\evil.example",
		"\\#/", " #/runs", "#/a b", "#/a\r\nSet-Cookie: x=y", "#/a\x00", "#/a#/b", "#/<script>", "#/\u202e", "javascript:alert(1)", "#/" + strings.Repeat("a", 1000),
	} {
		got := w.ask("", "GET", path+"&to="+url.QueryEscape(to), "")
		w.wants(to, got, 400, "invalid_request")
		if got.header.Get("Location") != "" || got.header.Get("Set-Cookie") != "" {
			t.Errorf("%q: %v", to, got.header)
		}
	}
	w.wants("two places", w.ask("", "GET", path+"&to=%23/a&to=https://evil.example", ""), 400, "invalid_request")
	if w.server.Visited() {
		t.Error("somebody has logged in")
	}
	if got := w.ask("", "GET", path, ""); got.status != 303 || got.header.Get("Location") != "/" {
		t.Errorf("the link was used up by what was refused: %d", got.status)
	}
}
