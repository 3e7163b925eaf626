package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/testkit/testenv"
)

// fakeTerminals has one terminal, of task t of run r.
type fakeTerminals struct {
	fail   error // error of Open
	opened chan *fakeTerminal
}

func (f *fakeTerminals) Open(_ context.Context, by credential.Identity, run, task string, size fleet.TerminalSize) (Terminal, error) {
	if f.fail != nil {
		return nil, f.fail
	}
	t := &fakeTerminal{user: by.Name, task: run + "/" + task, size: size, script: make(chan any), did: make(chan string, 100), over: make(chan struct{})}
	f.opened <- t
	return t, nil
}

// fakeTerminal shows what the test sends to script: output as []byte, a state, or an error, which
// ends it. endless means output without an end.
type fakeTerminal struct {
	user, task string
	size       fleet.TerminalSize
	script     chan any
	did        chan string   // what the client did
	over       chan struct{} // closed when Run has returned
	mu         sync.Mutex
	sent       int // number of bytes of endless output that were passed on
}

type endless struct{}

func (f *fakeTerminal) Run(ctx context.Context, output func([]byte) error, state func(fleet.TerminalState) error) error {
	defer close(f.over)
	for {
		var err error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case step := <-f.script:
			switch v := step.(type) {
			case []byte:
				err = output(v)
			case fleet.TerminalState:
				err = state(v)
			case error:
				return v
			case endless:
				for err == nil {
					if err = output(make([]byte, 32<<10)); err == nil {
						f.mu.Lock()
						f.sent += 32 << 10
						f.mu.Unlock()
					}
				}
			default:
				return nil
			}
		}
		if err != nil {
			return err
		}
	}
}

func (f *fakeTerminal) Resize(s fleet.TerminalSize) {
	f.did <- fmt.Sprint("resize ", s.Columns, " ", s.Rows)
}
func (f *fakeTerminal) TakeKeyboard()    { f.did <- "take" }
func (f *fakeTerminal) ReleaseKeyboard() { f.did <- "release" }
func (f *fakeTerminal) Type(keys []byte) { f.did <- "type " + string(keys) }

func (f *fakeTerminal) total() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sent
}

const terminalPath = "/v1/runs/r/tasks/t/terminal"

func startTerminals(t *testing.T, change func(*Options)) (*world, *fakeTerminals) {
	t.Helper()
	f := &fakeTerminals{opened: make(chan *fakeTerminal, 10)}
	return start(t, func(o *Options) {
		o.Terminals = f
		if change != nil {
			change(o)
		}
	}), f
}

// watch opens the terminal as a user with a role.
func (w *world) watch(role credential.Role, f *fakeTerminals) (*visitor, *fakeTerminal) {
	w.t.Helper()
	conn, refused := w.try(terminalPath+"?columns=100&rows=30", func(o *websocket.DialOptions) {
		o.HTTPHeader.Set("Authorization", "Bearer "+w.tokens[role])
	})
	if conn == nil {
		w.t.Fatal(refused)
	}
	w.t.Cleanup(func() { _ = conn.CloseNow() })
	return &visitor{w.t, conn}, <-f.opened
}

func (p *visitor) types(keys string) {
	p.t.Helper()
	if err := p.conn.Write(p.t.Context(), websocket.MessageBinary, []byte(keys)); err != nil {
		p.t.Fatal(err)
	}
}

