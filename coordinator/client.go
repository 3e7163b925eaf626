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

// Options configure a client. Every field may have its zero value.
type Options struct {
	// Also is a list of the addresses of further coordinators. They must use the same database as
	// the coordinator whose address is passed to [New].
	Also  []string
	Token string // access token; sent only to the given addresses, because redirects are not followed
	// HTTP is the client that sends the requests. Its timeout is ignored, and redirects are never
	// followed. Nil means: use a new client.
	HTTP *http.Client
	TLS  *tls.Config // TLS settings; not used if the client in the field HTTP has its own transport
	// PlainHTTP allows sending the token to other machines without encryption. It is
	// meant for networks that are themselves encrypted, such as a VPN.
	PlainHTTP bool
	Now       func() time.Time // clock for interpreting Retry-After dates; default time.Now

	Rand    func() float64 // random numbers in [0, 1) for the pauses between tries; default rand.Float64
	Timeout time.Duration  // maximum duration of one try of a request; default 30 s
	Tries   int            // maximum number of tries of a request that is safe to send again; default 4
	// Pause is the maximum pause before the second try. The maximum doubles with each further try,
	// up to 30 s. If the coordinator asks for a longer pause, the client waits longer. The default
	// is 200 ms.
	Pause   time.Duration
	Silence time.Duration // an event stream without data for this long counts as broken; default 45 s
	Limit   int64         // maximum size of an answer, in bytes; default 64 MiB
}

// Client sends requests to a coordinator, or to one of several coordinators that share a database.
// In the latter case, it uses the same coordinator until that one fails. Each field has the methods
// for one kind of request. A Client is safe for concurrent use.
type Client struct {
	Agents        *AgentClient
	Channels      *ChannelClient
	Chains        *ChainClient
	Tasks         *TaskClient
	Events        *EventClient
	Notifications *NotificationClient

	// The coordinator protocol does not define the requests of the fields below. Only gaffer's
	// coordinator handles them.

	Runs      *RunClient
	Questions *QuestionClient
	Reviews   *ReviewClient
	Sessions  *SessionClient
	Work      *WorkClient // requests of gaffer's workers

	conn *connection
}

// New returns a client for a coordinator. base is the coordinator's address, such as
// http://127.0.0.1:4870, or several addresses separated by commas. New sends no request.
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

// Separate returns a copy of the client that has its own connections. timeout is the maximum
// duration of each try of the copy's requests. If there are several coordinators, both clients
// always use the same one.
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

// Self describes the coordinator that has answered, and the token that the client uses.
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

// Dashboard returns all agents, channels and chains. It also returns tasks and the latest events,
// but only as many as the coordinator shows on its dashboard.
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

// Lanes returns the agent accounts that are paused, and the user's cost limits that have been
// reached. The time in the field Until may already have passed.
func (c *Client) Lanes(ctx context.Context) ([]fleet.Lane, error) {
	return ask[[]fleet.Lane](ctx, c.conn, get(nil, "v1", "lanes"), "lanes")
}

// PlainHTTPError is the error of [New] if the client would send the token unencrypted to Address,
// which is on another machine.
type PlainHTTPError struct{ Address string }

func (e *PlainHTTPError) Error() string {
	return fmt.Sprintf("coordinator's address %q: the token would cross the network unencrypted", e.Address)
}

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (*PlainHTTPError) Invalid() bool { return true }

// Hint tells the user what to do next.
func (*PlainHTTPError) Hint() string {
	return "use https://, or an ssh tunnel: 'ssh -L 4870:127.0.0.1:4870 HOST', and http://127.0.0.1:4870"
}
