package coordinator

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// connection sends requests to the coordinator. If a request fails, connection sends it again where
// that is safe. The fields of a [Client], such as [Client.Tasks], share one connection.
type connection struct {
	addresses *addresses
	http      *http.Client
	opt       Options
}

// separate returns a copy of c with its own HTTP connections, so that requests of c cannot delay
// those of the copy. closeIdle closes the idle HTTP connections of the copy. If the transport of c
// is not an http.Transport, c and the copy share it, and closeIdle does nothing.
func (c *connection) separate() (own *connection, closeIdle func()) {
	client := *c.http
	own, closeIdle = &connection{addresses: c.addresses, http: &client, opt: c.opt}, func() {}
	if t, ok := client.Transport.(*http.Transport); ok {
		t = t.Clone()
		client.Transport, closeIdle = t, t.CloseIdleConnections
	}
	return own, closeIdle
}

// call is one request to the coordinator.
type call struct {
	method string
	route  []string // segments of the path, not escaped
	query  url.Values
	body   any
	safe   bool // sending the request again has no further effect
}

func (q call) String() string { return q.method + " /" + strings.Join(q.route, "/") }

// url returns the URL of the request. The parameter base is the address of the coordinator. If a
// segment of the path is empty, "." or "..", the URL would lead to another route, so url returns an
// error.
func (q call) url(base *url.URL) (string, error) {
	escaped := make([]string, len(q.route))
	for i, part := range q.route {
		if part == "" || part == "." || part == ".." {
			return "", &badCall{fmt.Sprintf("%q cannot be a name or an id", part)}
		}
		escaped[i] = url.PathEscape(part)
	}
	u := base.JoinPath(escaped...)
	u.RawQuery = q.query.Encode()
	return u.String(), nil
}

// do sends a request and returns the body of the answer. If the request fails, it is sent again,
// provided that this is safe and that the reason for the failure may be temporary. The request is
// tried at most c.opt.Tries times in total.
func (c *connection) do(ctx context.Context, q call) ([]byte, error) {
	body, err := c.try(ctx, q)
	for n := 1; err != nil && q.safe && n < c.opt.Tries && temporary(err); n++ {
		if !sleep(ctx, c.pause(n, err)) {
			break
		}
		body, err = c.try(ctx, q)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", q, err)
	}
	return body, nil
}

// pause returns how long to wait after the nth failure in a row. The wait doubles with each
// failure, up to a limit. It has a random part, so that clients that failed together do not retry
// together. If the coordinator asks for a longer wait, pause returns that, but at most longestWait.
func (c *connection) pause(n int, err error) time.Duration {
	const longest = 30 * time.Second
	most := min(c.opt.Pause<<min(n-1, 20), longest)
	wait := most/2 + time.Duration(c.opt.Rand()*float64(most/2))
	if e, ok := errors.AsType[*Error](err); ok {
		wait = max(wait, e.After)
	}
	return wait
}

// sleep waits for d. It returns false if the context ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

var errNoAnswer = errors.New("no answer in time")

// try sends a request to the current address or, if that fails, perhaps to the next one; see
// [connection.firstReachable].
func (c *connection) try(ctx context.Context, q call) (body []byte, err error) {
	err = c.firstReachable(ctx, q.safe, func(ctx context.Context, at *address) (err error) {
		body, err = c.tryAt(ctx, at.URL, q)
		return err
	})
	return body, err
}

func (c *connection) tryAt(ctx context.Context, base *url.URL, q call) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.opt.Timeout, errNoAnswer)
	defer cancel()
	req, err := c.request(ctx, base, q)
	if err != nil {
		return nil, err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, failureReason(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, c.refused(res)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, c.opt.Limit+1))
	switch {
	case err != nil:
		return nil, failureReason(ctx, err)
	case int64(len(body)) > c.opt.Limit:
		return nil, &Error{Code: TooLarge, Message: fmt.Sprintf("the answer is larger than %d bytes", c.opt.Limit), Status: res.StatusCode}
	}
	return body, nil
}

func (c *connection) request(ctx context.Context, base *url.URL, q call) (*http.Request, error) {
	target, err := q.url(base)
	if err != nil {
		return nil, err
	}
	body, kind, err := q.encoded()
	if err != nil {
		return nil, &badCall{err.Error()}
	}
	req, err := http.NewRequestWithContext(ctx, q.method, target, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", kind)
	}
	if c.opt.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.opt.Token)
	}
	return req, nil
}

// encoded returns a reader of the encoded request body, and the content type of that body. The
// reader is nil if the request has no body.
func (q call) encoded() (body io.Reader, kind string, err error) {
	switch b := q.body.(type) {
	case nil:
		return nil, "", nil
	case bytesBody:
		return bytes.NewReader(b), "application/octet-stream", nil
	}
	data, err := json.Marshal(q.body)
	return bytes.NewReader(data), "application/json", err
}

// bytesBody is a request body that is sent as it is, not as JSON.
type bytesBody []byte

// refused converts an answer with an error status into an [*Error]. It reads at most 64 KiB of the
// body.
func (c *connection) refused(res *http.Response) error {
	const most = 64 << 10
	body, _ := io.ReadAll(io.LimitReader(res.Body, most)) // ignore the error: without a body, the HTTP status alone describes the refusal
	return refusal(res, body, c.opt.Now())
}

// failureReason returns why a request failed. It removes the URL from the error, because the caller
// adds the method and path of the request to the error message.
func failureReason(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// badCall is the error for a request or an address that is invalid. The client has sent nothing.
type badCall struct{ why string }

func (e *badCall) Error() string { return e.why }
func (e *badCall) Invalid() bool { return true }

func get(query url.Values, route ...string) call {
	return call{method: http.MethodGet, route: route, query: query, safe: true}
}

func post(body any, safe bool, route ...string) call {
	return call{method: http.MethodPost, route: route, body: body, safe: safe}
}

// limitText formats a maximum number of results for a query. If n is 0 or less, it returns "". The
// query parameter is then left out, and the coordinator uses its default.
func limitText(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// addNonEmpty sets query parameters in v, and returns v. The list pairs contains a name and a value
// for each parameter. A parameter with an empty value is skipped.
func addNonEmpty(v url.Values, pairs ...string) url.Values {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			v.Set(pairs[i], pairs[i+1])
		}
	}
	return v
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return ""
}

// loopback reports whether host is localhost or a loopback address such as 127.0.0.1.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// withoutRedirects returns a copy of an HTTP client. The copy never follows redirects. If the
// parameter given is nil or has no transport, the copy gets a new transport, whose TLS settings are
// those of the parameter secure.
func withoutRedirects(given *http.Client, secure *tls.Config) *http.Client {
	c := http.Client{}
	if given != nil {
		c = *given
	}
	if c.Transport == nil {
		c.Transport = transport(secure)
	}
	c.Timeout = 0 // each request has its own timeout
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// transport returns a copy of the standard transport, with the given TLS settings and two other
// changes. Unencrypted requests bypass the proxy, which could read their token. HTTP/2 pings detect
// connections that no longer work.
func transport(secure *tls.Config) *http.Transport {
	t := &http.Transport{ForceAttemptHTTP2: true, MaxIdleConns: 100, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second}
	// If the program has replaced http.DefaultTransport, it may have another type.
	if standard, ok := http.DefaultTransport.(*http.Transport); ok {
		t = standard.Clone()
	}
	t.TLSClientConfig = secure.Clone()
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second}
	t.Proxy = func(r *http.Request) (*url.URL, error) {
		if r.URL.Scheme != "https" {
			return nil, nil
		}
		return http.ProxyFromEnvironment(r)
	}
	return t
}
