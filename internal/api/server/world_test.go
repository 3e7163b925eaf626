package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gaffer/internal/api/credential"
)

func TestMain(m *testing.M) {
	if n := os.Getenv(crowdLimit); n != "" {
		if err := serveCrowd(n); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// world is a server that listens on loopback, with an in-memory service and a token for
// each role.
type world struct {
	t       *testing.T
	service *standIn
	work    *workStandIn
	rows    *memory
	book    *credential.TokenStore
	log     *lines
	server  *Server
	client  *http.Client
	addr    string
	stop    context.CancelFunc
	ended   chan struct{} // closed when the server has stopped
	tokens  map[credential.Role]string
}

// lines is the server's log. Tests may read it while the server writes it.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func start(t *testing.T, change func(*Options)) *world {
	t.Helper()
	w := &world{
		t: t, service: newStandIn(time.Now), work: &workStandIn{}, rows: &memory{rows: map[string]credential.Token{}}, log: &lines{},
		tokens: map[credential.Role]string{},
	}
	w.book = credential.NewTokenStore(w.rows, time.Now, rand.Reader)
	for _, role := range credential.Roles() {
		text, _, err := w.book.Create(t.Context(), credential.TokenSpec{Role: role, Name: "the " + string(role)})
		if err != nil {
			t.Fatal(err)
		}
		w.tokens[role] = text
	}
	w.serve(change)
	return w
}

// serve starts another server with the same service and tokens.
func (w *world) serve(change func(*Options)) {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	hosts, err := HostsOf(l.Addr(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	opts := Options{
		Protocol: w.service, Work: w.work, Tokens: w.book, Log: NewLog(w.log, slog.LevelDebug), Now: time.Now, Random: rand.Reader,
		Hosts: hosts, Rate: -1, Page: front{},
	}
	if change != nil {
		change(&opts)
	}
	if w.server, err = New(opts); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended, server := make(chan struct{}), w.server
	go func() {
		defer close(ended)
		if err := server.Serve(ctx, l); err != nil {
			w.t.Errorf("serve: %v", err)
		}
	}()
	transport := &http.Transport{}
	w.client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	w.addr, w.stop, w.ended = l.Addr().String(), cancel, ended
	w.t.Cleanup(func() {
		cancel()
		<-ended
		transport.CloseIdleConnections()
	})
}

// reply is an HTTP answer whose body was read completely.
type reply struct {
	status int
	header http.Header
	body   string
}

// code returns the protocol's error code in the answer.
func (r reply) code() string {
	var f failure
	if json.Unmarshal([]byte(r.body), &f) != nil {
		return "no JSON: " + r.body
	}
	return f.Error.Code
}

func (w *world) request(method, path, body string) *http.Request {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, "http://"+w.addr+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// ask sends a request with the token of a role. An empty role means no token.
func (w *world) ask(role credential.Role, method, path, body string) reply {
	w.t.Helper()
	r := w.request(method, path, body)
	if role != "" {
		r.Header.Set("Authorization", "Bearer "+w.tokens[role])
	}
	return w.do(r)
}

func (w *world) do(r *http.Request) reply {
	w.t.Helper()
	resp, err := w.client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(data)}
}

// wants fails unless the answer has this status and, if it is an error, this code.
func (w *world) wants(what string, got reply, status int, code string) {
	w.t.Helper()
	if got.status != status || got.code() != code {
		w.t.Errorf("%s: %d %s, want %d and the code %q", what, got.status, strings.TrimSpace(got.body), status, code)
	}
}

// field returns the value at a path of member names in the answer's JSON.
func (r reply) field(names ...string) any {
	var value any
	_ = json.Unmarshal([]byte(r.body), &value)
	for _, name := range names {
		m, _ := value.(map[string]any)
		value = m[name]
	}
	return value
}

// front is a dashboard with one file.
type front struct{}

func (front) Has(path string) bool { return path == "x" }

func (front) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write([]byte("a page")) // an error only means that the client has disconnected
}
