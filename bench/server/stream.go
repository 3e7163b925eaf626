//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// stream measures how long events take to reach the readers of the event stream, and prints the
// result. Many readers follow the stream while events are sent at a steady rate. stream returns an
// error if a reader does not get every event once and in order.
func (b *bench) stream() (err error) {
	if _, err := b.sendOne("POST", "/v1/agents/heartbeat", fmt.Sprintf(`{"agent_id":%q,"claude_status":"idle"}`, agentID(0))); err != nil {
		return err
	}
	l, err := newLoop()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	t := &streamRun{bench: b, loop: l}
	if err := t.connectReaders(); err != nil {
		return err
	}
	if err := b.server.memory(fmt.Sprintf("with %d readers", b.readers)); err != nil {
		return err
	}
	r, err := t.sendEvents(b.events)
	if err != nil {
		return err
	}
	row(fmt.Sprintf("stream, %d readers, %d events/s", b.readers, b.events), r, below(r.quantile(.99), 100*time.Millisecond))
	fmt.Printf("%-44s %9.2f\n", "  events in one reading", float64(len(r.waits))/float64(t.readings))
	return nil
}

// streamRun is one measurement of the stream.
type streamRun struct {
	*bench
	loop     *loop
	sent     []time.Time // when each event was sent, indexed by its number
	got      int         // number of events that all readers together received
	readings int         // number of reads that returned at least one event
	waits    []time.Duration
	greeted  int
}

// connectReaders connects all readers. At any time, at most about 50 of them wait for their first
// message.
func (t *streamRun) connectReaders() error {
	request := t.server.request("GET", "/v1/stream", "")
	for i := range t.readers {
		r := &reader{streamRun: t}
		c, err := t.loop.dial(t.server.address, r.read)
		if err != nil {
			return err
		}
		if err := c.write(request); err != nil {
			return err
		}
		for t.greeted < i-50 || i == t.readers-1 && t.greeted < t.readers {
			if err := t.loop.turn(time.Second); err != nil {
				return err
			}
		}
	}
	return nil
}

// sendEvents sends events at a steady rate, for twice the duration t.each, and waits until every
// reader has received all of them. It fails if that takes more than 10 seconds after the last event.
func (t *streamRun) sendEvents(perSecond int) (r result, err error) {
	c, err := t.loop.dial(t.server.address, confirmed)
	if err != nil {
		return r, err
	}
	count := int(t.each.Seconds() * 2 * float64(perSecond))
	t.waits = make([]time.Duration, 0, count*t.readers)
	began, server, mine := time.Now(), t.server.cpu(), ownCPU()
	for t.got < count*t.readers {
		due := began.Add(time.Duration(len(t.sent)) * time.Second / time.Duration(perSecond))
		if wait := time.Until(due); wait > 0 || len(t.sent) == count {
			if err := t.loop.turn(max(min(wait, 10*time.Millisecond), time.Millisecond)); err != nil {
				return r, err
			}
			if len(t.sent) == count && time.Since(due) > 10*time.Second {
				return r, fmt.Errorf("only %d of %d deliveries", t.got, count*t.readers)
			}
			continue
		}
		body := fmt.Sprintf(`{"agent_id":%q,"type":"bench","payload":{"n":%d}}`, agentID(0), len(t.sent))
		t.sent = append(t.sent, time.Now())
		if err := c.write(t.server.request("POST", "/v1/events", body)); err != nil {
			return r, err
		}
	}
	r = result{took: time.Since(began), waits: t.waits, server: t.server.cpu() - server, own: ownCPU() - mine}
	return r, nil
}

// confirmed reads the server's answer to a request that sent an event.
func confirmed(c *conn) (int, error) {
	a, err := parse(c.buffer)
	if errors.Is(err, errPart) {
		return 0, nil
	}
	if err == nil && a.status != 201 {
		err = fmt.Errorf("status %d: %.200s", a.status, a.body)
	}
	return a.size, err
}

// reader is one client of the stream.
type reader struct {
	*streamRun
	next    int // number of the next expected event
	greeted bool
}

// read handles all complete events in the buffer. It skips HTTP chunk headers between them.
func (r *reader) read(c *conn) (used int, err error) {
	if !r.greeted {
		if !bytes.Contains(c.buffer, []byte("event: hello")) {
			return 0, nil
		}
		r.greeted = true
		r.streamRun.greeted++
	}
	now, before := time.Now(), r.got
	for {
		rest := c.buffer[used:]
		end := bytes.Index(rest, []byte("\n\n"))
		if end < 0 {
			break
		}
		if err := r.event(rest[:end], now); err != nil {
			return used, err
		}
		used += end + 2
	}
	if r.got > before {
		r.readings++
	}
	return used, nil
}

func (r *reader) event(text []byte, now time.Time) error {
	_, number, ok := bytes.Cut(text, []byte(`"payload":{"n":`))
	if !ok {
		return nil
	}
	number, _, _ = bytes.Cut(number, []byte("}"))
	n, err := strconv.Atoi(string(number))
	if err != nil || n != r.next {
		return fmt.Errorf("event %s came when %d was next", number, r.next)
	}
	r.next++
	r.got++
	r.waits = append(r.waits, now.Sub(r.sent[n]))
	return nil
}