func TestATerminalIsWatchedAndTypedIn(t *testing.T) {
	w, f := startTerminals(t, nil)
	p, view := w.watch(credential.Operator, f)
	if view.user != "the operator" || view.task != "r/t" || view.size != (fleet.TerminalSize{Columns: 100, Rows: 30}) {
		t.Errorf("%+v", view)
	}
	view.script <- fleet.TerminalState{Phase: fleet.TerminalLive, Screen: 1, TerminalSize: view.size, Typist: "<bob>"}
	if m := p.until("state"); m["phase"] != "live" || m["screen"] != 1.0 || m["columns"] != 100.0 || m["typist"] != "<bob>" || m["mine"] != nil {
		t.Errorf("%v", m)
	}
	view.script <- []byte("\x1b[Hhello")
	if kind, data, err := p.conn.Read(t.Context()); kind != websocket.MessageBinary || string(data) != "\x1b[Hhello" || err != nil {
		t.Errorf("%v %q %v", kind, data, err)
	}
	p.say(`{"type":"resize","columns":80,"rows":24}`)
	p.say(`{"type":"keyboard","take":true}`)
	p.types("yes\r")
	p.say(`{"type":"keyboard","take":false}`)
	for _, want := range []string{"resize 80 24", "take", "type yes\r", "release"} {
		if got := <-view.did; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for say, code := range map[string]string{`{`: "bad_json", `[]`: "bad_json", `{}`: "invalid_request", `{"type":"x"}`: "invalid_request"} {
		p.say(say)
		if m := p.until("error"); dig(m, "error.code") != code {
			t.Errorf("%s: %v", say, m)
		}
	}
	log := testenv.WaitFor(t, "a line about the keyboard", w.log.String, func(text string) bool { return strings.Contains(text, "took the keyboard of a terminal") })
	if !strings.Contains(log, `"about":"task t of run r"`) || !strings.Contains(log, `"name":"the operator"`) || strings.Contains(log, "yes") {
		t.Errorf("the log says %s", log)
	}
	view.script <- "end"
	if code := p.ends(); code != websocket.StatusNormalClosure {
		t.Errorf("%v", code)
	}
}

func TestSecurityOnlyWhoMayOperateTypesInATerminal(t *testing.T) {
	w, f := startTerminals(t, nil)
	mayNot := func(p *visitor, view *fakeTerminal) {
		t.Helper()
		p.say(`{"type":"keyboard","take":true}`)
		if m := p.until("error"); dig(m, "error.code") != "forbidden" {
			t.Errorf("%v", m)
		}
		view.script <- "end"
		p.ends()
		<-view.over
		select {
		case did := <-view.did:
			t.Errorf("it did %s", did)
		default:
		}
	}
	for _, role := range []credential.Role{credential.Viewer, credential.Worker} {
		mayNot(w.watch(role, f))
	}
	conn, refused := w.try(terminalPath+"?token="+w.tokens[credential.Admin], nil) // a link on any page may have this form
	if conn == nil {
		t.Fatal(refused)
	}
	mayNot(&visitor{t, conn}, <-f.opened)
	if strings.Contains(w.log.String(), "took the keyboard") {
		t.Error("the log says that the keyboard was taken")
	}
}

func TestSecurityATerminalIsRefusedToOtherSites(t *testing.T) {
	w, _ := startTerminals(t, nil)
	port := w.addr[strings.LastIndexByte(w.addr, ':')+1:]
	withCookie := func(origin string) func(*websocket.DialOptions) {
		return func(o *websocket.DialOptions) {
			o.HTTPHeader.Set("Cookie", "gaffer-"+port+"="+w.tokens[credential.Admin])
			if origin != "" {
				o.HTTPHeader.Set("Origin", origin)
			}
		}
	}
	for what, one := range map[string]struct {
		change func(*websocket.DialOptions)
		want   string
	}{
		"no token":        {nil, "401 unauthorized"},
		"another origin":  {withCookie("http://evil.example"), "403 foreign_origin"},
		"no origin":       {withCookie(""), "403 forgery"},
		"this server":     {withCookie("http://" + w.addr), ""},
		"an origin alone": {func(o *websocket.DialOptions) { o.HTTPHeader.Set("Origin", "http://"+w.addr) }, "401 unauthorized"},
	} {
		conn, refused := w.try(terminalPath, one.change)
		if conn != nil {
			_ = conn.CloseNow()
		}
		if refused != one.want {
			t.Errorf("%s: %q, want %q", what, refused, one.want)
		}
	}
	w.wants("without a socket", w.ask(credential.Viewer, "GET", terminalPath, ""), 426, "upgrade_required")
	w.wants("a wrong size", w.do(upgrade(w, terminalPath+"?columns=x")), 400, "invalid_request")
}

func upgrade(w *world, path string) *http.Request {
	r := w.request("GET", path, "")
	r.Header.Set("Authorization", "Bearer "+w.tokens[credential.Viewer])
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "websocket")
	return r
}

