package serve

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
	"gaffer/internal/api/server"
	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/page"
	"gaffer/internal/exit"
	"gaffer/internal/testkit/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// emptyService is a coordinator service that has no agents and never changes.
type emptyService struct{ server.Protocol }

func (emptyService) Ready(context.Context) error                         { return nil }
func (emptyService) Last(context.Context) (int64, error)                 { return 0, nil }
func (emptyService) Agents(context.Context) ([]coordinator.Agent, error) { return nil, nil }
func (emptyService) Wait(ctx context.Context, _ int64) error             { <-ctx.Done(); return ctx.Err() }

// rows stores tokens in memory.
type rows struct {
	mu  sync.Mutex
	all map[string]credential.Token
}

func (r *rows) List(context.Context) (list []credential.Token, _ error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, row := range r.all {
		list = append(list, row)
	}
	return list, nil
}

func (r *rows) Put(_ context.Context, row credential.Token) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all[row.ID] = row
	return nil
}

func (r *rows) Drop(_ context.Context, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, id)
	return nil
}

func (r *rows) Touch(context.Context, string, time.Time) error { return nil }

// output is a buffer that can be read and written concurrently.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// command is 'gaffer serve' with an in-memory database.
type command struct {
	t        *testing.T
	state    string
	rows     *rows
	out, err *output
	closed   int
	piped    bool          // stdout is not a terminal
	retained time.Duration // the duration that was passed to DeleteOldRuns
	stopped  bool          // the stop function of DeleteOldRuns was called
}

func newCommand(t *testing.T) *command {
	return &command{t: t, state: filepath.Join(t.TempDir(), "state"), rows: &rows{all: map[string]credential.Token{}}}
}

// start runs the command. The returned channel receives the command's error when it ends.
func (c *command) start(ctx context.Context, args ...string) <-chan error {
	c.out, c.err = &output{}, &output{}
	e := &env.Env{Out: c.out, Err: c.err, Getenv: func(string) string { return "" }, Dir: c.t.TempDir(), Now: time.Now}
	cmd := newWith(e, func(context.Context, app.ServerOptions) (page.Backend, error) {
		return page.Backend{
			Protocol: emptyService{}, Tokens: c.rows, State: c.state, Close: func() error { c.closed++; return nil },
			DeleteOldRuns: func(older time.Duration) func() {
				c.retained = older
				return func() { c.stopped = c.closed == 0 }
			},
		}, nil
	}, !c.piped)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"--listen", "127.0.0.1:0"}, args...))
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	return ended
}

// find waits until the output matches a pattern, and returns the match.
func (c *command) find(pattern string) string {
	c.t.Helper()
	var m []string
	testenv.Wait(c.t, pattern+" in the output", func() error {
		if m = regexp.MustCompile(pattern).FindStringSubmatch(c.out.String()); m == nil {
			return fmt.Errorf("it printed\n%s\n%s", c.out, c.err)
		}
		return nil
	})
	return m[1]
}

