package supervisor

import (
	"bufio"
	"encoding/json"
	"errors"
	"net"
	"sync"
	"time"
)

// The supervisor and its clients exchange lines of JSON. Clients send orders, and the supervisor
// replies to each order. It also sends Started to each client when the agent runs, and Exit when
// the attempt is over. If the agent could not be started, the supervisor sends only Exit. It closes
// the connection after Exit.

// order is a request that a client sends to the supervisor.
type order struct {
	ID    int    `json:"id"`
	Do    string `json:"do"`
	Input []byte `json:"input,omitempty"`
	Key   string `json:"key,omitempty"` // the supervisor drops an input whose key it has seen before
	Why   string `json:"why,omitempty"`
	Now   bool   `json:"now,omitempty"`
	Lease lease  `json:"lease,omitzero"`
	Waits bool   `json:"waits,omitempty"`
}

// The values of order.Do.
const (
	doInput  = "input"
	doClose  = "close input"
	doStop   = "stop"
	doExtend = "extend"
	doWait   = "wait"
	doStatus = "state"
)

// message is what the supervisor sends to a client. Exactly one of Started, Exit and Reply is set.
type message struct {
	Started *Started `json:"started,omitempty"`
	Exit    *Exit    `json:"exit,omitempty"`
	Free    bool     `json:"free,omitempty"` // the supervisor can run another attempt; only set together with Exit
	Reply   *reply   `json:"reply,omitempty"`
}

// reply is the answer to an order.
type reply struct {
	ID    int     `json:"id"`
	Error string  `json:"error,omitempty"`
	State *Status `json:"state,omitempty"`
}

// Status is the current state of an attempt, as its supervisor reports it.
type Status struct {
	// Doing is the stage of the attempt: running, interrupting, terminating, sweeping or killing.
	// Sweeping means that the agent has exited and its remaining descendants get SIGTERM.
	Doing      string `json:"doing"`
	StopReason string `json:"told,omitempty"`
	// Frozen says that the agent and all its descendants are frozen, because the lease
	// was not extended.
	Frozen bool `json:"frozen,omitempty"`
	// Pending is the number of bytes of input that are queued for the agent's stdin.
	Pending int `json:"pending,omitempty"`
}

const (
	// maxLine is the maximum size in bytes of one JSON line between a supervisor and its clients.
	// Only the line with which a pool hands an attempt to a supervisor may be longer, see
	// maxHandover.
	maxLine = 1 << 20
	// maxChunk is the maximum number of bytes of input in one order.
	maxChunk = 256 << 10
	// writeTimeout is how long a write may block if the other side does not read.
	writeTimeout = 5 * time.Second
)

var errLineTooLong = errors.New("line too long")

// link is a connection between a supervisor and a client. Each message is one line of JSON.
type link struct {
	conn  net.Conn
	lines *bufio.Reader
	mu    sync.Mutex // held while a line is written
}

func newLink(conn net.Conn) *link {
	return &link{conn: conn, lines: bufio.NewReader(conn)}
}

func (l *link) send(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	_, err = l.conn.Write(append(line, '\n'))
	return err
}

func (l *link) receive(into any) error { return l.receiveUpTo(maxLine, into) }

func (l *link) receiveUpTo(limit int, into any) error {
	var line []byte
	for {
		piece, err := l.lines.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case len(line) > limit:
			return errLineTooLong
		case err == nil:
			return json.Unmarshal(line, into)
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}

func (l *link) close() { _ = l.conn.Close() } // ignore the error: lines that were sent are already in the peer's buffer
