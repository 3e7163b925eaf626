package server_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gaffer/internal/api/credential"
	"gaffer/internal/api/server"
)

// knock sends a valid request for route r after change has modified it. For /ws the request opens a
// WebSocket.
func (w *whole) knock(r server.Route, h held, change func(*http.Request)) said {
	w.t.Helper()
	path, body, _ := validRequest(r, h)
	text := must[[]byte](w.t)(json.Marshal(body))
	q := must[*http.Request](w.t)(http.NewRequestWithContext(w.t.Context(), r.Method, "http://"+w.addr+path, bytes.NewReader(text)))
	if r.Path == "/ws" {
		q.Body, q.ContentLength = nil, 0
		for name, value := range map[string]string{
			"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
		} {
			q.Header.Set(name, value)
		}
	}
	change(q)
	return w.do(q)
}

func bearer(q *http.Request, text string) { q.Header.Set("Authorization", "Bearer "+text) }

// turnedAway sends every modified request to each route. The functions in who modify the requests.
// It fails unless each answer has this status and code, and no data was changed. The requests run
// concurrently, because the server delays requests with an unknown token.
func (w *whole) turnedAway(h held, status int, code string, who map[string]func(*http.Request), routes []server.Route) {
	w.t.Helper()
	before := w.last()
	var all sync.WaitGroup
	for _, r := range routes {
		all.Go(func() {
			for what, change := range who {
				got := w.knock(r, h, change)
				if got.status != status || got.code() != code {
					w.t.Errorf("%s, %s: %d %.200s", r.Name, what, got.status, got.body)
				}
				for name := range got.header {
					if strings.HasPrefix(name, "Access-Control") || name == "Set-Cookie" {
						w.t.Errorf("%s, %s: the answer has %s", r.Name, what, name)
					}
				}
			}
		})
	}
	all.Wait()
	if after := w.last(); after != before {
		w.t.Errorf("%d changes were made", after-before)
	}
}

func TestSecurityNoTokenOnEveryRouteThatIsNotOpen(t *testing.T) {
	open := []string{"GET /{$}", "GET /assets/{path...}", "GET /health", "GET /openapi.json", "GET /login"} // no other route is open
	w := startWhole(t)
	h := w.begin("n", "text")
	hash := must[[]credential.Token](t)(w.service.Tokens().List(t.Context()))[0].Hash
	closed := slices.DeleteFunc(server.Routes(), func(r server.Route) bool { return slices.Contains(open, r.Name) })
	_, port, _ := net.SplitHostPort(w.addr)
	w.turnedAway(h, 401, "unauthorized", map[string]func(*http.Request){
		"nothing":          func(*http.Request) {},
		"another scheme":   func(q *http.Request) { q.SetBasicAuth("admin", w.tokens[credential.Admin]) },
		"a token and more": func(q *http.Request) { bearer(q, w.tokens[credential.Admin]+"x") },
		"a token's hash":   func(q *http.Request) { bearer(q, hash) },
		"an empty token":   func(q *http.Request) { bearer(q, "") },
		"an unknown token": func(q *http.Request) { bearer(q, "gft_"+strings.Repeat("A", 43)) },
		"part of a token":  func(q *http.Request) { bearer(q, w.tokens[credential.Admin][:40]) },
		"an unknown cookie": func(q *http.Request) {
			q.AddCookie(&http.Cookie{Name: "gaffer-" + port, Value: "gft_" + strings.Repeat("A", 43)})
		},
		"another's cookie": func(q *http.Request) { q.AddCookie(&http.Cookie{Name: "gaffer-1", Value: w.tokens[credential.Admin]}) },
	}, closed)
}

