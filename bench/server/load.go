//go:build linux

package main

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// result holds the figures of a series of requests.
type result struct {
	took        time.Duration
	waits       []time.Duration // for each request, the time until its answer was read
	size        int             // size of the last answer's body, in bytes
	server, own time.Duration   // processor time of the server and of the load generator
	database    time.Duration   // processor time of PostgreSQL
}

func (r *result) perSecond() float64 { return float64(len(r.waits)) / r.took.Seconds() }

// quantile returns the wait that the given share of all waits does not exceed. For 0.99 it is the
// 99th percentile.
func (r *result) quantile(share float64) time.Duration {
	if len(r.waits) == 0 {
		return 0
	}
	slices.Sort(r.waits)
	return r.waits[min(len(r.waits)-1, int(share*float64(len(r.waits))))]
}

// client is a connection that sends one request after the other.
type client struct {
	*conn
	// next gets the answer to the previous request. It returns the next request, or nil if there is
	// none, and the result to which the time of that request is added. If the result is nil, the
	// time is not measured.
	next  func(last answer) (request []byte, figure *result)
	asked time.Time
	of    *result
}

// connections holds the connections of all clients. They stay open between two measurements. If the
// time between the measurements is longer than maxIdle, they are replaced by new connections.
type connections struct {
	*loop
	clients []*client
	busy    int       // number of clients that have not finished yet
	used    time.Time // when the last measurement ended
}

func (b *bench) newCrew() (*connections, error) {
	l, err := newLoop()
	if err != nil {
		return nil, err
	}
	w := &connections{loop: l, used: time.Now()}
	for range b.clients {
		c := &client{}
		if c.conn, err = l.dial(b.server.address, func(*conn) (int, error) { return c.answered(&w.busy) }); err != nil {
			return nil, errors.Join(err, l.close())
		}
		w.clients = append(w.clients, c)
	}
	return w, nil
}

// maxIdle is how long the connections to the server may be idle between two measurements. After a
// longer time, [bench.load] replaces them.
const maxIdle = 5 * time.Second

// load sends requests on several connections, one per client, until no client has another request.
// It adds the elapsed time and the processor times to the result total. The function newClient
// returns the field next of the client with index i; see [client].
func (b *bench) load(clients int, total *result, newClient func(i int) func(answer) ([]byte, *result)) error {
	if time.Since(b.crew.used) > maxIdle { // the server may have closed the connections
		if err := b.crew.close(); err != nil {
			return err
		}
		var err error
		if b.crew, err = b.newCrew(); err != nil {
			return err
		}
	}
	defer func() { b.crew.used = time.Now() }()
	list := b.crew.clients[:clients]
	for i, c := range list {
		c.next = newClient(i)
	}
	began, server, database, mine := time.Now(), b.server.cpu(), b.server.databaseCPU(), ownCPU()
	for _, c := range list {
		b.crew.busy++
		if err := c.ask(answer{status: http.StatusOK}, &b.crew.busy); err != nil {
			return err
		}
	}
	for b.crew.busy > 0 {
		if err := b.crew.turn(time.Second); err != nil {
			return err
		}
	}
	total.took += time.Since(began)
	total.server += b.server.cpu() - server
	total.database += b.server.databaseCPU() - database
	total.own += ownCPU() - mine
	return nil
}

// ask sends the client's next request. If there is none, it decrements busy, the number of clients
// that have not finished yet.
func (c *client) ask(last answer, busy *int) error {
	request, figure := c.next(last)
	if request == nil {
		*busy--
		return nil
	}
	c.asked, c.of = time.Now(), figure
	return c.write(request)
}

func (c *client) answered(busy *int) (int, error) {
	a, err := parse(c.buffer)
	if errors.Is(err, errPart) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if a.status >= 300 {
		return 0, fmt.Errorf("status %d: %.200s", a.status, a.body)
	}
	if c.of != nil {
		c.of.waits = append(c.of.waits, time.Since(c.asked))
		c.of.size = len(a.body)
	}
	return a.size, c.ask(a, busy)
}

// sendOne sends one request and returns the body of the answer.
func (b *bench) sendOne(method, path, body string) (text string, err error) {
	var r result
	err = b.load(1, &r, func(int) func(answer) ([]byte, *result) {
		asked := false
		return func(last answer) ([]byte, *result) {
			if asked {
				text = string(last.body)
				return nil, nil
			}
			asked = true
			return b.server.request(method, path, body), nil
		}
	})
	return text, err
}
