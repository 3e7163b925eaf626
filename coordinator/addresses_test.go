package coordinator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// coordinators are fake coordinators, by name. A nil coordinator refuses connections.
type coordinators struct {
	cutOff string // name of the coordinator to which connections never complete
	mu     sync.Mutex
	desks  map[string]http.HandlerFunc
	asked  []string // names of the coordinators that got a request, in order
}

func (d *coordinators) set(name string, h http.HandlerFunc) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.desks[name] = h
}

func (d *coordinators) get(name string) http.HandlerFunc {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.desks[name]
}

func (d *coordinators) serve(w http.ResponseWriter, q *http.Request) {
	d.mu.Lock()
	d.asked = append(d.asked, q.Host)
	d.mu.Unlock()
	_, _ = io.Copy(io.Discard, q.Body) // the server notices the end of a connection only after the body was read
	d.get(q.Host)(w, q)
}

// order returns the names of the coordinators that got requests since the last call, in order.
func (d *coordinators) order() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	asked := strings.Join(d.asked, " ")
	d.asked = nil
	return asked
}

// withCoordinators runs a test with a client of the coordinators a, b and, if given, c.
func withCoordinators(t *testing.T, given map[string]http.HandlerFunc, o Options, check func(t *testing.T, d *coordinators, c *Client)) {
	d := &coordinators{desks: given}
	withClient(t, d.serve, Options{}, func(t *testing.T, c *Client) {
		network := c.conn.http.Transport.(*http.Transport)
		dial := network.DialContext
		network.DialContext = func(ctx context.Context, kind, address string) (net.Conn, error) {
			name, _, _ := strings.Cut(address, ":")
			if name == d.cutOff {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			if d.get(name) == nil {
				return nil, &net.OpError{Op: "dial", Net: kind, Err: syscall.ECONNREFUSED}
			}
			return dial(ctx, kind, address)
		}
		o.HTTP, o.Also = c.conn.http, []string{"http://b"}
		if _, third := given["c"]; third {
			o.Also = append(o.Also, "http://c")
		}
		c, err := New("http://a", o)
		if err != nil {
			t.Fatal(err)
		}
		defer c.conn.http.CloseIdleConnections()
		check(t, d, c)
	})
}

func agents(t *testing.T, c *Client) {
	t.Helper()
	if _, err := c.Agents.List(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTheNextAddressIsAskedAtOnceAndKept(t *testing.T) {
	gateway := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
	}
	for trouble, handle := range map[string]http.HandlerFunc{
		"refused": nil, "502": gateway(502), "503": gateway(503), "504": gateway(504), "a tear": troubles["a tear"], "a torn body": troubles["a torn body"],
	} {
		t.Run(trouble, func(t *testing.T) {
			withCoordinators(t, map[string]http.HandlerFunc{"a": handle, "b": full}, Options{}, func(t *testing.T, d *coordinators, c *Client) {
				start := time.Now()
				agents(t, c)
				if took := time.Since(start); took > 0 {
					t.Errorf("it took %s to come to the next address", took)
				}
				d.set("a", full)
				d.order()
				agents(t, c)
				if got := d.order(); got != "b" {
					t.Errorf("asked %s, though b works", got)
				}
				d.set("b", handle)
				agents(t, c)
				agents(t, c)
				if got := d.order(); !strings.HasSuffix(got, "a a") {
					t.Errorf("asked %s, want a when b is away", got)
				}
			})
		})
	}
}

func TestARefusalIsAnAnswerAndNoOtherAddressIsAsked(t *testing.T) {
	for _, status := range []int{400, 401, 403, 404, 409, 413, 429, 500} {
		withCoordinators(t, map[string]http.HandlerFunc{"a": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }, "b": full},
			Options{Tries: 1}, func(t *testing.T, d *coordinators, c *Client) {
				_, err := c.Agents.List(t.Context())
				if got := d.order(); refused(t, err).Status != status || got != "a" {
					t.Errorf("status %d: asked %s: %v", status, got, err)
				}
			})
	}
}

func TestAnUnsafeRequestSwitchesAddressOnlyIfItWasNotSent(t *testing.T) {
	for trouble, handle := range troubles {
		for request, ask := range unsafe {
			t.Run(request+" and "+trouble, func(t *testing.T) {
				withCoordinators(t, map[string]http.HandlerFunc{"a": handle, "b": full}, Options{}, func(t *testing.T, d *coordinators, c *Client) {
					if err := ask(t.Context(), c); err == nil || d.order() != "a" {
						t.Errorf("the error is %v", err)
					}
				})
			})
		}
	}
	for request, ask := range unsafe {
		withCoordinators(t, map[string]http.HandlerFunc{"a": nil, "b": nil, "c": full}, Options{}, func(t *testing.T, d *coordinators, c *Client) {
			if err := ask(t.Context(), c); err != nil || d.order() != "c" {
				t.Errorf("%s without a reachable address: %v", request, err)
			}
		})
	}
}

func TestConnectingTimesOutEarlyIfThereIsAnotherAddress(t *testing.T) {
	for request, ask := range unsafe {
		withCoordinators(t, map[string]http.HandlerFunc{"a": full, "b": full}, Options{}, func(t *testing.T, d *coordinators, c *Client) {
			d.cutOff = "a"
			start := time.Now()
			if err := ask(t.Context(), c); err != nil || d.order() != "b" || time.Since(start) != dialTimeout {
				t.Errorf("%s: after %s: %v", request, time.Since(start), err)
			}
		})
	}
}

func TestAllAddressesAreTriedBeforeAPause(t *testing.T) {
	var at []time.Duration
	var mu sync.Mutex
	withCoordinators(t, map[string]http.HandlerFunc{"a": nil, "b": nil, "c": nil}, Options{Tries: 3, Pause: time.Second, Rand: func() float64 { return 1 }},
		func(t *testing.T, d *coordinators, c *Client) {
			began := time.Now()
			away := func(w http.ResponseWriter, _ *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				at = append(at, time.Since(began))
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			for _, name := range []string{"a", "b", "c"} {
				d.set(name, away)
			}
			_, err := c.Agents.List(t.Context())
			if got := d.order(); refused(t, err).Status != 503 || got != "a b c a b c a b c" {
				t.Errorf("asked %s: %v", got, err)
			}
			want := []time.Duration{0, 0, 0, 1, 1, 1, 3, 3, 3}
			for i := range want {
				want[i] *= time.Second
			}
			if !slices.Equal(at, want) {
				t.Errorf("asked after %v, want %v", at, want)
			}
		})
}

// A coordinator that is cut off from the network closes no connection. When one request notices
// that, the other requests that wait for this coordinator must be redirected too.
func TestWaitingRequestsAreRedirectedToTheWorkingAddress(t *testing.T) {
	for what, ask := range map[string]func(*Client, context.Context) error{
		"a request": func(c *Client, ctx context.Context) error { _, err := c.Agents.List(ctx); return err },
		"a stream": func(c *Client, ctx context.Context) error {
			err := c.Stream(ctx, StreamQuery{}, func(Change) error { return errEnough })
			if errors.Is(err, errEnough) {
				return nil
			}
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			works := func(w http.ResponseWriter, q *http.Request) {
				if strings.HasSuffix(q.URL.Path, "stream") {
					script(event(1))(w, q)
					return
				}
				full(w, q)
			}
			withCoordinators(t, map[string]http.HandlerFunc{"a": troubles["a hang"], "b": works}, Options{Timeout: time.Hour, Silence: time.Hour}, func(t *testing.T, _ *coordinators, c *Client) {
				start := time.Now()
				waits := make(chan error, 1)
				go func() { waits <- ask(c, t.Context()) }()
				time.Sleep(time.Second)              // on the test's clock: by now the request waits for coordinator a
				beats := c.Separate(2 * time.Second) // as SendHeartbeats does for an interval of three seconds
				if err := oneHeartbeat(t.Context(), beats); err == nil {
					t.Error("a heartbeat got no answer")
				}
				if err := oneHeartbeat(t.Context(), beats); err != nil {
					t.Error(err)
				}
				if err := <-waits; err != nil || time.Since(start) > 10*time.Second {
					t.Errorf("it came back after %s: %v", time.Since(start), err)
				}
			})
		})
	}
}

// oneHeartbeat sends a heartbeat once.
func oneHeartbeat(ctx context.Context, c *Client) error {
	_, err := ask[Agent](ctx, c.conn, post(Heartbeat{AgentID: "a1"}, false, "v1", "agents", "heartbeat"), "agent")
	return err
}

func TestRequestsAreNotRedirectedWhileNoAddressAnswers(t *testing.T) {
	slow := func(w http.ResponseWriter, q *http.Request) {
		if q.Method == http.MethodPost {
			<-q.Context().Done()
			return
		}
		select {
		case <-time.After(20 * time.Second):
			full(w, q)
		case <-q.Context().Done():
		}
	}
	withCoordinators(t, map[string]http.HandlerFunc{"a": slow, "b": slow}, Options{}, func(t *testing.T, d *coordinators, c *Client) {
		waits := make(chan error, 1)
		go func() { _, err := c.Agents.List(t.Context()); waits <- err }()
		time.Sleep(time.Second)              // on the test's clock: by now the request waits for an answer
		beats := c.Separate(2 * time.Second) // as SendHeartbeats does for an interval of three seconds
		for range 5 {
			_ = oneHeartbeat(t.Context(), beats) // no coordinator answers in time
		}
		if err := <-waits; err != nil || d.order() != "a a b a b a" {
			t.Errorf("the one that waited: %v", err)
		}
	})
}

func TestARequestCancelledByItsCallerDoesNotSwitchTheAddress(t *testing.T) {
	withCoordinators(t, map[string]http.HandlerFunc{"a": troubles["a hang"], "b": full}, Options{}, func(t *testing.T, d *coordinators, c *Client) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := c.Agents.List(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Agents.List(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		agents(t, c)
		if got := d.order(); got != "a a b" {
			t.Errorf("asked %s", got)
		}
	})
}

func TestAStreamContinuesAtAnotherAddress(t *testing.T) {
	const last = 40
	server := func(w http.ResponseWriter, q *http.Request) {
		var after int
		if _, err := fmt.Sscan(q.Header.Get("Last-Event-ID"), &after); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "id: %d\nevent: hello\ndata: {}\n\n", after)
		for id := after + 1; id <= min(after+3, last); id++ {
			_, _ = io.WriteString(w, event(id))
		}
	}
	withCoordinators(t, map[string]http.HandlerFunc{"a": nil, "b": server}, Options{}, func(t *testing.T, d *coordinators, c *Client) {
		n := 0
		err := c.Stream(t.Context(), StreamQuery{After: "0"}, func(change Change) error {
			if n++; change.ID != fmt.Sprint(n) || change.Gap {
				t.Errorf("change %d has the id %s, a gap: %t", n, change.ID, change.Gap)
			}
			switch {
			case n == last:
				return errEnough
			case n%20 == 10:
				d.set("a", server)
				d.set("b", nil)
			case n%20 == 0:
				d.set("b", server)
				d.set("a", nil)
			}
			return nil
		})
		if got := d.order(); !errors.Is(err, errEnough) || !strings.Contains(got, "a") || !strings.Contains(got, "b") {
			t.Errorf("asked %s: %v", got, err)
		}
	})
}

func TestASilentStreamDoesNotSwitchTheAddress(t *testing.T) {
	hello := func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path != "/v1/stream" {
			full(w, q)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: hello\nid: 4\ndata: {}\n\n")
		flush(w)
		<-q.Context().Done()
	}
	withCoordinators(t, map[string]http.HandlerFunc{"a": hello, "b": nil}, Options{}, func(t *testing.T, d *coordinators, c *Client) {
		ctx, cancel := context.WithTimeout(t.Context(), 45*time.Second+time.Millisecond) // just after Options.Silence
		defer cancel()
		_ = c.Stream(ctx, StreamQuery{After: "4"}, func(Change) error { return nil }) // ends with the timeout
		if c.conn.addresses.lastAnswered != 0 {
			t.Errorf("address %d works", c.conn.addresses.lastAnswered)
		}
	})
}

func TestSeparateClientsShareTheWorkingAddress(t *testing.T) {
	withCoordinators(t, map[string]http.HandlerFunc{"a": troubles["a hang"], "b": full}, Options{Timeout: time.Hour}, func(t *testing.T, d *coordinators, c *Client) {
		start := time.Now()
		waits := make(chan error, 1)
		go func() { _, err := c.Agents.List(t.Context()); waits <- err }()
		time.Sleep(time.Second) // on the test's clock: by now the request waits for coordinator a
		own := c.Separate(5 * time.Second)
		defer own.conn.http.CloseIdleConnections()
		agents(t, own)
		if err := <-waits; err != nil || time.Since(start) != 6*time.Second || d.order() != "a a b b" {
			t.Errorf("it came back after %s: %v", time.Since(start), err)
		}
	})
}

func TestAddressesMayBeGivenAsOneText(t *testing.T) {
	c, err := New("http://a:1, https://b/path", Options{Also: []string{"http://c"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range c.conn.addresses.list {
		got = append(got, a.String())
	}
	if want := []string{"http://a:1", "https://b/path", "http://c"}; !slices.Equal(got, want) {
		t.Errorf("the addresses are %q, want %q", got, want)
	}
	for _, bad := range []string{"http://a,", "http://a,b", "http://a,http://u:secret@b", "u:secret@b"} {
		if _, err := New(bad, Options{}); err == nil || strings.Contains(err.Error(), "u:secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestALogIsReadFromAnyAddress(t *testing.T) {
	says := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "what it wrote\n") }
	withCoordinators(t, map[string]http.HandlerFunc{"a": nil, "b": says}, Options{}, func(t *testing.T, _ *coordinators, c *Client) {
		body, _, err := c.Runs.Log(t.Context(), "r", "t", LogQuery{})
		if err != nil {
			t.Fatal(err)
		}
		defer body.Close()
		if text, err := io.ReadAll(body); err != nil || string(text) != "what it wrote\n" {
			t.Errorf("read %q: %v", text, err)
		}
	})
}