func TestSecurityALimitedTokenOnEveryRouteThatIsNotAboutItsOwnWork(t *testing.T) {
	open := []string{"GET /{$}", "GET /assets/{path...}", "GET /health", "GET /openapi.json", "GET /login", "GET /v1/self", "POST /v1/agents/heartbeat"}
	w := startWhole(t)
	h := w.begin("n", "text")
	book := credential.NewTokenStore(w.service.Tokens(), time.Now, rand.Reader)
	text, _, err := book.Create(t.Context(), credential.TokenSpec{Role: credential.Worker, Name: "limited", Limits: credential.Limits{Projects: []string{"web"}}})
	if err != nil {
		t.Fatal(err)
	}
	const limited credential.Role = "limited"
	w.tokens[limited] = text
	if got := w.ask(limited, http.MethodGet, "/v1/self", ""); got.status != 200 { // the coordinator knows the limited token
		t.Fatalf("%d %s", got.status, got.body)
	}
	closed := slices.DeleteFunc(server.Routes(), func(r server.Route) bool {
		return slices.Contains(open, r.Name) || strings.HasPrefix(r.Path, "/v1/work/")
	})
	w.turnedAway(h, 403, "limited", map[string]func(*http.Request){
		"a limited token": func(q *http.Request) { bearer(q, text) },
	}, closed)
}

func TestSecurityForeignOriginOnEveryRouteTheStreamAndTheSocket(t *testing.T) {
	w := startWhole(t)
	h := w.begin("n", "text")
	_, port, _ := net.SplitHostPort(w.addr)
	who := map[string]func(*http.Request){}
	for _, origin := range []string{
		"https://evil.example", "null", "http://127.0.0.1", "http://" + w.addr[:len(w.addr)-1], "http://" + w.addr + "0",
		"http://" + w.addr + ".evil.example", "http://evil.example/" + w.addr, "http://localhost:" + port, "file://", "%zz",
	} {
		who[origin] = func(q *http.Request) {
			bearer(q, w.tokens[credential.Admin])
			q.Header.Set("Origin", origin)
		}
		who[origin+" with a cookie"] = func(q *http.Request) {
			q.AddCookie(&http.Cookie{Name: "gaffer-" + port, Value: w.tokens[credential.Admin]})
			q.Header.Set("Origin", origin)
		}
		who[origin+" beside its own"] = func(q *http.Request) {
			bearer(q, w.tokens[credential.Admin])
			q.Header["Origin"] = []string{"http://" + w.addr, origin}
		}
	}
	w.turnedAway(h, 403, "foreign_origin", who, server.Routes())
}

func TestSecurityForeignHostOnEveryRouteTheStreamAndTheSocket(t *testing.T) {
	w := startWhole(t)
	h := w.begin("n", "text")
	_, port, _ := net.SplitHostPort(w.addr)
	who, pages := map[string]func(*http.Request){}, map[string]func(*http.Request){}
	for _, host := range []string{"evil.example:" + port, "127.0.0.1.evil.example", "0.0.0.0:" + port, "127.0.0.2:" + port, "127.0.0.1@evil.example"} {
		who[host] = func(q *http.Request) {
			bearer(q, w.tokens[credential.Admin])
			q.Host = host
		}
		pages[host+" with its own origin"] = func(q *http.Request) {
			bearer(q, w.tokens[credential.Admin])
			q.Host = host
			q.Header.Set("Origin", "http://"+host)
		}
	}
	// Load balancers may request /health under any host name, web pages may not.
	health := func(r server.Route) bool { return r.Path == "/health" }
	w.turnedAway(h, 403, "foreign_host", who, slices.DeleteFunc(server.Routes(), health))
	w.turnedAway(h, 403, "foreign_host", pages, server.Routes())
}

