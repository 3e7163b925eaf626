package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/token"
)

// concrete is a route's path with something in the place of its names.
func concrete(r route, id string) string {
	id = url.PathEscape(id)
	return strings.NewReplacer("{id}", id, "{name}", id, "{$}", "").Replace(r.path)
}

func TestSecurityNoToken(t *testing.T) {
	w := start(t, func(o *Options) { o.Strangers = -1 })
	for _, r := range routes() {
		if r.access == open {
			continue
		}
		for what, change := range map[string]func(*http.Request){
			"nothing":             func(*http.Request) {},
			"an unknown token":    func(q *http.Request) { q.Header.Set("Authorization", "Bearer gft_"+strings.Repeat("A", 43)) },
			"another scheme":      func(q *http.Request) { q.SetBasicAuth("admin", w.tokens[token.Admin]) },
			"a token and more":    func(q *http.Request) { q.Header.Set("Authorization", "Bearer "+w.tokens[token.Admin]+"x") },
			"the hash of a token": func(q *http.Request) { q.Header.Set("Authorization", "Bearer "+aHash(w)) },
		} {
			q := w.request(r.method, concrete(r, "x"), `{}`)
			change(q)
			w.wants(r.name()+" with "+what, w.do(q), 401, "unauthorized")
		}
	}
}

func aHash(w *world) string {
	rows, _ := w.rows.List(w.t.Context())
	return rows[0].Hash
}

func TestSecurityATokenInTheAddressIsForReadingOnly(t *testing.T) {
	w := start(t, nil)
	in := "?token=" + w.tokens[token.Admin]
	if got := w.ask("", "GET", "/v1/agents"+in, ""); got.status != 200 {
		t.Errorf("GET: %d %s", got.status, got.body)
	}
	w.wants("POST", w.ask("", "POST", "/v1/tasks"+in, `{}`), 401, "unauthorized")
	w.wants("DELETE", w.ask("", "DELETE", "/v1/tokens/x"+in, ""), 401, "unauthorized")
}

func TestSecurityWrongRoleForEachRoute(t *testing.T) {
	// What each role may not do, spelt out: an admin may do everything.
	tokens := []string{"GET /v1/tokens", "POST /v1/tokens", "DELETE /v1/tokens/{id}"}
	people := []string{"POST /v1/channels", "POST /v1/chains", "POST /v1/tasks", "POST /v1/tasks/inputs"}
	workers := []string{
		"POST /v1/agents/heartbeat", "PATCH /v1/agents/{id}/channels", "POST /v1/tasks/claim", "POST /v1/tasks/complete",
		"POST /v1/tasks/fail", "POST /v1/tasks/inputs/claim", "POST /v1/events",
	}
	w := start(t, nil)
	for role, denied := range map[token.Role][]string{
		token.Admin: nil, token.Operator: tokens, token.Worker: slices.Concat(tokens, people), token.Viewer: slices.Concat(tokens, people, workers),
	} {
		for _, r := range routes() {
			if r.path == "/v1/stream" || r.path == "/login" {
				continue // everybody may; they have tests of their own
			}
			got := w.ask(role, r.method, concrete(r, "x"), `{"name":"n"}`)
			if slices.Contains(denied, r.name()) {
				w.wants(string(role)+" "+r.name(), got, 403, "forbidden")
			} else if got.code() == "forbidden" || got.status == 401 {
				t.Errorf("%s %s: %d %s", role, r.name(), got.status, got.body)
			}
		}
	}
}

