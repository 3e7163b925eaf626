package coordinator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gaffer/fleet"
)

const aToken = "not-to-be-seen"

// troubles lists ways in which a server can fail to answer.
var troubles = map[string]http.HandlerFunc{
	"500": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
	"502 in HTML": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		_, _ = io.WriteString(w, "<html>")
	},
	"429":           func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) },
	"a tear":        func(w http.ResponseWriter, _ *http.Request) { tear(w, "") },
	"a torn header": func(w http.ResponseWriter, _ *http.Request) { tear(w, "HTTP/1.1 200 OK\r\nContent-Ty") },
	"a torn body": func(w http.ResponseWriter, _ *http.Request) {
		tear(w, "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{\"agents\":[")
	},
	"a torn chunk": func(w http.ResponseWriter, _ *http.Request) {
		tear(w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n")
	},
	"not HTTP": func(w http.ResponseWriter, _ *http.Request) { tear(w, "SSH-2.0-OpenSSH\r\n") },
	"a hang":   func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() },
	"a hanging answer": func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.WriteString(w, `{"agents":[`)
		flush(w)
		<-q.Context().Done()
	},
}

func flush(w http.ResponseWriter) { w.(http.Flusher).Flush() }

// full writes a valid answer to every request.
func full(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, `{"agents":[{"id":"a1"}],"agent":{"id":"a1"},"task":{"id":"t1"},"input":{"id":"i1"},"event":{"id":"e1"},"channel":{"id":"c1"},"chain":{"id":"n1"},"review":{"state":"open"}}`)
}

// firstThen answers the first request in one way and all later ones in another.
func firstThen(hits *atomic.Int32, first, then http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body) // the server notices the end of a connection only after the body was read
		if hits.Add(1) == 1 {
			first(w, q)
			return
		}
		then(w, q)
	}
}

// safe lists the requests that may be sent twice; unsafe lists those that may not.
var (
	safe = map[string]func(context.Context, *Client) error{
		"agents": func(ctx context.Context, c *Client) error { _, err := c.Agents.List(ctx); return err },
		"heartbeat": func(ctx context.Context, c *Client) error {
			_, err := c.Agents.Heartbeat(ctx, Heartbeat{AgentID: "a1"})
			return err
		},
		"claim with a key": func(ctx context.Context, c *Client) error {
			_, err := c.Tasks.Claim(ctx, Claim{IdempotencyKey: "k"})
			return err
		},
		"input with a key": func(ctx context.Context, c *Client) error {
			_, err := c.Tasks.AddInput(ctx, NewInput{IdempotencyKey: "k"})
			return err
		},
		"event with a key": func(ctx context.Context, c *Client) error {
			_, _, err := c.Events.Add(ctx, NewEvent{IdempotencyKey: "k"})
			return err
		},
		"complete": func(ctx context.Context, c *Client) error {
			_, err := c.Tasks.Complete(ctx, Report{TaskID: "t1"})
			return err
		},
		"fail": func(ctx context.Context, c *Client) error {
			_, err := c.Tasks.Fail(ctx, Report{TaskID: "t1"})
			return err
		},
		"comment": func(ctx context.Context, c *Client) error {
			_, err := c.Reviews.Change(ctx, "r1", "t1", fleet.ReviewAction{Action: fleet.ActComment, Comment: fleet.Comment{Text: "why?"}})
			return err
		},
		"subscribe": func(ctx context.Context, c *Client) error { _, err := c.Agents.Subscribe(ctx, "a1", nil); return err },
	}
	unsafe = map[string]func(context.Context, *Client) error{
		"send back": func(ctx context.Context, c *Client) error {
			_, err := c.Reviews.Change(ctx, "r1", "t1", fleet.ReviewAction{Action: fleet.ActSendBack})
			return err
		},
		"heartbeat without id": func(ctx context.Context, c *Client) error { _, err := c.Agents.Heartbeat(ctx, Heartbeat{}); return err },
		"claim":                func(ctx context.Context, c *Client) error { _, err := c.Tasks.Claim(ctx, Claim{}); return err },
		"claim input":          func(ctx context.Context, c *Client) error { _, err := c.Tasks.ClaimInput(ctx, "t1", "a1"); return err },
		"input":                func(ctx context.Context, c *Client) error { _, err := c.Tasks.AddInput(ctx, NewInput{}); return err },
		"event":                func(ctx context.Context, c *Client) error { _, _, err := c.Events.Add(ctx, NewEvent{}); return err },
		"task":                 func(ctx context.Context, c *Client) error { _, err := c.Tasks.Add(ctx, NewTask{}); return err },
		"channel":              func(ctx context.Context, c *Client) error { _, err := c.Channels.Add(ctx, "n", ""); return err },
		"chain":                func(ctx context.Context, c *Client) error { _, err := c.Chains.Add(ctx, NewChain{}); return err },
	}
)

