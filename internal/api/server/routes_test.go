package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"gaffer/internal/api/credential"
)

func TestAClientOfTheProtocolGetsItsCodesAndShapes(t *testing.T) {
	w := start(t, nil)
	for _, step := range []struct {
		method, path, body string
		status             int
		want               map[string]any // expected values by dotted name, such as "task.id"
	}{
		{"GET", "/health", "", 200, map[string]any{"ok": true}},
		{"POST", "/v1/agents/heartbeat", `{"agent_id":"","name":"dev","status":"idle"}`, 200, map[string]any{"agent.id": "agent-1", "agent.claude_status": "idle"}},
		{"POST", "/v1/agents/heartbeat", `{"agent_id":"agent-1","claude_status":"running","current_task_id":"t1","meta":{"a":1}}`, 200, map[string]any{"agent.claude_status": "running", "agent.status": "running", "agent.worker_status": "online"}},
		{"GET", "/v1/agents", "", 200, map[string]any{"agents.0.worker_status": "online"}},
		{"GET", "/v1/agents/agent-1", "", 200, map[string]any{"agent.name": ""}},
		{"GET", "/v1/agents/nobody", "", 404, map[string]any{"error.code": "not_found"}},
		{"GET", "/v1/agents/agent-1/current-task", "", 404, map[string]any{"error.code": "not_found"}},
		{"PATCH", "/v1/agents/agent-1/channels", `{"subscriptions":[" a ","b"]}`, 200, map[string]any{"agent.subscriptions.0": "a"}},
		{"GET", "/v1/channels", "", 200, map[string]any{"channels": []any{}}},
		{"POST", "/v1/channels", `{"name":"a b","description":"d"}`, 201, map[string]any{"channel.id": "c1"}},
		{"POST", "/v1/channels", `{"name":"a b"}`, 201, map[string]any{"channel.id": "c1"}},
		{"POST", "/v1/channels", `{}`, 400, map[string]any{"error.code": "invalid_request"}},
		{"GET", "/v1/channels/by-name/a%20b", "", 200, map[string]any{"channel.id": "c1"}},
		{"GET", "/v1/channels/by-name/x", "", 404, map[string]any{"error.code": "not_found"}},
		{"GET", "/v1/chains", "", 200, map[string]any{"chains": []any{}}},
		{"POST", "/v1/chains", `{"channel_id":"c1","name":"n"}`, 201, map[string]any{"chain.id": "chain1"}},
		{"POST", "/v1/tasks/claim", `{"agent_id":"agent-1","channel":"a b"}`, 404, map[string]any{"error.code": "no_tasks"}},
		{"POST", "/v1/tasks", `{"channel_id":"c1","title":"x","priority":3,"unheard_of":[1]}`, 201, map[string]any{"task.id": "t1", "task.status": "queued", "task.priority": 3.0}},
		{"POST", "/v1/tasks/claim", `{"agent_id":"agent-1","channel":"a b","idempotency_key":"k"}`, 200, map[string]any{"task.id": "t1", "task.status": "in_progress"}},
		{"POST", "/v1/tasks/claim", `{"agent_id":"agent-1","channel":"a b","idempotency_key":"k"}`, 200, map[string]any{"task.id": "t1"}},
		{"GET", "/v1/agents/agent-1/current-task", "", 200, map[string]any{"task.id": "t1"}},
		{"GET", "/v1/tasks?status=in_progress", "", 200, map[string]any{"tasks.0.id": "t1"}},
		{"GET", "/v1/tasks?status=queued", "", 200, map[string]any{"tasks": []any{}}},
		{"GET", "/v1/tasks?status=gone", "", 400, map[string]any{"error.code": "invalid_request"}},
		{"GET", "/v1/tasks?limit=x", "", 400, map[string]any{"error.code": "invalid_request"}},
		{"GET", "/v1/tasks/t1", "", 200, map[string]any{"task.title": "x"}},
		{"POST", "/v1/tasks/inputs/claim", `{"task_id":"t1","agent_id":"agent-1"}`, 404, map[string]any{"error.code": "no_inputs"}},
		{"POST", "/v1/tasks/inputs", `{"task_id":"t1","kind":"text","text":"yes ","send_enter":true}`, 201, map[string]any{"input.text": "yes "}},
		{"POST", "/v1/tasks/inputs/claim", `{"task_id":"t1","agent_id":"agent-1"}`, 200, map[string]any{"input.send_enter": true}},
		{"POST", "/v1/tasks/complete", `{"task_id":"t1","agent_id":"another"}`, 409, map[string]any{"error.code": "conflict"}},
		{"POST", "/v1/tasks/complete", `{"task_id":"t1","agent_id":"agent-1"}`, 200, map[string]any{"task.status": "done"}},
		{"POST", "/v1/tasks/complete", `{"task_id":"t1","agent_id":"agent-1"}`, 200, map[string]any{"task.status": "done"}},
		{"POST", "/v1/tasks/fail", `{"task_id":"t9","agent_id":"agent-1","reason":"r"}`, 404, map[string]any{"error.code": "not_found"}},
		{"POST", "/v1/events", `{"type":"task.prompt","payload":{"kind":"yes_no"},"idempotency_key":"e"}`, 201, map[string]any{"event.payload.kind": "yes_no"}},
		{"POST", "/v1/events", `{"type":"task.prompt","idempotency_key":"e"}`, 200, map[string]any{"deduped": true}},
		{"GET", "/v1/events?limit=5", "", 200, map[string]any{"events.0.type": "task.prompt"}},
		{"GET", "/v1/dashboard", "", 200, map[string]any{"channels": []any{}, "tasks.0.id": "t1", "agents.0.id": "agent-1"}},
	} {
		got := w.ask(credential.Admin, step.method, step.path, step.body)
		if got.status != step.status {
			t.Errorf("%s %s %s: %d %s, want %d", step.method, step.path, step.body, got.status, got.body, step.status)
		}
		var value any
		if err := json.Unmarshal([]byte(got.body), &value); err != nil {
			t.Errorf("%s %s: %v", step.method, step.path, err)
		}
		for name, want := range step.want {
			if have := dig(value, name); !same(have, want) {
				t.Errorf("%s %s %s: %s is %v, want %v", step.method, step.path, step.body, name, have, want)
			}
		}
	}
}

