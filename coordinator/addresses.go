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

// addresses are where the coordinators of one fleet are. Requests go to one of
// them, and all to the next as soon as one of them shows that it is away.
type addresses struct {
	mu    sync.Mutex
	list  []*address // of which an entry is replaced, never changed
	now   int        // the one that requests go to
	works int        // the one that was the last to answer
}

// address is where a coordinator is, for as long as it is used.
type address struct {
	*url.URL
	number int
	used   context.Context // ends when it has failed and another one has answered
	leave  context.CancelCauseFunc
}

// errLeft is why a request is given up that waits for an address which is away.
var errLeft = errors.New("another coordinator answers in its place")

// find reads addresses: some separated by commas, and more.
func find(list string, also []string) (*addresses, error) {
	a := &addresses{}
	for n, text := range append(strings.Split(list, ","), also...) {
		u, err := parse(strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		a.list = append(a.list, begin(u, n))
	}
	return a, nil
}

func begin(u *url.URL, number int) *address {
	used, leave := context.WithCancelCause(context.Background())
	return &address{u, number, used, leave}
}

func parse(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, &badCall{"coordinator's address: not a URL"}
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, &badCall{fmt.Sprintf("coordinator's address %q: want http://host:port or https://host", u.Redacted())}
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return nil, &badCall{fmt.Sprintf("coordinator's address %q: only a host and a path are allowed, the token is given apart", u.Redacted())}
	}
	return u, nil
}

// at returns the address that is used now.
func (a *addresses) at() *address {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.list[a.now]
}

// failed makes the next address the one that is used, unless one has become so
// since.
func (a *addresses) failed(is *address) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.list[a.now] == is {
		a.now = (a.now + 1) % len(a.list)
	}
}

// answered says that an address works. If it is new that this one does, what
// still waits for the others is told to come here. Only an answer counts: while
// no coordinator has one, as when their database is away, nobody is sent around.
func (a *addresses) answered(is *address) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.works == is.number || a.list[a.now] != is {
		return
	}
	a.works = is.number
	for i, other := range a.list {
		if i != is.number {
			other.leave(errLeft)
			a.list[i] = begin(other.URL, i)
		}
	}
}

// visit asks at one address after the other, each once at most, until one can be
// reached. What may be repeated is given up where it waits for an address that was
// left meanwhile; the rest goes to another address only if it was not sent at all.
func (c *Client) visit(ctx context.Context, safe bool, ask func(context.Context, *address) error) error {
	var err error
	for range c.at.list {
		is := c.at.at()
		if err = c.while(ctx, is, safe, ask); !away(ctx, err) {
			c.at.answered(is)
			return err
		}
		c.at.failed(is)
		if ctx.Err() != nil || !safe && !unsent(err) {
			return err
		}
	}
	return err
}

// while asks at an address for as long as it is used.
func (c *Client) while(ctx context.Context, is *address, safe bool, ask func(context.Context, *address) error) error {
	if !safe || len(c.at.list) == 1 {
		return ask(ctx, is)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(is.used, func() { cancel(errLeft) })()
	return ask(ctx, is)
}

// away says that there was no answer, or one which another coordinator need not
// give. A caller who has gone says nothing about the coordinator; one whose time
// is up does.
func away(ctx context.Context, err error) bool {
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

// unsent says that no connection was made.
func unsent(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// quick is how long a connection may take to be made where there is another
// address to try.
const quick = 3 * time.Second

// hasten lets a client give up connecting sooner.
func hasten(c *http.Client) {
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
		ctx, cancel := context.WithTimeout(ctx, quick)
		defer cancel()
		conn, err := dial(ctx, network, address)
		if err != nil && !unsent(err) {
			err = &net.OpError{Op: "dial", Net: network, Err: err}
		}
		return conn, err
	}
	c.Transport = t
}