func TestARequestThatIsSafeIsRepeatedUntilItIsAnswered(t *testing.T) {
	for trouble, handle := range troubles {
		for request, ask := range safe {
			t.Run(request+" and "+trouble, func(t *testing.T) {
				var hits atomic.Int32
				withClient(t, firstThen(&hits, handle, full), Options{Token: aToken}, func(t *testing.T, c *Client) {
					if err := ask(t.Context(), c); err != nil || hits.Load() != 2 {
						t.Errorf("%d requests, and the error is %v", hits.Load(), err)
					}
				})
			})
		}
	}
}

func TestARequestThatIsNotSafeIsSentOnce(t *testing.T) {
	for trouble, handle := range troubles {
		for request, ask := range unsafe {
			t.Run(request+" and "+trouble, func(t *testing.T) {
				var hits atomic.Int32
				withClient(t, firstThen(&hits, handle, full), Options{Token: aToken}, func(t *testing.T, c *Client) {
					err := ask(t.Context(), c)
					if err == nil || hits.Load() != 1 {
						t.Errorf("%d requests, and the error is %v", hits.Load(), err)
					}
					if err != nil && strings.Contains(err.Error(), aToken) {
						t.Errorf("the error holds the token: %v", err)
					}
				})
			})
		}
	}
}

func TestARequestThatHangsTimesOut(t *testing.T) {
	withClient(t, troubles["a hang"], Options{Tries: 3, Timeout: 7 * time.Second, Pause: time.Second}, func(t *testing.T, c *Client) {
		start := time.Now()
		_, err := c.Agents.List(t.Context())
		if took := time.Since(start); !errors.Is(err, errNoAnswer) || took < 22*time.Second || took > 24*time.Second {
			t.Errorf("after %s: %v", took, err)
		}
	})
}

func TestALogWithoutAResponseTimesOut(t *testing.T) {
	withClient(t, troubles["a hang"], Options{Timeout: 7 * time.Second}, func(t *testing.T, c *Client) {
		start := time.Now()
		_, _, err := c.Runs.Log(t.Context(), "r", "t", LogQuery{})
		if took := time.Since(start); !errors.Is(err, errNoAnswer) || took != 7*time.Second {
			t.Errorf("after %s: %v", took, err)
		}
	})
}

func TestALogMayTakeLongerThanTheTimeout(t *testing.T) {
	slow := func(w http.ResponseWriter, _ *http.Request) {
		flush(w)
		time.Sleep(time.Hour)
		_, _ = io.WriteString(w, "at last\n")
	}
	withClient(t, slow, Options{Timeout: 7 * time.Second}, func(t *testing.T, c *Client) {
		body, _, err := c.Runs.Log(t.Context(), "r", "t", LogQuery{Follow: true})
		if err != nil {
			t.Fatal(err)
		}
		defer body.Close()
		if text, err := io.ReadAll(body); err != nil || string(text) != "at last\n" {
			t.Errorf("read %q: %v", text, err)
		}
	})
}

func TestAProgramMayHaveReplacedTheStandardTransport(t *testing.T) {
	standard := http.DefaultTransport
	defer func() { http.DefaultTransport = standard }()
	http.DefaultTransport = http.NewFileTransport(http.Dir(t.TempDir()))
	if _, err := New("https://build.example", Options{}); err != nil {
		t.Error(err)
	}
}

func TestACallersContextEndsARequestAndThePauseBetweenTries(t *testing.T) {
	for _, trouble := range []string{"a hang", "500"} {
		withClient(t, troubles[trouble], Options{Tries: 1000, Pause: time.Hour}, func(t *testing.T, c *Client) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			start := time.Now()
			if _, err := c.Agents.List(ctx); err == nil || time.Since(start) > 6*time.Second {
				t.Errorf("%s: after %s: %v", trouble, time.Since(start), err)
			}
		})
	}
}

func TestARetryWaitsAsLongAsTheCoordinatorAsks(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"17": 17 * time.Second, "Sat, 01 Jan 2000 00:00:20 GMT": 20 * time.Second, "99999": longestWait, "-5": 0, "soon": 0,
	} {
		var hits atomic.Int32
		busy := func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		withClient(t, firstThen(&hits, busy, full), Options{}, func(t *testing.T, c *Client) {
			start := time.Now()
			_, err := c.Agents.List(t.Context())
			if took := time.Since(start); err != nil || took < want || took > want+time.Second {
				t.Errorf("Retry-After %q: took %s, want %s: %v", header, took, want, err)
			}
		})
	}
}