// dig returns the value at a dotted name, such as "task.id", in a JSON value.
func dig(value any, name string) any {
	for _, part := range strings.Split(name, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[part]
		case []any:
			if len(v) == 0 {
				return nil
			}
			value = v[part[0]-'0']
		}
	}
	return value
}

func same(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

func TestAMethodThatAPathHasNotIs405AndSaysWhichItHas(t *testing.T) {
	w := start(t, nil)
	for path, allow := range map[string]string{
		"/v1/tasks/claim": "POST", "/v1/tasks": "GET, HEAD, POST", "/health": "GET, HEAD",
		"/v1/agents/x/channels": "PATCH", "/v1/stream": "GET, HEAD",
	} {
		got := w.ask(credential.Admin, "PUT", path, "")
		w.wants("PUT "+path, got, 405, "method_not_allowed")
		if got.header.Get("Allow") != allow {
			t.Errorf("%s: Allow is %q, want %q", path, got.header.Get("Allow"), allow)
		}
	}
}

func TestAnUnknownPathIs404InTheProtocolsFormat(t *testing.T) {
	w := start(t, nil)
	for _, path := range []string{"/nothing", "/v1", "/v1/agents/", "/v1//agents", "/v1/agents/../tasks", "/v1/agents/x/y/z", "/v2/tasks"} {
		w.wants(path, w.ask(credential.Admin, "GET", path, ""), 404, "not_found")
	}
}

func TestAnInvalidJSONBodyIsRefusedWithThePositionOfTheError(t *testing.T) {
	w := start(t, nil)
	for body, want := range map[string]string{
		"":                          "line 1, column 1: the body is empty, a JSON object is wanted",
		"{\n  \"title\": x}":        "line 2, column 12: invalid character 'x' looking for beginning of value",
		`{"title":"a"} {}`:          "line 1, column 15: invalid character '{' after top-level value",
		`{"title":7}`:               `line 1, column 10: field "title": a JSON number where a string is wanted`,
		`[]`:                        "line 1, column 1: a JSON array where an object is wanted",
		`{"priority":1.5}`:          `line 1, column 15: field "priority": a JSON number 1.5 where a whole number is wanted`,
		strings.Repeat("[", 20_000): "line 1, column 10001: invalid character '[' exceeded max depth",
	} {
		got := w.ask(credential.Admin, "POST", "/v1/tasks", body)
		w.wants(body[:min(len(body), 30)], got, 400, "bad_json")
		if message := got.field("error", "message"); message != want {
			t.Errorf("%.30q: %v\nwant %v", body, message, want)
		}
	}
}

func TestHeadIsGetWithoutTheBody(t *testing.T) {
	w := start(t, nil)
	if got := w.ask(credential.Viewer, "HEAD", "/v1/agents", ""); got.status != 200 || got.body != "" {
		t.Errorf("%d %q", got.status, got.body)
	}
	if got := w.ask(credential.Viewer, "HEAD", "/v1/stream", ""); got.status != 200 {
		t.Errorf("stream: %d %q", got.status, got.body)
	}
}

func TestAFailingServiceAnswers500AndOnlyTheLogHasTheReason(t *testing.T) {
	w := start(t, nil)
	w.service.fall(errTest)
	got := w.ask(credential.Admin, "GET", "/v1/agents", "")
	w.wants("agents", got, 500, "internal")
	if strings.Contains(got.body, errTest.Error()) {
		t.Errorf("it tells the world: %s", got.body)
	}
	id := got.header.Get("X-Request-Id")
	if log := w.log.String(); id == "" || !strings.Contains(log, id) || !strings.Contains(log, errTest.Error()) {
		t.Errorf("request %q is not in the log:\n%s", id, log)
	}
}

func TestAnUnavailableDatabaseIs503AndNotLoggedAsAFailure(t *testing.T) {
	w := start(t, nil)
	w.service.fall(fmt.Errorf("read: %w", &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}))
	got := w.ask(credential.Admin, "GET", "/v1/agents", "")
	w.wants("agents", got, 503, "database_away")
	if got.header.Get("Retry-After") == "" {
		t.Error("it does not say when to come again")
	}
}