func TestSecurityAWorkerTouchingAnothersTask(t *testing.T) {
	w := start(t, nil)
	w.ask(token.Worker, "POST", "/v1/agents/heartbeat", `{"agent_id":"mine"}`)
	w.ask(token.Admin, "POST", "/v1/tasks", `{"title":"x"}`)
	w.ask(token.Worker, "POST", "/v1/tasks/claim", `{"agent_id":"mine"}`)
	another, _, err := w.book.Create(t.Context(), token.New{Role: token.Worker, Name: "another"})
	if err != nil {
		t.Fatal(err)
	}
	w.tokens[token.Worker] = another
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
		w.wants(path, w.ask(token.Worker, method, path, body), 403, "not_yours")
	}
	if task := w.ask(token.Admin, "GET", "/v1/tasks/t1", ""); task.field("task", "status") != "in_progress" {
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
			q.Header.Set("Authorization", "Bearer "+w.tokens[token.Admin])
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
	q.Header.Set("Authorization", "Bearer "+w.tokens[token.Admin])
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
		for _, path := range []string{"/v1/agents", "/health", "/openapi.json"} {
			q := w.request("GET", path, "")
			q.Header.Set("Authorization", "Bearer "+w.tokens[token.Admin])
			q.Host = host
			got := w.do(q)
			if got.status != status || status == 403 && got.code() != "foreign_host" {
				t.Errorf("%s %s: %d %s, want %d", host, path, got.status, got.body, status)
			}
		}
	}
	for _, raw := range []string{"GET /health HTTP/1.0\r\n\r\n", "GET http://evil.example/health HTTP/1.1\r\nHost: " + w.addr + "\r\n\r\n"} {
		if status := rawStatus(t, w, raw); status != 403 {
			t.Errorf("%q: %d", raw, status)
		}
	}
}

// rawStatus sends bytes and returns the status of the answer, 0 if there is none.
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

func TestSecurityABodyOfAGigabyte(t *testing.T) {
	w := start(t, nil)
	const gigabyte = 1 << 30
	for name, head := range map[string]string{
		"told":    fmt.Sprintf("Content-Length: %d\r\n\r\n", gigabyte),
		"chunked": fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n", gigabyte),
	} {
		conn, err := net.Dial("tcp", w.addr)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST /v1/tasks HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n%s", w.addr, w.tokens[token.Admin], head)
		status := make(chan int, 1)
		go func() {
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				status <- 0
				return
			}
			_ = resp.Body.Close()
			status <- resp.StatusCode
		}()
		sent, part := 0, []byte(strings.Repeat(" ", 64<<10))
		for sent < gigabyte {
			n, err := conn.Write(part)
			if sent += n; err != nil {
				break
			}
		}
		if got := <-status; got != 413 && got != 0 { // the connection may be reset before the answer is read
			t.Errorf("%s: %d", name, got)
		}
		if sent > 64<<20 {
			t.Errorf("%s: %d bytes were taken", name, sent)
		}
		_ = conn.Close()
	}
	w.wants("just too long", w.ask(token.Admin, "POST", "/v1/tasks", strings.Repeat(" ", maxBody+1)), 413, "too_large")
	if got := w.ask(token.Admin, "POST", "/v1/tasks", `{"title":"`+strings.Repeat("x", maxBody-100)+`"}`); got.status != 201 {
		t.Errorf("just short enough: %d", got.status)
	}
}

func TestSecurityAHeaderThatIsTooLong(t *testing.T) {
	w := start(t, nil)
	long := "GET /health HTTP/1.1\r\nHost: " + w.addr + "\r\nX-Long: " + strings.Repeat("x", maxHeader+1) + "\r\n\r\n"
	if got := rawStatus(t, w, long); got != 431 && got != 0 { // the connection may be reset before the answer is read
		t.Errorf("%d", got)
	}
	q := w.request("GET", "/health", "")
	q.Header.Set("X-Long", strings.Repeat("x", maxHeader/2))
	if got := w.do(q); got.status != 200 {
		t.Errorf("half as long: %d", got.status)
	}
}

func TestSecuritySlowLoris(t *testing.T) {
	w := start(t, func(o *Options) { o.Header, o.Body = 300*time.Millisecond, 300*time.Millisecond })
	for name, begin := range map[string]string{
		"nothing":    "",
		"the header": "GET /health HTTP/1.1\r\nHost: " + w.addr + "\r\nX-",
		"the body":   "POST /v1/tasks HTTP/1.1\r\nHost: " + w.addr + "\r\nAuthorization: Bearer " + w.tokens[token.Admin] + "\r\nContent-Length: 1000000\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", w.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			closed := make(chan struct{})
			go func() {
				defer close(closed)
				_, _ = io.Copy(io.Discard, conn)
			}()
			_, _ = io.WriteString(conn, begin)
			drip := time.NewTicker(20 * time.Millisecond)
			defer drip.Stop()
			for end := time.Now().Add(20 * time.Second); ; {
				select {
				case <-closed:
					return
				case <-drip.C:
					if name != "nothing" {
						_, _ = io.WriteString(conn, "a")
					}
				}
				if time.Now().After(end) {
					t.Fatal("it is still open")
				}
			}
		})
	}
}