func TestSecurityATokenIsInNoLogNoErrorNoFigureAndNoEvent(t *testing.T) {
	w := startWhole(t)
	h := w.begin("n", "text")
	_, port, _ := net.SplitHostPort(w.addr)
	shown := w.tokens[credential.Operator] // sent as a credential, in valid and invalid ways; the server must never show it
	typed := w.tokens[credential.Viewer]   // sent by mistake as the text of a field
	var told []said
	var wrong sync.WaitGroup
	try := func(r server.Route, path, body string, change func(*http.Request)) {
		q := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), r.Method, "http://"+w.addr+path, strings.NewReader(body)))
		bearer(q, w.tokens[credential.Admin])
		if change != nil {
			change(q)
		}
		told = append(told, w.do(q))
	}
	for _, r := range server.Routes() {
		path, body, spots := validRequest(r, h)
		full := string(must[[]byte](t)(json.Marshal(body)))
		stream := r.Path == "/v1/stream" || r.Path == "/api/stream" || r.Path == "/ws"
		if !stream {
			try(r, path+"?token="+shown, full, func(q *http.Request) { q.Header.Del("Authorization") })
			try(r, path, full, func(q *http.Request) { bearer(q, shown) })
		}
		if !stream && r.Path != "/v1/logout" { // a logout would revoke the token
			try(r, path, full, func(q *http.Request) {
				q.Header.Del("Authorization")
				q.AddCookie(&http.Cookie{Name: "gaffer-" + port, Value: shown})
				q.Header.Set("Origin", "http://"+w.addr)
			})
		}
		wrong.Go(func() {
			w.knock(r, h, func(q *http.Request) {
				bearer(q, "gft_wrong")
				q.URL.RawQuery = "token=" + shown
			})
		})
		try(r, path, full, func(q *http.Request) { q.SetBasicAuth("x", shown) })
		try(r, path, full, func(q *http.Request) { q.Header.Set("Origin", "http://"+shown) })
		try(r, path, full, func(q *http.Request) { q.Host = shown })
		try(r, strings.NewReplacer("{id}", typed, "{name}", typed, "{message}", typed, "{$}", typed).Replace(r.Path), full, func(q *http.Request) {
			if stream {
				q.Header.Set("Origin", "null")
			}
		})
		for _, name := range r.Query {
			if !stream {
				try(r, path+"?"+url.Values{name: {typed}}.Encode(), full, nil)
				try(r, path+"?"+url.Values{name: {typed + "\n"}}.Encode(), full, nil)
			}
		}
		for _, s := range spots {
			for _, text := range []string{typed, typed + "\n../" + typed + "\x00"} {
				try(r, path, string(must[[]byte](t)(json.Marshal(with(body, s.path, text)))), nil)
			}
		}
		if r.Takes != nil {
			try(r, path, typed, nil)
			try(r, path, `{"`+typed+`":`, nil)
		}
	}
	wrong.Wait()
	w.hidden("the log", w.log.String(), shown, typed)
	w.hidden("the figures", w.ask(credential.Admin, "GET", "/metrics", "").body, shown, typed)
	refused := 0
	for _, s := range told {
		if s.status >= 400 {
			refused++
			w.hidden("an error", s.body, shown, typed)
		}
	}
	if refused < 200 || !strings.Contains(w.log.String(), "gft_…") {
		t.Errorf("%d were refused: nothing was tried", refused)
	}
	w.hidden("the events", w.ask(credential.Admin, "GET", "/v1/events?limit=1000", "").body, shown)
	w.good(credential.Admin, "POST", "/v1/events", map[string]any{"type": "last"}) // a change, so that the stream has something to send
	w.hidden("the stream", w.stream("?last_event_id=0", w.last()).body, shown)
	for _, file := range must[[]string](t)(filepath.Glob(filepath.Join(w.base, "gaffer.db*"))) {
		w.hidden(file, string(must[[]byte](t)(os.ReadFile(file))), shown)
	}
}

// hidden fails if text contains the secret part of one of the tokens.
func (w *whole) hidden(where, text string, tokens ...string) {
	w.t.Helper()
	for _, secret := range tokens {
		if i := strings.Index(text, secret[12:]); i >= 0 {
			w.t.Errorf("%s holds a token: %.300s", where, text[max(0, i-200):])
		}
	}
}

// spaces is a request body of a gigabyte that is generated while it is read.
type spaces struct{ read atomic.Int64 }

func (s *spaces) Read(p []byte) (int, error) {
	if s.read.Load() >= 1<<30 {
		return 0, io.EOF
	}
	for i := range p {
		p[i] = ' '
	}
	s.read.Add(int64(len(p)))
	return len(p), nil
}