// busy is the error of a database that another program has locked. It must not become a conflict,
// because a conflict tells a worker that it has lost its attempt.
type busy struct{}

func (busy) Error() string { return "gaffer.db: another program has been writing" }
func (busy) Busy() bool    { return true }

func TestADatabaseThatIsBusyIsNoConflict(t *testing.T) {
	w := start(t, nil)
	w.service.fall(fmt.Errorf("write: %w", busy{}))
	got := w.ask(credential.Admin, "GET", "/v1/agents", "")
	w.wants("agents", got, 503, "busy")
	if got.header.Get("Retry-After") == "" {
		t.Error("it does not say when to come again")
	}
	if log := w.log.String(); !strings.Contains(log, got.header.Get("X-Request-Id")) || !strings.Contains(log, busy{}.Error()) {
		t.Errorf("the log does not say why:\n%s", log)
	}
}

// damaged is the error of a corrupt database. It must become a server error, because the request is
// valid.
type damaged struct{}

func (damaged) Error() string { return "/srv/gaffer.db is damaged" }
func (damaged) Invalid() bool { return true }
func (damaged) Damaged() bool { return true }

func TestADatabaseThatIsDamagedIsNotTheCallersFault(t *testing.T) {
	w := start(t, nil)
	w.service.fall(fmt.Errorf("read: %w", damaged{}))
	got := w.ask(credential.Admin, "GET", "/v1/agents", "")
	w.wants("agents", got, 500, "damaged")
	if strings.Contains(got.body, "/srv") {
		t.Errorf("it tells the world: %s", got.body)
	}
	if log := w.log.String(); !strings.Contains(log, got.header.Get("X-Request-Id")) || !strings.Contains(log, damaged{}.Error()) {
		t.Errorf("the log does not say why:\n%s", log)
	}
}

var errTest = &serviceError{kind: "", text: "the disk is on fire"}