func TestSecurityManyConnectionsBeyondTheLimit(t *testing.T) {
	const limit, many = 50, 1000
	w := start(t, func(o *Options) { o.Connections = limit })
	var conns []net.Conn
	for range many {
		c, err := net.Dial("tcp", w.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		conns = append(conns, c)
	}
	ended := make(chan bool, many)
	for _, c := range conns {
		go func() {
			_, err := c.Read(make([]byte, 1))
			ended <- err == io.EOF
		}()
	}
	for range many - limit {
		<-ended
	}
	select {
	case <-ended:
		t.Error("more were closed than are beyond the limit")
	default:
	}
	for _, c := range conns {
		_ = c.Close()
	}
	for range limit {
		<-ended
	}
	eventually(t, "there is room again", func() bool {
		resp, err := w.client.Do(w.request("GET", "/health", ""))
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == 200
	})
}

func TestSecurityPathsAndOddBytesInEveryID(t *testing.T) {
	odd := []string{
		"../x", "..", ".", "../../etc/passwd", `..\x`, "a/b", "a\x00b", "\xff\xfe", "a\nb", "a\x1b[31m", "\u202eevil", "a\u2028b",
		strings.Repeat("x", 201), "a\rb", "\t\x7f",
	}
	bodies := map[string][]string{ // the fields of each route that name something
		"POST /v1/agents/heartbeat":   {"agent_id", "current_task_id"},
		"POST /v1/tasks":              {"channel_id", "chain_id"},
		"POST /v1/chains":             {"channel_id", "id"},
		"POST /v1/channels":           {"id"},
		"POST /v1/tasks/claim":        {"agent_id", "channel_id"},
		"POST /v1/tasks/complete":     {"agent_id", "task_id"},
		"POST /v1/tasks/fail":         {"agent_id", "task_id"},
		"POST /v1/tasks/inputs":       {"agent_id", "task_id"},
		"POST /v1/tasks/inputs/claim": {"agent_id", "task_id"},
		"POST /v1/events":             {"agent_id", "task_id"},
	}
	w := start(t, nil)
	for _, id := range odd {
		for _, r := range routes() {
			if strings.Contains(r.path, "{id}") {
				got := w.ask(token.Admin, r.method, concrete(r, id), `{"subscriptions":[]}`)
				if got.status != 400 && got.status != 404 || got.header.Get("Content-Type") != "application/json; charset=utf-8" {
					t.Errorf("%s with %q: %d %s", r.name(), id, got.status, got.body)
				}
			}
			for _, field := range bodies[r.name()] {
				if strings.ToValidUTF8(id, "") != id {
					continue // JSON cannot say it
				}
				body, _ := json.Marshal(map[string]string{field: id, "name": "n", "title": "t", "type": "t"})
				w.wants(fmt.Sprintf("%s with %s %q", r.name(), field, id), w.ask(token.Admin, r.method, r.path, string(body)), 400, "invalid_request")
			}
		}
		for _, query := range []string{"channel_id", "chain_id", "agent_id"} {
			w.wants("tasks by "+query, w.ask(token.Admin, "GET", "/v1/tasks?"+query+"="+url.QueryEscape(id), ""), 400, "invalid_request")
		}
	}
	for _, name := range []string{"a\x00b", "\xff", "a\nb", strings.Repeat("x", 201)} {
		w.wants(name, w.ask(token.Admin, "GET", "/v1/channels/by-name/"+url.PathEscape(name), ""), 400, "invalid_request")
	}
	w.desk.mu.Lock()
	defer w.desk.mu.Unlock()
	if n := len(w.desk.agents) + len(w.desk.tasks) + len(w.desk.chains) + len(w.desk.channels) + len(w.desk.events); n != 0 {
		t.Errorf("the desk has %d things", n)
	}
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
		got := w.ask(token.Admin, step[0], step[1], step[2])
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

func TestSecurityATokenIsNeverInALogNorInAnError(t *testing.T) {
	w := start(t, nil)
	secret := w.tokens[token.Admin]
	quoted, _ := json.Marshal(secret)
	w.desk.fall(fmt.Errorf("connect with password %s: refused", secret))
	var told []string
	try := func(method, path, body string) {
		for _, role := range []token.Role{token.Admin, ""} {
			if got := w.ask(role, method, path, body); got.status >= 400 {
				told = append(told, got.body)
			}
		}
	}
	try("GET", "/v1/agents?token="+secret, "")
	try("GET", "/v1/agents/"+secret+"?token="+secret, "")
	try("GET", "/"+secret, "")
	try("GET", "/"+secret+"/../x", "")
	try("PUT", "/v1/tasks?token="+secret, "")
	try("POST", "/v1/tasks", secret)
	try("POST", "/v1/agents/heartbeat", `{"agent_id":`+string(quoted)+`,"name":"`+secret+`\n"}`)
	try("DELETE", "/v1/tokens/"+secret, "")
	try("GET", "/login?code="+secret, "")
	w.desk.fall(nil)
	try("POST", "/v1/agents/heartbeat", `{"agent_id":`+string(quoted)+`}`)
	try("POST", "/v1/tasks/complete", `{"task_id":`+string(quoted)+`,"agent_id":`+string(quoted)+`}`)
	try("PATCH", "/v1/agents/"+secret+"/channels", `{"subscriptions":[]}`)
	q := w.request("GET", "/health", "")
	q.Host = secret
	told = append(told, w.do(q).body)
	made := w.ask(token.Admin, "POST", "/v1/tokens", `{"name":"n","role":"viewer"}`)
	link := w.ask(token.Admin, "POST", "/v1/login", "")
	path, _ := link.field("path").(string)
	login := w.ask("", "GET", path, "")
	_, session, _ := strings.Cut(login.header.Get("Set-Cookie"), "=")
	session, _, _ = strings.Cut(session, ";")
	_, code, _ := strings.Cut(path, "code=")
	rawStatus(t, w, "GET /v1/agents?token="+secret+" HTTP/9.9\r\n\r\n")

	log := w.log.String()
	secretOf := func(text string) string { return strings.TrimPrefix(text, "gft_") }
	made2, _ := made.field("token", "secret").(string)
	for name, text := range map[string]string{"a token": secret, "a new token": made2, "a session": session, "a code": code} {
		if len(text) < 40 {
			t.Fatalf("%s: %q is none", name, text)
		}
		if strings.Contains(log, secretOf(text)) {
			t.Errorf("%s is in the log:\n%s", name, log)
		}
	}
	for _, text := range told {
		if strings.Contains(text, secretOf(secret)) {
			t.Errorf("an error tells the token: %s", text)
		}
	}
	if !strings.Contains(log, "gft_…") {
		t.Errorf("nothing was taken out, so nothing was tried:\n%s", log)
	}
}

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
	l := &logins{now: func() time.Time { return now }, random: zeros{}}
	code, _, err := l.add("n", token.Viewer, "")
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
	link := w.ask(token.Operator, "POST", "/v1/login", "")
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
		{"POST", "/v1/tokens", "Origin", "http://" + w.addr, 403, "forbidden"}, // an operator's browser is an operator
		{"POST", "/v1/logout", "Origin", "http://" + w.addr, 200, ""},
		{"GET", "/v1/tasks", "", "", 401, "unauthorized"},
	} {
		w.wants(step.method+" "+step.path+" "+step.value, ask(step.method, step.path, step.name, step.value), step.status, step.code)
	}
}

