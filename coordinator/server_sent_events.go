package coordinator

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
)

// message is one block of a stream of server-sent events.
type message struct {
	name  string
	data  []byte
	id    string
	hasID bool
	cut   bool          // part of the message is missing, because the message is too long
	retry time.Duration // the server's requested delay before a reconnect; 0 means none
}

func (m message) empty() bool {
	return m.name == "" && m.data == nil && !m.hasID && !m.cut && m.retry == 0
}

// messages reads a stream of server-sent events. It limits the size of each message, so that a
// server cannot use up the client's memory.
type messages struct {
	from  *bufio.Reader
	limit int    // maximum bytes of one message
	alive func() // called after each line that was read, even an empty line or a comment
}

func newMessages(r io.Reader, limit int, alive func()) *messages {
	from := bufio.NewReader(r)
	if mark, err := from.Peek(3); err == nil && string(mark) == "\ufeff" {
		_, _ = from.Discard(3) // cannot fail: the bytes are already buffered
	}
	return &messages{from: from, limit: limit, alive: alive}
}

// next waits for the next complete message and returns it. If the connection ends within a message,
// next discards that message and returns the error, such as io.EOF.
func (r *messages) next() (message, error) {
	var m message
	for {
		line, long, err := r.line()
		if err != nil {
			return message{}, err
		}
		r.alive()
		switch {
		case len(line) > 0:
			m.add(line, long, r.limit)
		case !m.empty():
			return m, nil
		}
	}
}

// line reads the next line, without its line break. If the line exceeds the limit, it is truncated,
// and long is true.
func (r *messages) line() (line []byte, long bool, err error) {
	for {
		part, err := r.from.ReadSlice('\n')
		if room := r.limit - len(line); len(part) > room {
			part, long = part[:max(room, 0)], true
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return bytes.TrimRight(line, "\r\n"), long, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, false, err
		}
	}
}

func (m *message) add(line []byte, long bool, limit int) {
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "event":
		m.name = string(value)
	case "id":
		if !bytes.Contains(value, []byte{0}) {
			m.id, m.hasID = string(value), true
		}
	case "retry":
		if ms, err := strconv.ParseUint(string(value), 10, 16); err == nil {
			m.retry = time.Duration(ms) * time.Millisecond
		}
	case "data":
		m.addData(value, limit)
	}
	m.cut = m.cut || long && len(field) > 0
}

func (m *message) addData(value []byte, limit int) {
	if m.data == nil {
		m.data = []byte{}
	} else {
		m.data = append(m.data, '\n')
	}
	if len(m.data)+len(value) > limit {
		m.cut = true
		return
	}
	m.data = append(m.data, value...)
}

// before reports whether a is a lower id than b. It compares ids as numbers, and returns false if a
// or b is not a number.
func before(a, b string) bool {
	x, errX := strconv.ParseInt(strings.TrimSpace(a), 10, 64)
	y, errY := strconv.ParseInt(strings.TrimSpace(b), 10, 64)
	return errX == nil && errY == nil && x < y
}