// limitOf returns the maximum body length of a route.
func limitOf(r server.Route) int64 {
	switch r.Path {
	case "/v1/runs":
		return server.MaxPlan
	case "/v1/plans/check", "/v1/plans/start":
		return server.MaxDraft
	case "/v1/work/logs":
		return 256 << 10
	}
	return server.MaxBody
}

// takers returns the routes that read a request body.
func takers() []server.Route {
	none := []string{"POST /v1/login", "POST /v1/logout"} // these read no body
	return slices.DeleteFunc(server.Routes(), func(r server.Route) bool {
		return r.Method == http.MethodGet || r.Method == http.MethodDelete || slices.Contains(none, r.Name)
	})
}

// pour sends a body of a gigabyte. It returns the status of the answer and the number of bytes
// sent. The status is 0 if the connection was reset before the answer was read.
func (w *whole) pour(r server.Route, h held) (status int, sent int64) {
	path, _, _ := validRequest(r, h)
	if r.Path == "/v1/work/logs" {
		path += fmt.Sprintf("?attempt=%s&token=%d", h.Attempt, h.Token)
	}
	body := &spaces{}
	q, err := http.NewRequestWithContext(w.t.Context(), r.Method, "http://"+w.addr+path, body)
	if err != nil {
		w.t.Error(err)
		return 0, 0
	}
	bearer(q, w.tokens[credential.Admin])
	resp, err := w.client.Do(q)
	if err != nil {
		return 0, body.read.Load()
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // ignore the error: the answer may end early
	return resp.StatusCode, body.read.Load()
}

func TestSecurityABodyOfAGigabyteOnEveryRoute(t *testing.T) {
	w := startWhole(t)
	h := w.begin("n", "text")
	before, memory := w.last(), taken()
	for _, r := range server.Routes() {
		if r.Path == "/v1/stream" || r.Path == "/api/stream" || r.Path == "/ws" {
			continue // these routes stay open and read no body
		}
		reads := slices.ContainsFunc(takers(), func(a server.Route) bool { return a.Name == r.Name })
		status, sent := w.pour(r, h)
		if reads && status != 413 && status != 0 {
			t.Errorf("%s: %d", r.Name, status)
		}
		if sent > limitOf(r)+32<<20 { // the kernel may buffer 32 MB more
			t.Errorf("%s: %d bytes were sent", r.Name, sent)
		}
	}
	var all sync.WaitGroup
	for range 10 { // plans have the longest bodies, so send ten of them concurrently
		all.Go(func() {
			if status, _ := w.pour(server.Route{Method: "POST", Path: "/v1/runs"}, h); status != 413 && status != 503 && status != 0 {
				t.Errorf("plans at once: %d", status)
			}
		})
	}
	all.Wait()
	if grown := taken() - memory; grown > 768<<20 {
		t.Errorf("%d bytes of memory were taken", grown)
	}
	if after := w.last(); after != before {
		t.Errorf("%d changes were made", after-before)
	}
	t.Logf("%d MiB of memory were taken", (taken()-memory)>>20)
}

// taken returns how many bytes of memory this process has obtained from the system.
func taken() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}

func TestSecurityABodyMayBeAsLongAsItsRouteSaysAndNoLonger(t *testing.T) {
	w := startWhole(t)
	h := w.begin("n", "text")
	for _, r := range takers() {
		path, body, _ := validRequest(r, h)
		text := must[[]byte](t)(json.Marshal(body))
		if r.Path == "/v1/work/logs" {
			path, text = path+fmt.Sprintf("?attempt=%s&token=%d", h.Attempt, h.Token), nil
		}
		long := string(text) + strings.Repeat(" ", int(limitOf(r))-len(text))
		if got := w.ask(credential.Admin, r.Method, path, long+" "); got.status != 413 || got.code() != "too_large" {
			t.Errorf("%s, too long: %d %.200s", r.Name, got.status, got.body)
		}
		if got := w.ask(credential.Admin, r.Method, path, long); got.status == 413 || got.status >= 500 || got.code() == "bad_json" {
			t.Errorf("%s, just short enough: %d %.200s", r.Name, got.status, got.body)
		}
	}
}
