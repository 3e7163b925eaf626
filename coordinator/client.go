package coordinator

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options configures a client. The zero value of each field means its default.
type Options struct {
	Also  []string     // further addresses, of coordinators that share a database with the first
	Token string       // sent only to the coordinator's own host
	HTTP  *http.Client // supplies transport and cookies; redirects are never followed
	TLS   *tls.Config  // for the standard transport, which is used if HTTP has none
	// PlainHTTP allows sending the token to other machines without encryption. It is
	// meant for networks that are encrypted below HTTP.
	PlainHTTP bool
	Now       func() time.Time // interprets times that the coordinator sends

	Rand    func() float64 // jitter for retries: from 0 up to 1
	Timeout time.Duration  // of one try; default 30 s
	Tries   int            // of a request that is safe to repeat; default 4
	Pause   time.Duration  // before the second try, doubled for each further one; default 200 ms
	Silence time.Duration  // after which a silent stream connection counts as dead; default 45 s
	Limit   int64          // maximum bytes of an answer; default 64 MiB
}

// Client sends requests to a coordinator, or to one of several that share a database: the
// one that answered last, until it fails. It is safe for concurrent use.
type Client struct {
	at   *addresses
	http *http.Client
	opt  Options
}

// New returns a client for the coordinator at an address such as http://127.0.0.1:4870,
// or for several addresses separated by commas. It sends nothing yet.
func New(base string, o Options) (*Client, error) {
	at, err := find(base, o.Also)
	if err != nil {
		return nil, err
	}
	if strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, &badCall{"coordinator's token: has characters that no token has"}
	}
	for _, a := range at.list {
		if o.Token != "" && !o.PlainHTTP && a.Scheme == "http" && !loopback(a.Hostname()) {
			return nil, &PlainHTTPError{Address: a.String()}
		}
	}
	c := &Client{at: at, http: plain(o.HTTP, o.TLS), opt: o.filled()}
	if len(at.list) > 1 {
		hasten(c.http)
	}
	return c, nil
}

func (o Options) filled() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	o.Tries = cmp.Or(o.Tries, 4)
	o.Pause = cmp.Or(o.Pause, 200*time.Millisecond)
	o.Silence = cmp.Or(o.Silence, 45*time.Second)
	o.Limit = cmp.Or(o.Limit, 64<<20)
	return o
}

// badCall is an invalid request that the client does not send.
type badCall struct{ why string }

func (e *badCall) Error() string { return e.why }
func (e *badCall) Invalid() bool { return true }

// PlainHTTPError reports an address to which the token would be sent unencrypted. Nothing
// was sent.
type PlainHTTPError struct{ Address string }

func (e *PlainHTTPError) Error() string {
	return fmt.Sprintf("coordinator's address %q: the token would cross the network unencrypted", e.Address)
}

// Invalid reports that the address must be changed.
func (*PlainHTTPError) Invalid() bool { return true }

// Hint returns what the user can do next.
func (*PlainHTTPError) Hint() string {
	return "use https://, or an ssh tunnel: 'ssh -L 4870:127.0.0.1:4870 HOST', and http://127.0.0.1:4870"
}

// loopback reports whether a host is certainly this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// plain returns a client that never follows redirects.
func plain(given *http.Client, secure *tls.Config) *http.Client {
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

// transport returns the standard transport with two changes. Unencrypted requests bypass
// the proxy, which could read their token. Pings detect connections that the network has
// lost.
func transport(secure *tls.Config) *http.Transport {
	t := &http.Transport{ForceAttemptHTTP2: true, MaxIdleConns: 100, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second}
	if standard, ok := http.DefaultTransport.(*http.Transport); ok { // a program may have replaced it
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

// apart returns a client with its own connections, so that other requests cannot delay
// its requests. A transport of an unknown type is shared.
func (c *Client) apart() (own *http.Client, end func()) {
	copied := *c.http
	t, ok := copied.Transport.(*http.Transport)
	if !ok {
		return &copied, func() {}
	}
	t = t.Clone()
	copied.Transport = t
	return &copied, t.CloseIdleConnections
}

// Apart returns a client with its own connections and this timeout for one try. Both
// clients share the knowledge of which address works.
func (c *Client) Apart(timeout time.Duration) *Client {
	own := *c
	own.http, _ = c.apart()
	own.opt.Timeout = timeout
	return &own
}

// call is one request of the protocol.
type call struct {
	method string
	route  []string // not escaped
	query  url.Values
	body   any
	safe   bool // may be repeated without a further effect
}

func (q call) String() string { return q.method + " /" + strings.Join(q.route, "/") }

// url returns an error for path segments that would lead to another route.
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

// do sends a request, retries it if that is safe, and returns the body of the answer.
func (c *Client) do(ctx context.Context, q call) ([]byte, error) {
	body, err := c.try(ctx, c.http, q)
	for n := 1; err != nil && q.safe && n < c.opt.Tries && temporary(err); n++ {
		if !rest(ctx, c.pause(n, err)) {
			break
		}
		body, err = c.try(ctx, c.http, q)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", q, err)
	}
	return body, nil
}

// pause returns how long to wait after the nth failure. The wait doubles each time and is
// randomized, so that clients which failed together do not retry together.
func (c *Client) pause(n int, err error) time.Duration {
	const longest = 30 * time.Second
	most := min(c.opt.Pause<<min(n-1, 20), longest)
	wait := most/2 + time.Duration(c.opt.Rand()*float64(most/2))
	if e, ok := errors.AsType[*Error](err); ok {
		wait = max(wait, e.After)
	}
	return wait
}

// rest waits for d. It returns false if the context ended first.
func rest(ctx context.Context, d time.Duration) bool {
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

// try sends a request once, to the first coordinator that can be reached.
func (c *Client) try(ctx context.Context, via *http.Client, q call) (body []byte, err error) {
	err = c.visit(ctx, q.safe, func(ctx context.Context, at *address) (err error) {
		body, err = c.tryAt(ctx, at.URL, via, q)
		return err
	})
	return body, err
}

func (c *Client) tryAt(ctx context.Context, base *url.URL, via *http.Client, q call) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.opt.Timeout, errNoAnswer)
	defer cancel()
	req, err := c.request(ctx, base, q)
	if err != nil {
		return nil, err
	}
	res, err := via.Do(req)
	if err != nil {
		return nil, reason(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, c.refused(res)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, c.opt.Limit+1))
	switch {
	case err != nil:
		return nil, reason(ctx, err)
	case int64(len(body)) > c.opt.Limit:
		return nil, &Error{Code: TooLarge, Message: fmt.Sprintf("the answer is larger than %d bytes", c.opt.Limit), Status: res.StatusCode}
	}
	return body, nil
}

func (c *Client) request(ctx context.Context, base *url.URL, q call) (*http.Request, error) {
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

// encoded returns the body and its content type, or nil if there is no body.
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

// refused reads the error of an answer, at most 64 KiB.
func (c *Client) refused(res *http.Response) error {
	const most = 64 << 10
	body, _ := io.ReadAll(io.LimitReader(res.Body, most)) // the status is enough if this fails
	return refusal(res, body, c.opt.Now())
}

// reason returns why a request failed, without its URL, which the caller adds.
func reason(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