// A browser does not show its pages the answer to a request for a socket.
func TestAnErrorOfATerminalIsSentOverTheSocket(t *testing.T) {
	w, f := startTerminals(t, nil)
	for _, one := range []struct {
		fail error
		code string
	}{
		{&serviceError{"missing", "no_terminal", "t runs on build-7: 'gaffer attach t' there shows it"}, "no_terminal"},
		{errors.New("a secret"), "internal"},
	} {
		f.fail = one.fail
		conn, refused := w.try(terminalPath, func(o *websocket.DialOptions) {
			o.HTTPHeader.Set("Authorization", "Bearer "+w.tokens[credential.Viewer])
		})
		if conn == nil {
			t.Fatal(refused)
		}
		p := &visitor{t, conn}
		m := p.until("error")
		if text := fmt.Sprint(dig(m, "error.message")); dig(m, "error.code") != one.code || strings.Contains(text, "secret") || one.code == "no_terminal" && !strings.Contains(text, "build-7") {
			t.Errorf("%v", m)
		}
		p.ends()
	}
	f.fail = nil
	p, view := w.watch(credential.Viewer, f)
	view.script <- errors.New("it broke")
	if m := p.until("error"); dig(m, "error.code") != "internal" {
		t.Errorf("%v", m)
	}
	testenv.WaitFor(t, "the reason in the log", w.log.String, func(text string) bool { return strings.Contains(text, "it broke") })
}

func TestATerminalSendsNoMoreThanItsClientConfirms(t *testing.T) {
	w, f := startTerminals(t, nil)
	p, view := w.watch(credential.Viewer, f)
	view.script <- endless{}
	read := func(want int) {
		t.Helper()
		for got := 0; got < want; {
			_, data, err := p.conn.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got += len(data)
		}
	}
	read(maxUnconfirmed)
	for range 3 {
		testenv.WaitFor(t, "the end of what is allowed", view.total, func(n int) bool { return n%maxUnconfirmed == 0 })
		p.say(fmt.Sprintf(`{"type":"shown","bytes":%d}`, maxUnconfirmed))
		read(maxUnconfirmed)
	}
	if n := view.total(); n > 4*maxUnconfirmed {
		t.Errorf("%d bytes were sent, %d confirmed", n, 3*maxUnconfirmed)
	}
	p.say(`{"type":"shown","bytes":-1}`)
	_ = p.conn.CloseNow()
	<-view.over
}

func TestAServerThatStopsClosesItsTerminals(t *testing.T) {
	w, f := startTerminals(t, nil)
	idle, one := w.watch(credential.Viewer, f)
	slow, two := w.watch(credential.Viewer, f)
	two.script <- endless{}
	w.stop()
	for _, p := range []*visitor{idle, slow} {
		for {
			_, _, err := p.conn.Read(t.Context())
			if err == nil {
				continue
			}
			if code := websocket.CloseStatus(err); code != websocket.StatusGoingAway {
				t.Errorf("%v: %v", code, err)
			}
			break
		}
	}
	<-one.over
	<-two.over
	<-w.ended
}

func TestATerminalIsClosedWhenItsTokenIsRevoked(t *testing.T) {
	w, f := startTerminals(t, func(o *Options) { o.KeepAlive = 20 * time.Millisecond })
	p, view := w.watch(credential.Operator, f)
	if _, err := w.book.Revoke(t.Context(), "the operator"); err != nil {
		t.Fatal(err)
	}
	if code := p.ends(); code != websocket.StatusPolicyViolation {
		t.Errorf("%v", code)
	}
	<-view.over
}
