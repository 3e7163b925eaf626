package server

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"gaffer/internal/api/credential"
)

// concrete returns a route's path in which id replaces the wildcards.
func concrete(r route, id string) string {
	id = url.PathEscape(id)
	return strings.NewReplacer("{id}", id, "{name}", id, "{message}", id, "{$}", "").Replace(r.path)
}

func TestSecurityATokenInTheAddressIsForReadingOnly(t *testing.T) {
	w := start(t, nil)
	in := "?token=" + w.tokens[credential.Admin]
	if got := w.ask("", "GET", "/v1/agents"+in, ""); got.status != 200 {
		t.Errorf("GET: %d %s", got.status, got.body)
	}
	w.wants("POST", w.ask("", "POST", "/v1/tasks"+in, `{}`), 401, "unauthorized")
	w.wants("DELETE", w.ask("", "DELETE", "/v1/tokens/x"+in, ""), 401, "unauthorized")
}

func TestSecurityWrongRoleForEachRoute(t *testing.T) {
	// The routes that each role may not use. They are listed here by hand, not taken from the
	// table. An admin may use all routes.
	tokens := []string{"GET /v1/tokens", "POST /v1/tokens", "DELETE /v1/tokens/{id}"}
	people := []string{
		"POST /v1/channels", "POST /v1/chains", "POST /v1/tasks", "POST /v1/tasks/inputs",
		"PUT /v1/chains/{id}", "DELETE /v1/chains/{id}", "POST /v1/chains/{id}/assign-agent", "POST /v1/chains/{id}/detach",
		"POST /v1/tasks/{id}/status", "POST /v1/notifications/dismiss", "POST /v1/agents/request-session",
		"POST /api/projects", "POST /api/projects/active", "POST /api/build-events", "POST /api/inbox", "PATCH /api/inbox/{id}", "DELETE /api/inbox/{id}",
		"POST /v1/runs", "POST /v1/runs/{id}/cancel", "POST /v1/runs/{id}/retry", "POST /v1/runs/{id}/resume", "POST /v1/questions/{id}/answer", "DELETE /v1/grants/{id}",
		"POST /v1/runs/{id}/tasks/{name}/review", "POST /v1/runs/{id}/tasks/{name}/messages", "DELETE /v1/runs/{id}/tasks/{name}/messages/{message}", "POST /v1/runs/{id}/tasks/{name}/interrupt",
		"GET /v1/places", "GET /v1/programs", "GET /v1/plans", "GET /v1/plans/file", "POST /v1/plans/check", "POST /v1/plans/start", "GET /v1/runs/{id}/plan/text", "POST /v1/runs/{id}/tasks/{name}/fork",
		"POST /v1/schedules/{id}/pause", "POST /v1/schedules/{id}/resume", "POST /v1/schedules/{id}/run",
		"POST /v1/runs/{id}/merge", "POST /v1/runs/{id}/tasks/{name}/merge", "POST /v1/runs/{id}/tasks/{name}/undo", "POST /v1/runs/{id}/tasks/{name}/discard",
	}
	workers := []string{
		"POST /v1/agents/heartbeat", "PATCH /v1/agents/{id}/channels", "POST /v1/tasks/claim", "POST /v1/tasks/complete",
		"POST /v1/tasks/assign",
		"POST /v1/tasks/fail", "POST /v1/tasks/inputs/claim", "POST /v1/events",
		"POST /v1/work/beat", "POST /v1/work/claim", "POST /v1/work/turn", "POST /v1/work/ask", "POST /v1/work/release",
		"GET /v1/work/held", "GET /v1/work/wait", "POST /v1/work/logs", "POST /v1/questions", "POST /v1/questions/{id}/withdraw",
	}
	w := start(t, nil)
	for role, denied := range map[credential.Role][]string{
		credential.Admin: nil, credential.Operator: tokens, credential.Worker: slices.Concat(tokens, people), credential.Viewer: slices.Concat(tokens, people, workers),
	} {
		for _, r := range routes() {
			if r.path == "/v1/stream" {
				r.method = http.MethodHead // the answer to GET would not end
			}
			if r.path == "/login" {
				continue // this route is open to everyone and has its own test
			}
			got := w.ask(role, r.method, concrete(r, "x"), `{"name":"n"}`)
			if slices.Contains(denied, r.name()) {
				w.wants(string(role)+" "+r.name(), got, 403, "forbidden")
			} else if got.code() == "forbidden" || got.status == 401 || r.method == http.MethodHead && got.status != 200 {
				t.Errorf("%s %s: %d %s", role, r.name(), got.status, got.body)
			}
		}
	}
}

