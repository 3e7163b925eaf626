package coordinator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// addresses holds the addresses of the coordinators of one fleet. All requests go to
// one address. When that address fails, all requests switch to the next.
type addresses struct {
	mu           sync.Mutex
	list         []*address // entries are replaced, never modified
	currentIndex int        // index of the address that requests go to
	lastAnswered int        // index of the address that gave the last answer, ignoring late answers of earlier addresses; 0 at first
}

// address is the address of one coordinator. When the context used ends, the requests that still
// wait for this address are cancelled if they may be sent twice.
type address struct {
	*url.URL
	number int             // index in the list of addresses
	used   context.Context // ends when another address has answered in place of this one
	stop   context.CancelCauseFunc
}

// errSwitched is the reason for cancelling a request: the request's address has failed, and another
// address has answered.
var errSwitched = errors.New("another coordinator answers in its place")

// parseAddresses parses the comma-separated addresses in list, and the addresses in extra.
func parseAddresses(list string, extra []string) (*addresses, error) {
	a := &addresses{}
	for n, text := range append(strings.Split(list, ","), extra...) {
		u, err := parseAddress(strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		a.list = append(a.list, newAddress(u, n))
	}
	return a, nil
}

func newAddress(u *url.URL, number int) *address {
	used, stop := context.WithCancelCause(context.Background())
	return &address{u, number, used, stop}
}

func parseAddress(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, &badCall{"coordinator's address: not a URL"}
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, &badCall{fmt.Sprintf("coordinator's address %q: want http://host:port or https://host", withoutPassword(u))}
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return nil, &badCall{fmt.Sprintf("coordinator's address %q: only a host and a path are allowed, the token addr given separately", withoutPassword(u))}
	}
	return u, nil
}

// withoutPassword returns a URL for an error message, without its password. If the parser has found
// no password, as in USER:PASSWORD@HOST, everything before the @ is left out.
func withoutPassword(u *url.URL) string {
	text := u.Redacted()
	if at := strings.LastIndex(text, "@"); at >= 0 && u.User == nil {
		return "…" + text[at:]
	}
	return text
}

// current returns the address to which requests currently go.
func (a *addresses) current() *address {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.list[a.currentIndex]
}

// failed switches from the given address to the next one. It does nothing if the given address is
// no longer the current one, because another request has already switched.
func (a *addresses) failed(addr *address) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.list[a.currentIndex] == addr {
		a.currentIndex = (a.currentIndex + 1) % len(a.list)
	}
}

// answered records that the given address has answered. If the given address is no longer the
// current one, answered does nothing. If the previous answer came from another address, answered
// cancels the requests that still wait for other addresses and that are safe to send twice. They
// are then sent again, to the given address.
//
// Only an answer cancels other requests; a failed request does not. So no request is cancelled
// while no coordinator answers, for example because their database is down.
func (a *addresses) answered(addr *address) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lastAnswered == addr.number || a.list[a.currentIndex] != addr {
		return
	}
	a.lastAnswered = addr.number
	for i, other := range a.list {
		if i != addr.number {
			other.stop(errSwitched)
			a.list[i] = newAddress(other.URL, i)
		}
	}
}

// firstReachable sends a request to the current address. If that coordinator is unavailable, it
// tries the next address, and so on. The number of tries is at most the number of addresses.
//
// If the parameter safe is true, the request may be sent twice. So it is cancelled and sent again
// as soon as its address has failed for another request and a different address has answered. A
// request that is not safe is sent to the next address only if no connection to the previous one
// was established.
func (c *connection) firstReachable(ctx context.Context, safe bool, send func(context.Context, *address) error) error {
	var err error
	for range c.addresses.list {
		addr := c.addresses.current()
		if safe && len(c.addresses.list) > 1 {
			err = sendWhileUsed(ctx, addr, send)
		} else {
			err = send(ctx, addr)
		}
		if !unavailable(ctx, err) {
			c.addresses.answered(addr)
			return err
		}
		c.addresses.failed(addr)
		if ctx.Err() != nil || !safe && !unsent(err) {
			return err
		}
	}
	return err
}

// sendWhileUsed sends a request to an address. It cancels the request if meanwhile the address has
// failed and another address has answered.
func sendWhileUsed(ctx context.Context, addr *address, send func(context.Context, *address) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(addr.used, func() { cancel(errSwitched) })()
	return send(ctx, addr)
}

// unavailable reports whether the coordinator did not answer, or answered with an error that
// another coordinator might not return. It also returns true if the caller's deadline passed before
// the answer. It returns false if the caller cancelled the request, because that says nothing about
// the coordinator.
func unavailable(ctx context.Context, err error) bool {
	if err == nil || errors.Is(ctx.Err(), context.Canceled) {
		return false
	}
	if _, bad := errors.AsType[*badCall](err); bad {
		return false
	}
	e, refused := errors.AsType[*Error](err)
	if !refused {
		return true
	}
	switch e.Status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// unsent reports whether the request failed before a connection was established.
func unsent(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// dialTimeout is the maximum time for establishing a connection, if the client has several
// addresses.
const dialTimeout = 3 * time.Second

// shortenDialTimeout makes a client give up connecting after dialTimeout. It does nothing if the
// client's transport is not an http.Transport.
func shortenDialTimeout(c *http.Client) {
	given, ok := c.Transport.(*http.Transport)
	if !ok {
		return
	}
	t := given.Clone()
	dial := t.DialContext
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		conn, err := dial(ctx, network, address)
		if err != nil && !unsent(err) {
			err = &net.OpError{Op: "dial", Net: network, Err: err}
		}
		return conn, err
	}
	c.Transport = t
}