func client(t *testing.T) *http.Client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := client(t).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestServePrintsTheTokenAndALinkAndStopsOnASignal(t *testing.T) {
	c := newCommand(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := c.start(ctx)
	link := c.find(`within a minute: (\S+)`)
	base := c.find(`Listening on (\S+)`)
	text := c.find(`(gft_\S+)`)

	kept, err := os.ReadFile(filepath.Join(c.state, "token"))
	if err != nil || strings.TrimSpace(string(kept)) != text {
		t.Errorf("kept %q, %v", kept, err)
	}
	if status, body := get(t, base+"/v1/agents?token="+text); status != 200 {
		t.Errorf("with the token: %d %s", status, body)
	}
	if status, _ := get(t, base+"/health"); status != 200 {
		t.Errorf("health: %d", status)
	}
	if status, _ := get(t, link); status != 303 {
		t.Errorf("the link: %d", status)
	}
	if status, _ := get(t, link); status != 401 {
		t.Errorf("the link again: %d", status)
	}
	stop()
	if err := <-ended; err != nil || c.closed != 1 {
		t.Errorf("%v, closed %d times", err, c.closed)
	}
	if !strings.Contains(c.err.String(), `"msg":"stopped"`) || strings.Contains(c.err.String(), text[4:]) {
		t.Errorf("the log:\n%s", c.err)
	}
}

func TestTheFirstTokenIsPrintedOnce(t *testing.T) {
	c := newCommand(t)
	for i := range 2 {
		ctx, stop := context.WithCancel(t.Context())
		ended := c.start(ctx)
		c.find(`within a minute: (\S+)`)
		stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(c.out.String(), "gft_"); has != (i == 0) {
			t.Errorf("start %d:\n%s", i+1, c.out)
		}
	}
}

// If stdout is not a terminal, it may be a journal that other users can read.
func TestTheTokenAndTheLinkArePrintedOnlyToATerminal(t *testing.T) {
	c := newCommand(t)
	c.piped = true
	ctx, stop := context.WithCancel(t.Context())
	ended := c.start(ctx)
	base := c.find(`Listening on (\S+)`)
	file := c.find(`token of the first admin is in (\S+),`)
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if status, body := get(t, base+"/v1/agents?token="+strings.TrimSpace(string(kept))); status != 200 {
		t.Errorf("with the token: %d %s", status, body)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if all := c.out.String() + c.err.String(); strings.Contains(all, "gft_") || strings.Contains(all, "/login") {
		t.Errorf("printed:\n%s", all)
	}
}

func TestServeDeletesOldDataOnlyWithKeep(t *testing.T) {
	for args, want := range map[string]time.Duration{"": 0, "--keep 30d": 30 * 24 * time.Hour} {
		c := newCommand(t)
		ctx, stop := context.WithCancel(t.Context())
		ended := c.start(ctx, strings.Fields(args)...)
		c.find(`(Listening) on`)
		stop()
		if err := <-ended; err != nil || c.retained != want || c.stopped != (want > 0) {
			t.Errorf("%q: %v, kept %s, stopped before the database is closed: %v", args, err, c.retained, c.stopped)
		}
	}
}

func TestServeWithItsOwnCertificatePrintsTheFingerprint(t *testing.T) {
	c := newCommand(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := c.start(ctx, "--tls", "--host", "build.example")
	fingerprint := c.find(`fingerprint of the certificate: ([0-9A-F:]{95})`)
	base := c.find(`Listening on (https://\S+)`)
	resp, err := client(t).Get(base + "/health")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	shown := server.Fingerprint(&tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{resp.TLS.PeerCertificates[0].Raw}}}})
	if shown != fingerprint || resp.TLS.PeerCertificates[0].VerifyHostname("build.example") != nil {
		t.Errorf("shown %s, printed %s", shown, fingerprint)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestServeRefusesToSendTokensInPlainTextBeyondThisMachine(t *testing.T) {
	for args, want := range map[string]string{
		"--listen 0.0.0.0:0":                         "other machines",
		"--listen :0":                                "other machines",
		"--listen [::]:0":                            "other machines",
		"--listen 0.0.0.0:0 --tls --open-reads":      "--open-reads is for this machine alone",
		"--listen 0.0.0.0:0 --insecure --open-reads": "--open-reads is for this machine alone",
		"--tls-cert x":                               "go together",
		"--tls-key x":                                "go together",
		"--tls --tls-cert x --tls-key y":             "leave it out",
		"--lease 1s":                                 "want 2s at least",
		"--lease 25h":                                "24h0m0s at most",
		"--log-limit 0":                              "want 1 to 1024",
		"--connections 0":                            "want 1 at least",
		"--rate -1":                                  "want 0 or more",
		"--keep 10m":                                 "--keep 10m0s: want 1h0m0s at least",
	} {
		c := newCommand(t)
		err := <-c.start(t.Context(), strings.Fields(args)...)
		if err == nil || !strings.Contains(err.Error(), want) || exit.Of(err) != exit.CodeUsage {
			t.Errorf("%s: %v, want a usage error with %q", args, err, want)
		}
		if c.out.String() != "" || len(c.rows.all) != 0 {
			t.Errorf("%s: it began:\n%s", args, c.out)
		}
	}
}

func TestServeUsesPlainTextBeyondThisMachineOnlyWithInsecure(t *testing.T) {
	for _, args := range []string{"--listen 0.0.0.0:0 --insecure", "--listen 0.0.0.0:0 --tls"} {
		c := newCommand(t)
		ctx, stop := context.WithCancel(t.Context())
		ended := c.start(ctx, strings.Fields(args)...)
		if status, body := get(t, c.find(`Listening on (https?://localhost:\d+)`)+"/health"); status != 200 {
			t.Errorf("%s: %d %s", args, status, body)
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestAUsedAddressIsReportedAndNothingIsOpened(t *testing.T) {
	c := newCommand(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := c.start(ctx)
	address := c.find(`Listening on http://(\S+)`)
	second := newCommand(t)
	if err := <-second.start(t.Context(), "--listen", address); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("%v", err)
	}
	if second.closed != 0 {
		t.Error("the database was opened")
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestServeReturnsTheErrorOfTheDatabase(t *testing.T) {
	e := &env.Env{Out: &output{}, Err: &output{}, Now: time.Now}
	want := errors.New("no database")
	err := run(t.Context(), e, options{listen: "127.0.0.1:0", connections: 1, lease: time.Minute, logLimit: 1}, func(context.Context, app.ServerOptions) (page.Backend, error) { return page.Backend{}, want })
	if !errors.Is(err, want) {
		t.Errorf("%v", err)
	}
}

func TestSecurityRunsStartOnAReachableServerOnlyIfTheUserSaysSo(t *testing.T) {
	t.Parallel()
	stop := errors.New("stop")
	for flags, want := range map[string]bool{
		"":                              false,
		"--workers-only":                true,
		"--listen 0.0.0.0:0 --insecure": true,
		"--host build.example":          true,
		"--trusted-proxy 127.0.0.1":     true,
		"--workers-only=false --host build.example": false,
	} {
		var got app.ServerOptions
		cmd := newWith(&env.Env{Out: io.Discard, Err: io.Discard, Getenv: func(string) string { return "" }}, func(_ context.Context, o app.ServerOptions) (page.Backend, error) {
			got = o
			return page.Backend{}, stop
		}, false)
		cmd.SetArgs(append([]string{"--listen", "127.0.0.1:0"}, strings.Fields(flags)...))
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.ExecuteContext(t.Context()); !errors.Is(err, stop) {
			t.Errorf("%q: %v", flags, err)
		}
		if got.WorkersOnly != want {
			t.Errorf("%q: runs start only on workers: %v, want %v", flags, got.WorkersOnly, want)
		}
	}
}
