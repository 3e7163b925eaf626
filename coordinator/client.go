package coordinator

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"gaffer/fleet"
)

// Options configure a client. Every field may be zero.
type Options struct {
	Also  []string     // addresses of further coordinators, which share a database with that of New's parameter base
	Token string       // sent only to the addresses of the coordinators
	HTTP  *http.Client // only its transport and its cookies are used; nil means a new client; redirects are never followed
	TLS   *tls.Config  // settings for the standard transport; not used if HTTP has a transport
	// PlainHTTP allows sending the token to other machines without encryption. It is
	// meant for networks that are themselves encrypted, such as a VPN.
	PlainHTTP bool
	Now       func() time.Time // the clock, to interpret times that the coordinator sends; default time.Now

	Rand    func() float64 // returns a random number in [0, 1), for the pauses between tries; default rand.Float64
	Timeout time.Duration  // how long one try of a request may take; default 30 s
	Tries   int            // how often a request that is safe to repeat is tried at most; default 4
	Pause   time.Duration  // pause before the second try, doubled for each further one; default 200 ms
	Silence time.Duration  // a stream without data for this long counts as broken; default 45 s
	Limit   int64          // maximum size of an answer, in bytes; default 64 MiB
}

// Client sends requests to a coordinator, or to one of several that share a database.
// It uses the coordinator that answered last, until that one fails. The requests are
// grouped by subject. A Client is safe for concurrent use.
type Client struct {
	Agents        *AgentClient
	Channels      *ChannelClient
	Chains        *ChainClient
	Tasks         *TaskClient
	Events        *EventClient
	Notifications *NotificationClient

	// The requests below are not part of the written protocol: only gaffer has them.

	Runs      *RunClient
	Questions *QuestionClient
	Reviews   *ReviewClient
	Sessions  *SessionClient
	Work      *WorkClient // requests of gaffer's workers

	conn *connection
}

// New returns a client for the coordinator at an address such as http://127.0.0.1:4870,
// or for several addresses separated by commas. It sends nothing yet.
func New(base string, o Options) (*Client, error) {
	at, err := parseAddresses(base, o.Also)
	if err != nil {
		return nil, err
	}
	if strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, &badCall{"coordinator's token: contains characters that are not allowed in a token"}
	}
	for _, a := range at.list {
		if o.Token != "" && !o.PlainHTTP && a.Scheme == "http" && !loopback(a.Hostname()) {
			return nil, &PlainHTTPError{Address: a.String()}
		}
	}
	conn := &connection{addresses: at, http: withoutRedirects(o.HTTP, o.TLS), opt: o.withDefaults()}
	if len(at.list) > 1 {
		shortenDialTimeout(conn.http)
	}
	return newClient(conn), nil
}

func newClient(conn *connection) *Client {
	return &Client{
		Agents: &AgentClient{conn}, Channels: &ChannelClient{conn}, Chains: &ChainClient{conn}, Tasks: &TaskClient{conn},
		Events: &EventClient{conn}, Notifications: &NotificationClient{conn},
		Runs: &RunClient{conn}, Questions: &QuestionClient{conn}, Reviews: &ReviewClient{conn}, Sessions: &SessionClient{conn}, Work: &WorkClient{conn},
		conn: conn,
	}
}

func (o Options) withDefaults() Options {
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

// Separate returns a client with its own connections. Each try of its requests may take as long as
// timeout. If the client has several addresses, both clients always use the same one of them.
func (c *Client) Separate(timeout time.Duration) *Client {
	own, _ := c.conn.separate()
	own.opt.Timeout = timeout
	return newClient(own)
}

// Health returns nil if the coordinator is able to handle requests.
func (c *Client) Health(ctx context.Context) error {
	_, err := c.conn.do(ctx, get(nil, "health"))
	return err
}

// Self describes a coordinator and the token that the client uses.
type Self struct {
	Version string    `json:"version"`
	Time    time.Time `json:"time"` // the coordinator's clock
	Name    string    `json:"name"` // name of the token
	Role    string    `json:"role"` // role of the token: admin, operator, worker or viewer
}

// Self returns a description of the coordinator, and the name and role of the client's token.
func (c *Client) Self(ctx context.Context) (Self, error) {
	return ask[Self](ctx, c.conn, get(nil, "v1", "self"), "self")
}

// Dashboard returns all agents, channels and chains, and as many of the tasks and latest events as
// the coordinator puts on its dashboard.
func (c *Client) Dashboard(ctx context.Context) (Dashboard, error) {
	q := get(nil, "v1", "dashboard")
	body, err := c.conn.do(ctx, q)
	if err != nil {
		return Dashboard{}, err
	}
	var d Dashboard
	answer := members(body)
	for member, to := range map[string]any{
		"agents": &d.Agents, "channels": &d.Channels, "chains": &d.Chains, "tasks": &d.Tasks, "events": &d.Events,
	} {
		if err := answer.pick(member, to); err != nil {
			return Dashboard{}, fmt.Errorf("%s: %w", q, err)
		}
	}
	return d, nil
}

// Lanes returns the agent accounts that are paused, and the limits of the user that are reached.
func (c *Client) Lanes(ctx context.Context) ([]fleet.Lane, error) {
	return ask[[]fleet.Lane](ctx, c.conn, get(nil, "v1", "lanes"), "lanes")
}

// PlainHTTPError is returned by [New] if requests to Address would send the token unencrypted to
// another machine.
type PlainHTTPError struct{ Address string }

func (e *PlainHTTPError) Error() string {
	return fmt.Sprintf("coordinator's address %q: the token would cross the network unencrypted", e.Address)
}

// Invalid returns true, because the address is wrong and a retry would not help.
func (*PlainHTTPError) Invalid() bool { return true }

// Hint tells the user what to do next.
func (*PlainHTTPError) Hint() string {
	return "use https://, or an ssh tunnel: 'ssh -L 4870:127.0.0.1:4870 HOST', and http://127.0.0.1:4870"
}
