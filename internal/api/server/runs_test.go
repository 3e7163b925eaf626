package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"gaffer/internal/api/credential"
	"gaffer/internal/testkit/testenv"
)

func TestACoordinatorWithoutRunsAnswers404(t *testing.T) {
	w := start(t, nil)
	for _, r := range runRoutes() {
		got := w.ask(credential.Admin, r.method, concrete(r, "x")+"?run=x", `{"text":"y","task":"t"}`)
		w.wants(r.name(), got, 404, "not_found")
	}
}

// Every method but GET changes something, so every such route must refuse viewers.
func TestEveryRouteThatChangesSomethingIsClosedToViewers(t *testing.T) {
	theirs := []string{"POST /v1/login", "POST /v1/logout"} // these change only the viewer's own login
	w := start(t, nil)
	for _, r := range routes() {
		if r.method == http.MethodGet || slices.Contains(theirs, r.name()) {
			continue
		}
		w.wants(r.name(), w.ask(credential.Viewer, r.method, concrete(r, "x"), `{}`), 403, "forbidden")
	}
}

// A worker's token may change only its own agents and attempts.
func TestEveryRouteThatChangesUsersDataIsClosedToWorkers(t *testing.T) {
	theirs := []string{
		"POST /v1/login", "POST /v1/logout", "POST /v1/agents/heartbeat", "PATCH /v1/agents/{id}/channels", "POST /v1/tasks/claim",
		"POST /v1/tasks/assign", "POST /v1/tasks/complete", "POST /v1/tasks/fail", "POST /v1/tasks/inputs/claim", "POST /v1/events",
		"POST /v1/questions", "POST /v1/questions/{id}/withdraw",
	}
	w := start(t, nil)
	for _, r := range routes() {
		if r.method == http.MethodGet || slices.Contains(theirs, r.name()) || strings.HasPrefix(r.path, "/v1/work/") {
			continue
		}
		w.wants(r.name(), w.ask(credential.Worker, r.method, concrete(r, "x"), `{}`), 403, "forbidden")
	}
}

func TestOddBytesInTheFieldsOfRunsAreRefused(t *testing.T) {
	w := start(t, func(o *Options) { o.Runs = noRuns{} })
	fields := map[string][]string{
		"POST /v1/runs": {"project", "on", "key"}, "POST /v1/runs/{id}/cancel": {"task"}, "POST /v1/runs/{id}/retry": {"task"},
	}
	queries := map[string][]string{
		"GET /v1/runs": {"project"}, "GET /v1/runs/find": {"project", "name", "task"}, "GET /v1/questions": {"run"},
		"GET /v1/sessions": {"project"}, "GET /v1/records": {"run"}, "GET /v1/report": {"project", "since", "agent"}, "GET /v1/report/morning": {"since", "tz"},
		"GET /v1/search": {"q"},
	}
	for _, odd := range []func(most int) string{
		func(int) string { return "a\x00b" }, func(int) string { return "a\nb" }, func(int) string { return "a\x1b[31m" }, func(int) string { return "\u202eevil" },
		func(most int) string { return strings.Repeat("x", most+1) },
	} {
		most := func(name string) int {
			if name == "project" { // it may be a path
				return maxProjectPath
			}
			return maxID
		}
		for _, r := range runRoutes() {
			for _, field := range fields[r.name()] {
				w.wants(r.name()+" "+field, w.ask(credential.Admin, r.method, concrete(r, "x"), fieldOf(field, odd(most(field)))), 400, "invalid_request")
			}
			for _, name := range queries[r.name()] {
				w.wants(r.name()+" "+name, w.ask(credential.Admin, r.method, concrete(r, "x")+"?"+queryOf(name, odd(most(name))), ""), 400, "invalid_request")
			}
		}
	}
	for _, path := range []string{"..%2fx", "%2e%2e", "a%2fb", "..%5cx"} {
		for _, r := range runRoutes() {
			if !strings.Contains(r.path, "{") {
				continue
			}
			got := w.ask(credential.Admin, r.method, strings.NewReplacer("{id}", path, "{name}", path).Replace(r.path), `{"text":"y","task":"t"}`)
			if got.status != 400 && got.status != 404 {
				t.Errorf("%s with %s: %d %s", r.name(), path, got.status, got.body)
			}
		}
	}
}

// noRuns panics when one of its methods is called: a rejected request must never reach it.
type noRuns struct{ unasked }

type unasked = Runs

// halfRuns returns records that break off with an error after a number of bytes.
type halfRuns struct {
	unasked
	bytes int
	err   error
}

func (r halfRuns) Records(_ context.Context, _ string, to io.Writer) error {
	_, _ = io.WriteString(to, strings.Repeat("x", r.bytes))
	return r.err
}

func TestRecordsThatFailHalfWayAreCut(t *testing.T) {
	broken := errors.New("no power")
	for name, c := range map[string]struct {
		runs halfRuns
		code string // status code that the metrics must count
		cut  bool
	}{
		"before anything was sent": {halfRuns{bytes: 10, err: broken}, "500", false},
		"after a part was sent":    {halfRuns{bytes: 1 << 20, err: broken}, "200", true},
		"not at all":               {halfRuns{bytes: 1 << 20}, "200", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, func(o *Options) { o.Runs = c.runs })
			q := w.request("GET", "/v1/records?run=x", "")
			q.Header.Set("Authorization", "Bearer "+w.tokens[credential.Admin])
			resp, err := w.client.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if _, err := io.Copy(io.Discard, resp.Body); (err != nil) != c.cut {
				t.Errorf("read to the end: %v", err)
			}
			counted := `gaffer_http_requests_total{route="GET /v1/records",code="` + c.code + `"} 1`
			if text := w.ask(credential.Admin, "GET", "/metrics", "").body; !strings.Contains(text, counted) {
				t.Errorf("not counted: %s in\n%s", counted, text)
			}
			testenv.WaitFor(t, "a line for the request", w.log.String, func(text string) bool {
				return strings.Contains(text, `"route":"GET /v1/records","status":`+c.code)
			})
		})
	}
}

func fieldOf(field, value string) string {
	data, err := json.Marshal(map[string]string{field: value, "plan": "x"})
	if err != nil {
		panic(err)
	}
	return string(data)
}

func queryOf(name, value string) string { return url.Values{name: {value}}.Encode() }