func TestEveryRouteIsInTheOpenAPIDocumentAndTheReverse(t *testing.T) {
	w := start(t, nil)
	got := w.ask("", "GET", "/openapi.json", "")
	var document struct {
		Paths map[string]map[string]struct {
			Access    string                     `json:"x-access"`
			Responses map[string]json.RawMessage `json:"responses"`
		} `json:"paths"`
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal([]byte(got.body), &document); err != nil {
		t.Fatal(err)
	}
	var described, registered []string
	for path, methods := range document.Paths {
		for method, operation := range methods {
			described = append(described, strings.ToUpper(method)+" "+path+" "+operation.Access)
			if len(operation.Responses) < 2 {
				t.Errorf("%s %s: responses %v", method, path, operation.Responses)
			}
		}
	}
	for _, r := range routes() {
		registered = append(registered, r.method+" "+strings.NewReplacer("{$}", "", "{path...}", "{path}").Replace(r.path)+" "+string(r.access))
	}
	slices.Sort(described)
	slices.Sort(registered)
	if !slices.Equal(described, registered) {
		t.Errorf("described  %v\nregistered %v", described, registered)
	}
	for _, ref := range strings.Split(got.body, `"$ref": "#/components/schemas/`)[1:] {
		if name, _, _ := strings.Cut(ref, `"`); document.Components.Schemas[name] == nil {
			t.Errorf("no schema %s", name)
		}
	}
}

func TestEveryRouteOfTheOpenAPIDocumentIsAnswered(t *testing.T) {
	w := start(t, nil)
	for _, r := range routes() {
		path := strings.NewReplacer("{id}", "x", "{name}", "x", "{path...}", "x", "{$}", "").Replace(r.path)
		if r.path == "/v1/stream" {
			continue // this answer does not end; other tests read it
		}
		got := w.ask(credential.Admin, r.method, path, `{}`)
		if got.status == http.StatusMethodNotAllowed || got.status >= 500 || strings.Contains(got.body, "no such path") {
			t.Errorf("%s: %d %s", r.name(), got.status, got.body)
		}
	}
}

func TestHealthIs503WhileTheDatabaseDoesNotAnswer(t *testing.T) {
	w := start(t, nil)
	if got := w.ask("", "GET", "/health", ""); got.status != 200 || got.field("state") != "ready" {
		t.Errorf("%d %s", got.status, got.body)
	}
	w.service.fall(errTest)
	if got := w.ask("", "GET", "/health", ""); got.status != 503 || got.field("ok") != false || strings.Contains(got.body, "fire") {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestMetricsCountRequestsTasksAndReaders(t *testing.T) {
	w := start(t, nil)
	w.ask(credential.Worker, "POST", "/v1/agents/heartbeat", `{"agent_id":"a","claude_status":"waiting"}`)
	w.ask(credential.Worker, "POST", "/v1/tasks/claim", `{"agent_id":"a"}`)
	w.ask(credential.Admin, "POST", "/v1/tasks", `{"title":"x"}`)
	w.ask("", "GET", "/v1/nothing-that-is/"+strings.Repeat("x", 50), "")
	r := follow(w, "", nil)
	defer r.close()
	got := w.ask(credential.Viewer, "GET", "/metrics", "").body
	for _, want := range []string{
		`gaffer_http_requests_total{route="POST /v1/agents/heartbeat",code="200"} 1`,
		`gaffer_http_requests_total{route="POST /v1/tasks/claim",code="404"} 1`,
		`gaffer_http_requests_total{route="none",code="404"} 1`,
		`gaffer_http_request_seconds_bucket{route="POST /v1/tasks/claim",le="+Inf"} 1`,
		`gaffer_http_request_seconds_count{route="POST /v1/agents/heartbeat"} 1`,
		`gaffer_agents_online 1`, `gaffer_tasks{status="queued"} 1`, `gaffer_tasks{status="done"} 0`,
		`gaffer_stream_subscribers 1`, `gaffer_stream_cut_total 0`, `gaffer_desk_up 1`,
		"# TYPE gaffer_oldest_prompt_seconds gauge\ngaffer_oldest_prompt_seconds ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if strings.Contains(got, "nothing-that-is") {
		t.Error("a stranger can make up labels")
	}
}

func TestSelfReturnsTheIdentityOfTheToken(t *testing.T) {
	w := start(t, func(o *Options) { o.Version = "1.2.3" })
	for _, role := range credential.Roles() {
		got := w.ask(role, "GET", "/v1/self", "")
		if got.status != http.StatusOK || !strings.Contains(got.body, `"role":"`+string(role)+`"`) || !strings.Contains(got.body, `"version":"1.2.3"`) {
			t.Errorf("%s: %d %s", role, got.status, got.body)
		}
	}
	w.wants("a stranger", w.do(w.request("GET", "/v1/self", "")), http.StatusUnauthorized, "unauthorized")
}