func TestSecurityAWorkerTouchingAnothersTask(t *testing.T) {
	w := start(t, nil)
	w.ask(credential.Worker, "POST", "/v1/agents/heartbeat", `{"agent_id":"mine"}`)
	w.ask(credential.Admin, "POST", "/v1/tasks", `{"title":"x"}`)
	w.ask(credential.Worker, "POST", "/v1/tasks/claim", `{"agent_id":"mine"}`)
	another, _, err := w.book.Create(t.Context(), credential.TokenSpec{Role: credential.Worker, Name: "another"})
	if err != nil {
		t.Fatal(err)
	}
	w.tokens[credential.Worker] = another
	for path, body := range map[string]string{
		"/v1/agents/heartbeat":     `{"agent_id":"mine","claude_status":"idle"}`,
		"/v1/tasks/claim":          `{"agent_id":"mine"}`,
		"/v1/tasks/complete":       `{"agent_id":"mine","task_id":"t1"}`,
		"/v1/tasks/fail":           `{"agent_id":"mine","task_id":"t1"}`,
		"/v1/tasks/inputs/claim":   `{"agent_id":"mine","task_id":"t1"}`,
		"/v1/events":               `{"agent_id":"mine","type":"x"}`,
		"/v1/agents/mine/channels": `{"subscriptions":[]}`,
	} {
		method := "POST"
		if strings.HasSuffix(path, "channels") {
			method = "PATCH"
		}
		w.wants(path, w.ask(credential.Worker, method, path, body), 403, "not_yours")
	}
	if task := w.ask(credential.Admin, "GET", "/v1/tasks/t1", ""); task.field("task", "status") != "in_progress" {
		t.Errorf("the task was touched: %s", task.body)
	}
}

func TestSecurityForeignOriginOnFetchAndStream(t *testing.T) {
	w := start(t, nil)
	_, port, _ := net.SplitHostPort(w.addr)
	for _, origin := range []string{
		"https://evil.example", "null", "http://127.0.0.1", "http://127.0.0.1:1", "http://localhost:" + port,
		"http://" + w.addr + ".evil.example", "file://", "javascript://" + w.addr, "http://evil.example/" + w.addr, "%zz",
	} {
		for path, method := range map[string]string{"/v1/agents": "GET", "/v1/tasks": "POST", "/v1/stream": "GET", "/health": "GET", "/v1/chains": "OPTIONS", "/login?code=x": "GET"} {
			q := w.request(method, path, `{}`)
			q.Header.Set("Authorization", "Bearer "+w.tokens[credential.Admin])
			q.Header.Set("Origin", origin)
			got := w.do(q)
			w.wants(method+" "+path+" from "+origin, got, 403, "foreign_origin")
			for name := range got.header {
				if strings.HasPrefix(name, "Access-Control") {
					t.Errorf("%s: %s", origin, name)
				}
			}
		}
	}
	q := w.request("GET", "/v1/agents", "")
	q.Header.Set("Authorization", "Bearer "+w.tokens[credential.Admin])
	q.Header.Set("Origin", "http://"+w.addr)
	if got := w.do(q); got.status != 200 {
		t.Errorf("its own origin: %d %s", got.status, got.body)
	}
}

func TestSecurityForeignHost(t *testing.T) {
	w := start(t, nil)
	_, port, _ := net.SplitHostPort(w.addr)
	for host, status := range map[string]int{
		"evil.example": 403, "evil.example:" + port: 403, "127.0.0.1.evil.example": 403, "localhost.evil.example:" + port: 403,
		"0.0.0.0:" + port: 403, "[::2]:" + port: 403, "127.0.0.2": 403,
		"localhost:" + port: 200, "LOCALHOST:" + port: 200, "[::1]:" + port: 200, "127.0.0.1": 200, "localhost.:" + port: 200,
	} {
		for _, path := range []string{"/v1/agents", "/", "/openapi.json", "/healthy"} {
			status := status
			if path == "/healthy" && status == 200 {
				status = 404
			}
			q := w.request("GET", path, "")
			q.Header.Set("Authorization", "Bearer "+w.tokens[credential.Admin])
			q.Host = host
			got := w.do(q)
			if got.status != status || status == 403 && got.code() != "foreign_host" {
				t.Errorf("%s %s: %d %s, want %d", host, path, got.status, got.body, status)
			}
		}
	}
	for _, raw := range []string{"GET /openapi.json HTTP/1.0\r\n\r\n", "GET http://evil.example/openapi.json HTTP/1.1\r\nHost: " + w.addr + "\r\n\r\n"} {
		if status := rawStatus(t, w, raw); status != 403 {
			t.Errorf("%q: %d", raw, status)
		}
	}
}