func TestARefusalIsNotRepeatedAndSaysWhatItIs(t *testing.T) {
	for status, want := range map[int]string{
		400: "invalid", 401: "denied", 403: "denied", 404: "not found", 409: "conflict", 413: "invalid", 422: "invalid", 405: "", 501: "",
	} {
		var hits atomic.Int32
		withClient(t, func(w http.ResponseWriter, _ *http.Request) {
			hits.Add(1)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"error":{"code":"a_word","message":"a sentence"}}`)
		}, Options{}, func(t *testing.T, c *Client) {
			_, err := c.Agents.List(t.Context())
			e := refused(t, err)
			got := ""
			for word, is := range map[string]bool{"invalid": e.Invalid(), "denied": e.Denied(), "not found": e.NotFound(), "conflict": e.Conflict()} {
				if is {
					got += word
				}
			}
			if got != want || e.Code != "a_word" || e.Message != "a sentence" || e.Status != status || hits.Load() != 1 {
				t.Errorf("status %d: %q, %+v, %d requests", status, got, e, hits.Load())
			}
			if text := fmt.Sprintf("GET /v1/agents: a sentence (%d a_word)", status); err.Error() != text {
				t.Errorf("the error reads %q, want %q", err, text)
			}
		})
	}
}

func TestAnAnswerThatViolatesTheProtocolIsAnError(t *testing.T) {
	for _, body := range []string{"", "<html>", "[]", "null", "7", "{}", `{"agents":7}`, `{"agents":[7]}`, `{"agents":[{"last_seen":"yesterday"}]}`, `{"agents":[]} more`, `{"agents":[`} {
		withClient(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }, Options{}, func(t *testing.T, c *Client) {
			if _, err := c.Agents.List(t.Context()); refused(t, err).Code != BadAnswer {
				t.Errorf("%s: %v", body, err)
			}
		})
	}
	withClient(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"agents":null,"agent":null}`) }, Options{}, func(t *testing.T, c *Client) {
		if list, err := c.Agents.List(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("a list that is null: %v, %v", list, err)
		}
		if _, err := c.Agents.Get(t.Context(), "a"); refused(t, err).Code != BadAnswer {
			t.Errorf("an agent that is null: %v", err)
		}
	})
}

func TestNoMoreOfAnAnswerIsReadThanIsAllowed(t *testing.T) {
	for _, status := range []int{200, 400} {
		withClient(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			for written := 0; written < 1<<30; {
				n, err := io.WriteString(w, strings.Repeat("x", 1<<16))
				if err != nil {
					return
				}
				written += n
			}
			t.Errorf("status %d: a gigabyte was taken", status)
		}, Options{Limit: 1 << 20}, func(t *testing.T, c *Client) {
			_, err := c.Agents.List(t.Context())
			if e := refused(t, err); e.Status != status || status == 200 && e.Code != TooLarge {
				t.Errorf("status %d: %v", status, err)
			}
		})
	}
}

func TestARedirectIsRefusedAndTheTokenStays(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		t.Errorf("the other host was asked, with the token %q", q.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/v1/agents", status))
		c, err := New(server.URL, Options{Token: aToken, HTTP: server.Client()})
		if err != nil {
			t.Fatal(err)
		}
		for what, ask := range map[string]func() error{
			"get":    func() error { _, err := c.Agents.List(t.Context()); return err },
			"post":   func() error { _, err := c.Tasks.Complete(t.Context(), Report{}); return err },
			"stream": func() error { return c.Stream(t.Context(), StreamQuery{}, func(Change) error { return nil }) },
			"beat":   func() error { return oneHeartbeat(t.Context(), c.Separate(time.Second)) },
		} {
			if e := refused(t, ask()); e.Code != Redirected || e.Status != status {
				t.Errorf("%d of a %s: %v", status, what, e)
			}
		}
		server.Close()
	}
}

