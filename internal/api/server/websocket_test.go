package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"gaffer/internal/api/credential"
	"gaffer/internal/testkit/testenv"
)

// visitor is a client with an open WebSocket.
type visitor struct {
	t    *testing.T
	conn *websocket.Conn
}

// try opens a WebSocket. If the server refuses it, refused is the status and the error code.
func (w *world) try(path string, change func(*websocket.DialOptions)) (conn *websocket.Conn, refused string) {
	opts := &websocket.DialOptions{HTTPClient: w.client, HTTPHeader: http.Header{}}
	if change != nil {
		change(opts)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	conn, resp, err := websocket.Dial(ctx, "ws://"+w.addr+path, opts)
	if err == nil {
		conn.SetReadLimit(8 << 20)
		return conn, ""
	}
	if resp == nil {
		return nil, err.Error()
	}
	defer resp.Body.Close()
	var f failure
	if err := json.NewDecoder(resp.Body).Decode(&f); err != nil {
		return nil, err.Error()
	}
	return nil, fmt.Sprint(resp.StatusCode, " ", f.Error.Code)
}

func (g *gallery) open(query string) *visitor {
	g.t.Helper()
	conn, refused := g.try("/ws?token="+g.tokens[credential.Viewer]+query, nil)
	if conn == nil {
		g.t.Fatal(refused)
	}
	g.t.Cleanup(func() { _ = conn.CloseNow() })
	return &visitor{g.t, conn}
}

func (p *visitor) next() (map[string]any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_, data, err := p.conn.Read(ctx)
	if err != nil {
		return nil, err
	}
	if strings.ContainsAny(string(data), "<>&") {
		p.t.Errorf("HTML: %s", data)
	}
	var m map[string]any
	return m, json.Unmarshal(data, &m)
}

// until reads up to the first message of a type.
func (p *visitor) until(kind string) map[string]any {
	p.t.Helper()
	for {
		m, err := p.next()
		if err != nil {
			p.t.Fatalf("no %s: %v", kind, err)
		}
		if m["type"] == kind {
			return m
		}
	}
}

// state reads up to the message with the workflow state. It may come with the history or after it.
func (p *visitor) state() map[string]any {
	p.t.Helper()
	for {
		m, err := p.next()
		if err != nil {
			p.t.Fatalf("no state: %v", err)
		}
		told, _ := m["events"].([]any)
		for _, e := range append(told, m) {
			if e, _ := e.(map[string]any); e["type"] == "viewer-state" {
				return e
			}
		}
	}
}

func (p *visitor) say(text string) {
	p.t.Helper()
	if err := p.conn.Write(p.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		p.t.Fatal(err)
	}
}

// ends reads until the socket is closed, and returns the close code.
func (p *visitor) ends() websocket.StatusCode {
	for {
		if _, err := p.next(); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

func TestASocketSendsEverythingThatAViewerShows(t *testing.T) {
	g := exhibit(t, nil)
	home := filepath.Join(g.base, "home")
	g.write(home, "state.json", `{"nextStep":"<go>"}`)
	g.write(home, "spec.md", "# One\n")
	p := g.open("")
	if m := p.until("projects-update"); dig(m["projects"], "0.path") != home {
		t.Errorf("%v", m)
	}
	if m := p.state(); m["nextStep"] != "<go>" || m["_project"] != home || m["_seq"] == nil {
		t.Errorf("%v", m)
	}
	g.ask(credential.Operator, "POST", "/api/inbox", `{"type":"evolve","content":"<b>"}`)
	for items := any(nil); ; {
		m := p.until("inbox-update")
		if items = m["items"]; len(items.([]any)) == 1 {
			if m["_project"] != home || m["_seq"] == nil || dig(items, "0.content") != "<b>" {
				t.Errorf("%v", m)
			}
			break
		}
	}
	g.ask(credential.Operator, "POST", "/api/build-events", `{"kind":"chunk-started","chunk":"A"}`)
	m := p.until("build-event")
	if dig(m, "event.chunk") != "A" || m["_project"] != home {
		t.Errorf("%v", m)
	}
	seq := m["_seq"].(float64)

	byRename(t, filepath.Join(home, ".fctry", "spec.md"), "# Two\n")
	if m := p.until("spec-update"); m["content"] != "# Two\n" || m["_seq"].(float64) <= seq {
		t.Errorf("%v", m)
	}
	p.say(`{"type":"backfill","afterSeq":` + fmt.Sprintf("%.0f", seq-1) + `}`)
	m = p.until("event-history")
	if m["latestSeq"].(float64) < seq || m["_project"] != home {
		t.Errorf("%v", m)
	}
	first, _ := m["events"].([]any)
	if len(first) == 0 || first[0].(map[string]any)["type"] != "build-event" || first[0].(map[string]any)["_seq"] != seq || m["truncated"] != nil {
		t.Errorf("%v", m)
	}
	p.say(`{"type":"request-state"}`)
	if m := p.until("viewer-state"); m["nextStep"] != "<go>" || dig(m["buildEvents"], "0.chunk") != "A" {
		t.Errorf("%v", m)
	}
	p.until("event-history")

	other := g.register("other")
	if m := p.until("projects-update"); dig(m["projects"], "1.path") != other {
		t.Errorf("%v", m)
	}
	p.say(`{"type":"switch-project","project":"other"}`)
	if m := p.state(); m["_project"] != other {
		t.Errorf("%v", m)
	}
	g.ask(credential.Operator, "POST", "/api/build-events?project=home", `{"kind":"not-for-us"}`)
	g.ask(credential.Operator, "POST", "/api/build-events?project=other", `{"kind":"for-us"}`)
	if m := p.until("build-event"); dig(m, "event.kind") != "for-us" || m["_project"] != other {
		t.Errorf("%v", m)
	}
	for say, code := range map[string]string{
		`{`: "bad_json", `[]`: "bad_json", `{"type":"x"}`: "invalid_request", `{}`: "invalid_request", `{"type":"backfill","afterSeq":"x"}`: "bad_json",
		`{"type":"switch-project","project":"none"}`: "project_not_found", `{"type":"switch-project","project":"../home"}`: "project_not_found",
		`{"type":"switch-project","project":"a\u0000"}`: "invalid_request",
	} {
		p.say(say)
		if m := p.until("error"); dig(m, "error.code") != code {
			t.Errorf("%s: %v", say, m)
		}
	}
	p.say(`{"type":"switch-project","project":` + jsonOf(home) + `}`)
	if m := p.until("event-history"); m["_project"] != home {
		t.Errorf("%v", m)
	}
}

func TestEverySocketGetsEveryEventOnceAndInOrder(t *testing.T) {
	const posts = 40
	g := exhibit(t, nil)
	pages := []*visitor{g.open(""), g.open("&project=home"), g.open("")}
	for _, p := range pages {
		p.state()
	}
	var group sync.WaitGroup
	defer group.Wait()
	for i := range posts {
		group.Go(func() {
			g.ask(credential.Operator, "POST", "/api/build-events", fmt.Sprintf(`{"kind":"k","chunk":"c%d"}`, i))
		})
	}
	for _, p := range pages {
		got, last := map[any]int{}, 0.0
		for len(got) < posts {
			m := p.until("build-event")
			got[dig(m, "event.chunk")]++
			if seq := m["_seq"].(float64); seq <= last {
				t.Errorf("%v after %v", seq, last)
			} else {
				last = seq
			}
		}
		for chunk, n := range got {
			if n != 1 {
				t.Errorf("%v came %d times", chunk, n)
			}
		}
	}
}

func TestSecurityOfTheSocket(t *testing.T) {
	g := exhibit(t, func(o *Options) { o.UnauthenticatedRate = -1 })
	in := "/ws?token=" + g.tokens[credential.Viewer]
	_, port, _ := net.SplitHostPort(g.addr)
	for what, c := range map[string]struct {
		path    string
		change  func(*websocket.DialOptions)
		refused string
	}{
		"no token":         {"/ws", nil, "401 unauthorized"},
		"a wrong token":    {"/ws?token=gft_x", nil, "401 unauthorized"},
		"a foreign origin": {in, func(o *websocket.DialOptions) { o.HTTPHeader.Set("Origin", "https://evil.example") }, "403 foreign_origin"},
		"no origin at all": {in, func(o *websocket.DialOptions) { o.HTTPHeader.Set("Origin", "null") }, "403 foreign_origin"},
		"another port":     {in, func(o *websocket.DialOptions) { o.HTTPHeader.Set("Origin", "http://127.0.0.1:1") }, "403 foreign_origin"},
		"a foreign host":   {in, func(o *websocket.DialOptions) { o.Host = "evil.example:" + port }, "403 foreign_host"},
		"a foreign host of its own origin": {in, func(o *websocket.DialOptions) {
			o.Host = "evil.example:" + port
			o.HTTPHeader.Set("Origin", "http://evil.example:"+port)
		}, "403 foreign_host"},
		"a cookie without an origin": {"/ws", func(o *websocket.DialOptions) {
			o.HTTPHeader.Set("Cookie", "gaffer-"+port+"="+g.tokens[credential.Viewer])
		}, "403 forgery"},
		"a project that is not there": {in + "&project=../x", nil, "404 project_not_found"},
	} {
		conn, refused := g.try(c.path, c.change)
		if conn != nil {
			_ = conn.CloseNow()
		}
		if refused != c.refused {
			t.Errorf("%s: %q, want %q", what, refused, c.refused)
		}
	}
	for what, change := range map[string]func(*websocket.DialOptions){
		"a bearer": func(o *websocket.DialOptions) {
			o.HTTPHeader.Set("Authorization", "Bearer "+g.tokens[credential.Worker])
		},
		"the cookie of its own page": func(o *websocket.DialOptions) {
			o.HTTPHeader.Set("Cookie", "gaffer-"+port+"="+g.tokens[credential.Viewer])
			o.HTTPHeader.Set("Origin", "http://"+g.addr)
		},
	} {
		conn, refused := g.try("/ws", change)
		if conn == nil {
			t.Errorf("%s: %s", what, refused)
			continue
		}
		_ = conn.CloseNow()
	}
	if log := g.log.String(); strings.Contains(log, g.tokens[credential.Viewer]) {
		t.Error("a token is in the log")
	}
}

func TestASocketIsClosedWhenItsTokenIsRevoked(t *testing.T) {
	g := exhibit(t, func(o *Options) { o.KeepAlive = 20 * time.Millisecond })
	p := g.open("")
	p.state()
	if _, err := g.book.Revoke(t.Context(), "the viewer"); err != nil {
		t.Fatal(err)
	}
	if code := p.ends(); code != websocket.StatusPolicyViolation {
		t.Errorf("closed with %d", code)
	}
}

func TestAClientThatAsksTooMuchIsCutOff(t *testing.T) {
	now := time.Now() // the clock stands still, because the rate limit refills with time
	g := exhibit(t, func(o *Options) { o.Rate, o.Now = 10, func() time.Time { return now } })
	p := g.open("")
	p.state()
	for range 30 {
		if p.conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"backfill"}`)) != nil {
			break
		}
	}
	if code := p.ends(); code != websocket.StatusPolicyViolation {
		t.Errorf("closed with %d", code)
	}
}

func TestAMessageThatIsTooLongEndsTheSocket(t *testing.T) {
	p := exhibit(t, nil).open("")
	_ = p.conn.Write(t.Context(), websocket.MessageText, []byte(strings.Repeat("x", 20_000)))
	if code := p.ends(); code != websocket.StatusMessageTooBig {
		t.Errorf("closed with %d", code)
	}
}

func TestAClientThatIsGoneIsNoticedByPings(t *testing.T) {
	g := exhibit(t, func(o *Options) { o.KeepAlive, o.Send = 20*time.Millisecond, 50*time.Millisecond })
	g.open("") // this client reads nothing, so it answers no ping
	testenv.WaitFor(t, "it is cut off", g.server.metrics.inProgress.Load, func(n int64) bool { return n == 0 })
}

func TestASlowSocketIsCutOffAndTheOthersNeverWait(t *testing.T) {
	testenv.Integration(t)
	g := exhibit(t, func(o *Options) { o.Send, o.KeepAlive = 5*time.Second, time.Hour })
	home := filepath.Join(g.base, "home")
	g.open("") // this client reads nothing
	quick := g.open("")
	quick.state()
	testenv.WaitFor(t, "both are there", g.server.metrics.inProgress.Load, func(n int64) bool { return n == 2 })
	// Send more than the kernel buffers for a client that reads nothing.
	big := strings.Repeat("x", 1_000_000)
	for i := 0; i < 60 && g.server.metrics.cut.Load() == 0; i++ {
		g.write(home, "state.json", fmt.Sprintf(`{"n":%d,"big":%q}`, i, big))
		for quick.until("viewer-state")["n"] != float64(i) {
		}
	}
	testenv.WaitFor(t, "it is cut off", g.server.metrics.cut.Load, func(n int64) bool { return n > 0 })
	testenv.WaitFor(t, "only one is left", g.server.metrics.inProgress.Load, func(n int64) bool { return n == 1 })
	g.write(home, "state.json", `{"n":-1}`)
	for quick.until("viewer-state")["n"] != -1.0 {
	}
}

func TestStoppingClosesTheSockets(t *testing.T) {
	testenv.Integration(t)
	g := exhibit(t, func(o *Options) { o.Grace = 2 * time.Second })
	pages := []*visitor{g.open(""), g.open("")}
	for _, p := range pages {
		p.state()
	}
	g.open("") // this client does not answer the close message, so the server waits for the grace period
	g.stop()
	codes := []websocket.StatusCode{pages[0].ends(), pages[1].ends()}
	if !slices.Equal(codes, []websocket.StatusCode{websocket.StatusGoingAway, websocket.StatusGoingAway}) {
		t.Errorf("closed with %v", codes)
	}
	<-g.ended
	testenv.WaitFor(t, "none is left", g.server.metrics.inProgress.Load, func(n int64) bool { return n == 0 })
}
