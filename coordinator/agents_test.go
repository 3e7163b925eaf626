package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// heartbeatServer is a coordinator that receives heartbeats.
type heartbeatServer struct {
	mu       sync.Mutex
	start    time.Time
	received []string // for each heartbeat, the second in which it arrived and the reported state
	fail     func(n int) int
}

func (h *heartbeatServer) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	var b Heartbeat
	if err := json.NewDecoder(q.Body).Decode(&b); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	if h.start.IsZero() {
		h.start = time.Now()
	}
	h.received = append(h.received, fmt.Sprintf("%.0f %s%s", time.Since(h.start).Seconds(), b.AgentID, b.ClaudeStatus))
	status := 0
	if h.fail != nil {
		status = h.fail(len(h.received))
	}
	h.mu.Unlock()
	switch status {
	case 0:
		_, _ = io.WriteString(w, `{"agent":{"id":"a1"}}`)
	case -1:
		<-q.Context().Done()
	default:
		w.WriteHeader(status)
	}
}

func (h *heartbeatServer) all() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.received, ", ")
}

func saying(words ...string) func() Heartbeat {
	n := 0
	return func() Heartbeat {
		word := words[min(n, len(words)-1)]
		n++
		return Heartbeat{ClaudeStatus: word}
	}
}

func TestHeartbeatsComeEvery15Seconds(t *testing.T) {
	h := &heartbeatServer{}
	withClient(t, h.ServeHTTP, Options{}, func(t *testing.T, c *Client) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
		defer cancel()
		answers := 0
		err := c.Agents.SendHeartbeats(ctx, 0, saying("idle"), nil, func(a Agent, err error) {
			if answers++; a.ID != "a1" || err != nil {
				t.Errorf("received %+v, %v", a, err)
			}
		})
		if want := "0 idle, 15 a1idle, 30 a1idle, 45 a1idle"; h.all() != want || !errors.Is(err, context.DeadlineExceeded) || answers != 4 {
			t.Errorf("heartbeats were %s (%d answers), want %s; the end was %v", h.all(), answers, want, err)
		}
	})
}

func TestAChangeIsReportedAtOnce(t *testing.T) {
	h := &heartbeatServer{}
	withClient(t, h.ServeHTTP, Options{}, func(t *testing.T, c *Client) {
		ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
		defer cancel()
		wake := make(chan struct{}, 1)
		go func() {
			sleep(ctx, 4*time.Second)
			wake <- struct{}{}
			sleep(ctx, time.Second)
			wake <- struct{}{}
			close(wake) // a closed channel must not cause a flood of heartbeats
		}()
		_ = c.Agents.SendHeartbeats(ctx, 15*time.Second, saying("idle", "running", "waiting", "idle"), wake, nil) // returns when the context ends
		if want := "0 idle, 4 a1running, 5 a1waiting, 20 a1idle, 35 a1idle"; h.all() != want {
			t.Errorf("heartbeats were %s, want %s", h.all(), want)
		}
	})
}

func TestAHeartbeatThatHangsDoesNotMakeTheWorkerOffline(t *testing.T) {
	h := &heartbeatServer{fail: func(n int) int {
		if n == 2 {
			return -1
		}
		return 0
	}}
	withClient(t, h.ServeHTTP, Options{}, func(t *testing.T, c *Client) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		_ = c.Agents.SendHeartbeats(ctx, 15*time.Second, saying("idle"), nil, nil) // returns when the context ends
		if want := "0 idle, 15 a1idle, 25 a1idle"; h.all() != want {
			t.Errorf("heartbeats were %s, want %s", h.all(), want)
		}
	})
}

func TestAFailedHeartbeatIsRepeatedBeforeTheNextIsDue(t *testing.T) {
	h := &heartbeatServer{fail: func(n int) int {
		if n == 1 || n == 2 {
			return 503
		}
		return 0
	}}
	withClient(t, h.ServeHTTP, Options{Pause: 2 * time.Second, Rand: func() float64 { return 0 }}, func(t *testing.T, c *Client) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		var errs int
		_ = c.Agents.SendHeartbeats(ctx, 15*time.Second, saying("idle"), nil, func(_ Agent, err error) { // returns when the context ends
			if err != nil {
				errs++
			}
		})
		if want := "0 idle, 1 idle, 3 idle, 18 a1idle"; h.all() != want || errs != 2 {
			t.Errorf("heartbeats were %s (%d failed), want %s", h.all(), errs, want)
		}
	})
}

func TestOtherRequestsDoNotDelayHeartbeats(t *testing.T) {
	h := &heartbeatServer{}
	synctestWithOneConnection(t, func(w http.ResponseWriter, q *http.Request) {
		if q.Method == http.MethodGet {
			<-q.Context().Done()
			return
		}
		h.ServeHTTP(w, q)
	}, func(t *testing.T, c *Client) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		var other sync.WaitGroup
		for range 3 {
			other.Go(func() { _, _ = c.Agents.List(ctx) }) // hangs until the request's timeout
		}
		synctest.Wait()
		_ = c.Agents.SendHeartbeats(ctx, 15*time.Second, saying("idle"), nil, nil) // returns when the context ends
		other.Wait()
		if want := "0 idle, 15 a1idle"; h.all() != want {
			t.Errorf("heartbeats were %s, want %s", h.all(), want)
		}
	})
}

// synctestWithOneConnection runs a test with a client that can open only one connection.
func synctestWithOneConnection(t *testing.T, handle http.HandlerFunc, check func(*testing.T, *Client)) {
	withClient(t, handle, Options{}, func(t *testing.T, c *Client) {
		c.conn.http.Transport.(*http.Transport).MaxConnsPerHost = 1
		check(t, c)
	})
}

func TestHeartbeatsThatAreDeniedEnd(t *testing.T) {
	for _, status := range []int{400, 401, 403} {
		h := &heartbeatServer{fail: func(int) int { return status }}
		withClient(t, h.ServeHTTP, Options{}, func(t *testing.T, c *Client) {
			if err := c.Agents.SendHeartbeats(t.Context(), time.Second, saying("idle"), nil, nil); refused(t, err).Status != status || h.all() != "0 idle" {
				t.Errorf("status %d: %v after %s", status, err, h.all())
			}
		})
	}
}

func TestHeartbeatsContinueAfterEveryError(t *testing.T) {
	for trouble, handle := range troubles {
		var hits atomic.Int32
		withClient(t, func(w http.ResponseWriter, q *http.Request) {
			_, _ = io.Copy(io.Discard, q.Body) // the server notices the end of a connection only after the body was read
			if hits.Add(1) <= 5 {
				handle(w, q)
				return
			}
			full(w, q)
		}, Options{}, func(t *testing.T, c *Client) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			start := time.Now()
			err := c.Agents.SendHeartbeats(ctx, 15*time.Second, saying("idle"), nil, func(_ Agent, err error) {
				if err == nil {
					cancel()
				}
			})
			if !errors.Is(err, context.Canceled) || time.Since(start) > 2*time.Minute {
				t.Errorf("%s: after %s: %v", trouble, time.Since(start), err)
			}
		})
	}
}