func TestABrowserIsLoggedOutWhenTheTokenBehindItIsRevoked(t *testing.T) {
	w := start(t, nil)
	path, _ := w.ask(token.Operator, "POST", "/v1/login", "").field("path").(string)
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

func TestARevokedTokenIsRefused(t *testing.T) {
	w := start(t, nil)
	made := w.ask(token.Admin, "POST", "/v1/tokens", `{"name":"n","role":"viewer"}`)
	id, _ := made.field("token", "id").(string)
	w.tokens["new"], _ = made.field("token", "secret").(string)
	if got := w.ask("new", "GET", "/v1/agents", ""); made.status != 201 || got.status != 200 {
		t.Fatalf("%d %s, then %d", made.status, made.body, got.status)
	}
	if got := w.ask(token.Admin, "GET", "/v1/tokens", ""); strings.Contains(got.body, "hash") || strings.Contains(got.body, "gft_") {
		t.Errorf("the list has what is secret: %s", got.body)
	}
	if got := w.ask(token.Admin, "DELETE", "/v1/tokens/"+id, ""); got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	w.wants("after that", w.ask("new", "GET", "/v1/agents", ""), 401, "unauthorized")
	w.wants("again", w.ask(token.Admin, "DELETE", "/v1/tokens/"+id, ""), 404, "not_found")
}

func TestSecurityTooManyRequestsOfOneToken(t *testing.T) {
	w := start(t, func(o *Options) { o.Rate = 0.5 })
	if got := w.ask(token.Viewer, "GET", "/v1/agents", ""); got.status != 200 {
		t.Errorf("the first: %d %s", got.status, got.body)
	}
	got := w.ask(token.Viewer, "GET", "/v1/agents", "")
	w.wants("the second", got, 429, "rate_limited")
	if got.header.Get("Retry-After") != "1" {
		t.Errorf("it does not say when to come back: %v", got.header)
	}
	if got := w.ask(token.Admin, "GET", "/v1/agents", ""); got.status != 200 {
		t.Errorf("another token: %d", got.status)
	}
}

func TestAnAllowanceFillsWithTimeAndIsEachTokensOwn(t *testing.T) {
	now := time.Now()
	r := newRates(10, 50, func() time.Time { return now })
	use := func(id string) (n int) {
		for r.allow(id) {
			n++
		}
		return n
	}
	if a, b := use("a"), use("b"); a != 20 || b != 20 {
		t.Errorf("at once: %d and %d", a, b)
	}
	now = now.Add(500 * time.Millisecond)
	if got := use("a"); got != 5 {
		t.Errorf("after half a second: %d", got)
	}
	now = now.Add(-time.Hour)
	if got := use("a"); got != 0 {
		t.Errorf("after the clock was set back: %d", got)
	}
	now = now.Add(24 * time.Hour)
	if got := use("a"); got != 20 {
		t.Errorf("after a day: %d", got)
	}
}

func TestSecurityGuessingIsHeldOffAndDisturbsNobody(t *testing.T) {
	w := start(t, nil)
	held := false
	for range 3 * defaultStrangers {
		held = held || w.ask("", "GET", "/v1/agents", "").status == 429
	}
	if !held {
		t.Error("it goes on for ever")
	}
	if got := w.ask(token.Viewer, "GET", "/v1/agents", ""); got.status != 200 {
		t.Errorf("who has a token: %d", got.status)
	}
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

// breaking is a desk that panics.
type breaking struct{ *standIn }

func (breaking) Agents(context.Context) ([]coordinator.Agent, error) { panic("a bug") }

func TestAPanicIsOneFailedRequest(t *testing.T) {
	w := start(t, func(o *Options) { o.Desk = breaking{o.Desk.(*standIn)} })
	w.wants("panic", w.ask(token.Admin, "GET", "/v1/agents", ""), 500, "internal")
	if got := w.ask(token.Admin, "GET", "/v1/tasks", ""); got.status != 200 || !strings.Contains(w.log.String(), "a bug") {
		t.Errorf("%d", got.status)
	}
}

func TestEveryChangeIsInTheLogWithWhoMadeIt(t *testing.T) {
	w := start(t, nil)
	w.ask(token.Operator, "POST", "/v1/tasks", `{"title":"x"}`)
	w.ask(token.Worker, "POST", "/v1/agents/heartbeat", `{"agent_id":"a"}`)
	w.ask(token.Worker, "POST", "/v1/tasks/claim", `{"agent_id":"a"}`)
	w.ask(token.Worker, "POST", "/v1/tasks/claim", `{"agent_id":"a"}`) // there is none
	w.ask(token.Worker, "POST", "/v1/tasks/complete", `{"agent_id":"a","task_id":"t1"}`)
	w.ask(token.Viewer, "POST", "/v1/tasks", `{}`) // may not
	var got []string
	eventually(t, "the lines are there", func() bool {
		got = nil
		for _, line := range strings.Split(strings.TrimSpace(w.log.String()), "\n") {
			var l struct{ Level, Msg, Route, Name, About string }
			if json.Unmarshal([]byte(line), &l) == nil && l.Level != "DEBUG" {
				got = append(got, l.Msg+", "+l.Name+": "+l.Route+" "+l.About)
			}
		}
		return len(got) >= 4
	})
	want := []string{
		"changed, the operator: POST /v1/tasks task t1",
		"changed, the worker: POST /v1/tasks/claim task t1 by agent a",
		"changed, the worker: POST /v1/tasks/complete task t1 by agent a",
		"request refused, the viewer: POST /v1/tasks ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestACertificateOfItsOwnIsPrivateAndStays(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", "tls.pem")
	now := time.Now()
	config, err := SelfMade(file, []string{"localhost", "127.0.0.1"}, now)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	fingerprint := Fingerprint(config)
	for what, c := range map[string]struct {
		hosts []string
		after time.Duration
		same  bool
	}{
		"the next day":         {[]string{"localhost"}, 24 * time.Hour, true},
		"shortly before":       {[]string{"localhost"}, 350 * 24 * time.Hour, false},
		"with a name it lacks": {[]string{"build.example"}, 0, false},
	} {
		again, err := SelfMade(filepath.Join(copied(t, file), "tls.pem"), c.hosts, now.Add(c.after))
		if err != nil || (Fingerprint(again) == fingerprint) != c.same {
			t.Errorf("%s: %v, the same: %v", what, err, !c.same)
		}
	}
	if err := os.WriteFile(file, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := SelfMade(file, []string{"localhost"}, now); err == nil {
		t.Error("a damaged one was replaced without a word")
	}
}

func copied(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tls.pem"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestOverTLSRequestsTheStreamAndTheCookieWork(t *testing.T) {
	config, err := SelfMade(filepath.Join(t.TempDir(), "tls.pem"), []string{"127.0.0.1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, two := range []bool{false, true} {
		w := start(t, func(o *Options) { o.TLS, o.Ping = config.Clone(), 20*time.Millisecond })
		pinned := &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(s tls.ConnectionState) error {
			if got := Fingerprint(&tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{s.PeerCertificates[0].Raw}}}}); got != Fingerprint(config) {
				return fmt.Errorf("fingerprint %s", got)
			}
			return nil
		}}
		transport := &http.Transport{TLSClientConfig: pinned, ForceAttemptHTTP2: two}
		defer transport.CloseIdleConnections()
		w.client.Transport = secure{transport}
		path, err := w.server.LoginPath()
		if err != nil {
			t.Fatal(err)
		}
		if got := w.ask("", "GET", path, ""); !strings.Contains(got.header.Get("Set-Cookie"), "Secure") {
			t.Errorf("%d %v", got.status, got.header)
		}
		r := follow(w, "", nil)
		if (r.resp.ProtoMajor == 2) != two {
			t.Errorf("it speaks %s", r.resp.Proto)
		}
		for range 3 {
			if e, err := r.next(); err != nil || e.comment != "ping" {
				t.Errorf("%+v, %v", e, err)
			}
		}
		w.desk.tell(1, "", "")
		if ids, err := r.updates(1); err != nil || ids[0] != 1 {
			t.Errorf("%v, %v", ids, err)
		}
		r.close()
	}
}

// secure sends what is meant for http over https.
type secure struct{ http.RoundTripper }

func (s secure) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme = "https"
	return s.RoundTripper.RoundTrip(r)
}