func TestTheTokenIsSentAsABearerAndNeverInAnAddress(t *testing.T) {
	withClient(t, func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Authorization") != "Bearer "+aToken || strings.Contains(q.RequestURI, aToken) {
			t.Errorf("asked for %s with %q", q.RequestURI, q.Header.Get("Authorization"))
		}
		full(w, q)
	}, Options{Token: aToken}, func(t *testing.T, c *Client) {
		if _, err := c.Agents.List(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestAnInvalidAddressOrTokenIsRefused(t *testing.T) {
	for _, base := range []string{"", "server:4870", "ftp://server", "http://", "http://u:secret@server", "http://server?token=secret", "http://server#secret", "://", "http://de sk"} {
		_, err := New(base, Options{})
		if e, ok := errors.AsType[interface {
			error
			Invalid() bool
		}](err); !ok || !e.Invalid() || strings.Contains(err.Error(), "u:secret") {
			t.Errorf("%q: %v", base, err)
		}
	}
	for _, token := range []string{"a b", "a\nb", "ü", "a\x00"} {
		if _, err := New("http://server", Options{Token: token}); err == nil || strings.Contains(err.Error(), token) {
			t.Errorf("token %q: %v", token, err)
		}
	}
}

func TestAnIdCannotLeadToAnotherRoute(t *testing.T) {
	var asked []string
	withClient(t, func(w http.ResponseWriter, q *http.Request) {
		asked = append(asked, q.URL.EscapedPath())
		full(w, q)
	}, Options{}, func(t *testing.T, c *Client) {
		start := time.Now()
		for _, id := range []string{"", ".", ".."} {
			if _, err := c.Agents.Get(t.Context(), id); err == nil {
				t.Errorf("id %q was asked for", id)
			}
		}
		if took := time.Since(start); took > 0 {
			t.Errorf("what cannot be asked was tried again for %s", took)
		}
		for _, id := range []string{"a/../b", "a?b", "a#b", "%2e%2e", "ü ", "a\nb", "..\\"} {
			if _, err := c.Agents.Get(t.Context(), id); err != nil {
				t.Errorf("id %q: %v", id, err)
			}
		}
	})
	want := "/v1/agents/a%2F..%2Fb /v1/agents/a%3Fb /v1/agents/a%23b /v1/agents/%252e%252e /v1/agents/%C3%BC%20 /v1/agents/a%0Ab /v1/agents/..%5C"
	if got := strings.Join(asked, " "); got != want {
		t.Errorf("asked for\n%s, want\n%s", got, want)
	}
}

func TestAPathBeforeTheRoutesIsKept(t *testing.T) {
	c, err := New("https://server/behind/a/proxy/", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if u, err := get(nil, "v1", "agents", "a/b").url(c.conn.addresses.list[0].URL); err != nil || u != "https://server/behind/a/proxy/v1/agents/a%2Fb" {
		t.Errorf("the address is %s: %v", u, err)
	}
}

func TestWhatACoordinatorSaysReachesATerminalAsOneLine(t *testing.T) {
	long := printable(strings.Repeat("x", 10_000))
	if got := printable("a\x1b[31m\r\nb\xff"); got != "a [31m  b?" || len(long) > 600 {
		t.Errorf("got %q, and %d bytes of a long one", got, len(long))
	}
}

func TestPausesGrowAndAreSpread(t *testing.T) {
	for _, spread := range []float64{0, 0.999} {
		c, err := New("http://server", Options{Pause: time.Second, Rand: func() float64 { return spread }})
		if err != nil {
			t.Fatal(err)
		}
		for n, most := range map[int]time.Duration{1: 1, 2: 2, 3: 4, 5: 16, 6: 30, 1000: 30} {
			most *= time.Second
			want := most/2 + time.Duration(spread*float64(most/2))
			if got := c.conn.pause(n, errNoAnswer); got != want {
				t.Errorf("pause %d is %s, want %s", n, got, want)
			}
		}
	}
}

func TestAListRequestContainsItsFilters(t *testing.T) {
	var asked []string
	withClient(t, func(w http.ResponseWriter, q *http.Request) {
		asked = append(asked, q.RequestURI)
		_, _ = io.WriteString(w, `{"tasks":[],"events":[],"task":{}}`)
	}, Options{}, func(t *testing.T, c *Client) {
		_, err1 := c.Tasks.List(t.Context(), TaskQuery{})
		_, err2 := c.Tasks.List(t.Context(), TaskQuery{ChannelID: "c", ChainID: "n", AgentID: "a&b", Status: Done, Limit: 5})
		_, err3 := c.Events.List(t.Context(), 7)
		_, err4 := c.Tasks.Get(t.Context(), "ch-1.t")
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			t.Fatal(err)
		}
	})
	want := "/v1/tasks /v1/tasks?agent_id=a%26b&chain_id=n&channel_id=c&limit=5&status=done /v1/events?limit=7 /v1/tasks/ch-1.t"
	if got := strings.Join(asked, " "); got != want {
		t.Errorf("asked for\n%s, want\n%s", got, want)
	}
}
