package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"gaffer/internal/api/credential"
	"gaffer/internal/testkit/testenv"
)

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
		fmt.Fprintf(conn, "POST /v1/tasks HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n%s", w.addr, w.tokens[credential.Admin], head)
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
	w.wants("just too long", w.ask(credential.Admin, "POST", "/v1/tasks", strings.Repeat(" ", maxBody+1)), 413, "too_large")
	if got := w.ask(credential.Admin, "POST", "/v1/tasks", `{"title":"`+strings.Repeat("x", maxBody-100)+`"}`); got.status != 201 {
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
	testenv.Integration(t)
	w := start(t, func(o *Options) { o.Header, o.Body = 300*time.Millisecond, 300*time.Millisecond })
	for name, begin := range map[string]string{
		"nothing":    "",
		"the header": "GET /health HTTP/1.1\r\nHost: " + w.addr + "\r\nX-",
		"the body":   "POST /v1/tasks HTTP/1.1\r\nHost: " + w.addr + "\r\nAuthorization: Bearer " + w.tokens[credential.Admin] + "\r\nContent-Length: 1000000\r\n\r\n{",
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
			ended <- errors.Is(err, io.EOF)
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
	testenv.Wait(t, "an answer to one more request", func() error {
		resp, err := w.client.Do(w.request("GET", "/health", ""))
		if err != nil {
			return err
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return errors.New(resp.Status)
		}
		return nil
	})
}

func TestSecurityTooManyRequestsOfOneToken(t *testing.T) {
	now := time.Now() // the clock stands still, because the rate limit refills with time
	w := start(t, func(o *Options) { o.Rate, o.Now = 0.5, func() time.Time { return now } })
	if got := w.ask(credential.Viewer, "GET", "/v1/agents", ""); got.status != 200 {
		t.Errorf("the first: %d %s", got.status, got.body)
	}
	got := w.ask(credential.Viewer, "GET", "/v1/agents", "")
	w.wants("the second", got, 429, "rate_limited")
	if got.header.Get("Retry-After") != "1" {
		t.Errorf("it does not say when to come back: %v", got.header)
	}
	if got := w.ask(credential.Admin, "GET", "/v1/agents", ""); got.status != 200 {
		t.Errorf("another token: %d", got.status)
	}
}

func TestSecurityTheRequestsOfATokensBrowsersCountAsItsOwn(t *testing.T) {
	now := time.Now() // the clock stands still, because the rate limit refills with time
	w := start(t, func(o *Options) { o.Rate, o.Now = 0.5, func() time.Time { return now } })
	path, _ := w.ask(credential.Viewer, "POST", "/v1/login", "").field("path").(string)
	cookie, _, _ := strings.Cut(w.ask("", "GET", path, "").header.Get("Set-Cookie"), ";")
	q := w.request("GET", "/v1/tasks", "")
	q.Header.Set("Cookie", cookie)
	w.wants("a browser of who has asked too often", w.do(q), 429, "rate_limited")
}

func TestAnAllowanceFillsWithTimeAndIsEachTokensOwn(t *testing.T) {
	now := time.Now()
	r := newRateLimiter(10, 50, func() time.Time { return now })
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

func TestSecurityGuessingTokensIsLimitedAndDoesNotDisturbOthers(t *testing.T) {
	now := time.Now() // the clock stands still: on a slow machine the rate limit could refill as fast as it is used
	w := start(t, func(o *Options) { o.Now = func() time.Time { return now } })
	held := false
	for range 3 * defaultUnauthenticatedRate {
		held = held || w.ask("", "GET", "/v1/agents", "").status == 429
	}
	if !held {
		t.Error("it goes on for ever")
	}
	if got := w.ask(credential.Viewer, "GET", "/v1/agents", ""); got.status != 200 {
		t.Errorf("who has a token: %d", got.status)
	}
}
