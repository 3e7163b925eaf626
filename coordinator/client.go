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

// Options are how a client speaks. The zero value of each means its default.
type Options struct {
	Also  []string     // further addresses, of coordinators that share a database with the first
	Token string       // sent to the coordinator's own host and nowhere else
	HTTP  *http.Client // its transport and cookies are used; redirects are never followed
	TLS   *tls.Config  // of the standard transport, which is used if HTTP has none
	// PlainHTTP lets the token go to other machines without encryption: for networks
	// that are encrypted below HTTP.
	PlainHTTP bool
	Now       func() time.Time // for what a coordinator says about times

	Rand    func() float64 // spreads repeated requests: from 0 up to 1
	Timeout time.Duration  // of one try: 30 s
	Tries   int            // of a request that is safe to repeat: 4
	Pause   time.Duration  // before the second try, and doubled for each one after: 200 ms
	Silence time.Duration  // after which the stream's connection is dead: 45 s
	Limit   int64          // bytes of an answer that are read: 64 MiB
}

// Client speaks to a coordinator, or to one of several that share a database: the
// one that has answered last, until that is away. It may be used by many goroutines
// at once.
type Client struct {
	at   *addresses
	http *http.Client
	opt  Options
}

// New returns a client for the coordinator at an address such as
// http://127.0.0.1:4870, or for those at several, separated by commas. It sends
// nothing yet.
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

// badCall is a request that the client does not send.
type badCall struct{ why string }

func (e *badCall) Error() string { return e.why }
func (e *badCall) Invalid() bool { return true }

// PlainHTTPError is an address to which a token would go unencrypted. Nothing was
// sent.
type PlainHTTPError struct{ Address string }

func (e *PlainHTTPError) Error() string {
	return fmt.Sprintf("coordinator's address %q: the token would cross the network unencrypted", e.Address)
}

// Invalid says that the address is at fault.
func (*PlainHTTPError) Invalid() bool { return true }

// Hint says what to do next.
func (*PlainHTTPError) Hint() string {
	return "use https://, or an ssh tunnel: 'ssh -L 4870:127.0.0.1:4870 HOST', and http://127.0.0.1:4870"
}

// loopback reports whether a host can only be this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// plain returns a client that goes where it is told and nowhere else.
func plain(given *http.Client, secure *tls.Config) *http.Client {
	c := http.Client{}
	if given != nil {
		c = *given
	}
	if c.Transport == nil {
		c.Transport = transport(secure)
	}
	c.Timeout = 0 // each request has its own
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// transport is the standard one, except that only encrypted requests go through a
// proxy, which would read the token of the others, and that a connection which a
// network has lost is noticed.
func transport(secure *tls.Config) *http.Transport {
	t := &http.Transport{ForceAttemptHTTP2: true, MaxIdleConns: 100, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second}
	if standard, ok := http.DefaultTransport.(*http.Transport); ok { // a program may have put another in its place
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

// apart returns a client with connections of its own, so that nothing else can
// make its requests wait. A transport that is not the standard one is shared.
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

// Apart returns a client with connections of its own and this much time for one
// try. What one of the two finds out about an address that is away, the other knows.
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
	safe   bool // doing it twice is doing it once
}

func (q call) String() string { return q.method + " /" + strings.Join(q.route, "/") }

// url refuses names that would lead to another route.
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

// do asks, and asks again where that is safe, and returns the answer's body.
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

// pause is how long to wait after the nth failure: doubled each time, and spread,
// so that clients which failed together do not come back together.
func (c *Client) pause(n int, err error) time.Duration {
	const longest = 30 * time.Second
	most := min(c.opt.Pause<<min(n-1, 20), longest)
	wait := most/2 + time.Duration(c.opt.Rand()*float64(most/2))
	if e, ok := errors.AsType[*Error](err); ok {
		wait = max(wait, e.After)
	}
	return wait
}

// rest waits, and says false if the context ended first.
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

// try asks once, wherever a coordinator can be reached.
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

// encoded is the body as it is sent, with its type, or nil for none.
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

// refused reads no more of a refusal than a person would.
func (c *Client) refused(res *http.Response) error {
	const most = 64 << 10
	body, _ := io.ReadAll(io.LimitReader(res.Body, most)) // the status says enough
	return refusal(res, body, c.opt.Now())
}

// reason is why a request came to nothing, without its URL, which the caller adds.
func reason(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