// rawStatus sends text over a new connection. It returns the status of the answer, or 0 if there is
// no answer.
func rawStatus(t *testing.T, w *world, text string) int {
	t.Helper()
	conn, err := net.Dial("tcp", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, text)
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

func TestSecurityHTMLInEveryStringComesBackAsJSONOnly(t *testing.T) {
	const evil = `<script>alert(1)</script>&'"<img src=x onerror=alert(1)>`
	w := start(t, nil)
	say := func(fields ...string) string {
		all := map[string]any{"payload": map[string]string{"x": evil}, "meta": map[string]string{"x": evil}, "subscriptions": []string{}}
		for _, name := range fields {
			all[name] = strings.ReplaceAll(evil, "/", "")
		}
		data, _ := json.Marshal(all)
		return string(data)
	}
	id := url.PathEscape(strings.ReplaceAll(evil, "/", ""))
	for _, step := range [][3]string{
		{"POST", "/v1/agents/heartbeat", say("agent_id", "name", "claude_status", "current_task_id")},
		{"GET", "/v1/agents", ""},
		{"GET", "/v1/agents/" + id, ""},
		{"GET", "/v1/agents/" + id + "/current-task", ""},
		{"PATCH", "/v1/agents/" + id + "/channels", say()},
		{"POST", "/v1/channels", say("name", "description")},
		{"GET", "/v1/channels/by-name/" + url.PathEscape(evil), ""},
		{"POST", "/v1/chains", say("name", "description", "channel_id")},
		{"POST", "/v1/tasks", say("channel_id", "title", "description", "type", "execution_mode")},
		{"GET", "/v1/tasks/" + id, ""},
		{"POST", "/v1/tasks/claim", say("agent_id", "channel", "idempotency_key")},
		{"POST", "/v1/tasks/fail", say("task_id", "agent_id", "reason")},
		{"POST", "/v1/tasks/inputs", say("task_id", "text", "kind")},
		{"POST", "/v1/events", say("type", "agent_id")},
		{"GET", "/v1/events", ""},
		{"GET", "/v1/dashboard", ""},
		{"POST", "/v1/tokens", say("name", "role")},
		{"DELETE", "/v1/tokens/" + id, ""},
		{"POST", "/v1/tasks", evil},
		{"GET", "/" + id, ""},
		{"GET", "/v1/tasks?status=" + url.QueryEscape(evil), ""},
		{"GET", "/login?code=" + url.QueryEscape(evil), ""},
	} {
		got := w.ask(credential.Admin, step[0], step[1], step[2])
		if got.header.Get("Content-Type") != "application/json; charset=utf-8" || got.header.Get("X-Content-Type-Options") != "nosniff" ||
			!strings.HasPrefix(got.header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s %s: %v", step[0], step[1], got.header)
		}
		if strings.ContainsAny(got.body, "<>&") || !json.Valid([]byte(got.body)) {
			t.Errorf("%s %s: %s", step[0], step[1], got.body)
		}
	}
	r := follow(w, "?last_event_id=0", nil)
	defer r.close()
	if e, err := r.next(); err != nil || strings.Contains(e.data, "<") || r.resp.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestARevokedTokenIsRefused(t *testing.T) {
	w := start(t, nil)
	made := w.ask(credential.Admin, "POST", "/v1/tokens", `{"name":"n","role":"viewer"}`)
	id, _ := made.field("token", "id").(string)
	w.tokens["new"], _ = made.field("token", "secret").(string)
	if got := w.ask("new", "GET", "/v1/agents", ""); made.status != 201 || got.status != 200 {
		t.Fatalf("%d %s, then %d", made.status, made.body, got.status)
	}
	if got := w.ask(credential.Admin, "GET", "/v1/tokens", ""); strings.Contains(got.body, "hash") || strings.Contains(got.body, "gft_") {
		t.Errorf("the list has what is secret: %s", got.body)
	}
	if got := w.ask(credential.Admin, "DELETE", "/v1/tokens/"+id, ""); got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	w.wants("after that", w.ask("new", "GET", "/v1/agents", ""), 401, "unauthorized")
	w.wants("again", w.ask(credential.Admin, "DELETE", "/v1/tokens/"+id, ""), 404, "not_found")
}

func TestOpenReadsAreForLookingOnly(t *testing.T) {
	w := start(t, func(o *Options) { o.OpenReads = true })
	if got := w.ask("", "GET", "/v1/agents", ""); got.status != 200 {
		t.Errorf("look: %d", got.status)
	}
	for _, r := range routes() {
		if r.access != open && (r.access != look || r.method != "GET") {
			w.wants(r.name(), w.ask("", r.method, concrete(r, "x"), `{}`), 401, "unauthorized")
		}
	}
	q := w.request("GET", "/v1/agents", "")
	q.Header.Set("Authorization", "Bearer gft_wrong")
	w.wants("with a wrong token", w.do(q), 401, "unauthorized")
}
