//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// request returns the bytes of an HTTP request with the server's token.
func (p *process) request(method, path, body string) []byte {
	return fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		method, path, p.host, p.token, len(body), body)
}

// answer is the server's answer to a request.
type answer struct {
	status int
	body   []byte // valid until the next read from the connection
	size   int    // size of head and body, in bytes
}

var errPart = errors.New("there is more to come")

// parse parses the first answer in data. It returns errPart if data does not contain the whole
// answer yet.
func parse(data []byte) (a answer, err error) {
	head, rest, whole := bytes.Cut(data, []byte("\r\n\r\n"))
	if !whole {
		return a, errPart
	}
	if len(head) < len("HTTP/1.1 200") {
		return a, fmt.Errorf("no answer of HTTP: %.40q", head)
	}
	if a.status, err = strconv.Atoi(string(head[9:12])); err != nil {
		return a, fmt.Errorf("no answer of HTTP: %.40q", head)
	}
	a.size = len(head) + 4
	length, ok := header(head, "\r\nContent-Length: ")
	if !ok {
		return a.chunked(rest)
	}
	n, err := strconv.Atoi(length)
	if err != nil || n > len(rest) {
		return a, errPart
	}
	a.body, a.size = rest[:n], a.size+n
	return a, nil
}

func header(head []byte, name string) (string, bool) {
	_, value, ok := bytes.Cut(head, []byte(name))
	value, _, _ = bytes.Cut(value, []byte("\r\n"))
	return string(value), ok
}

// chunked decodes a body in HTTP's chunked encoding, which the server uses for long bodies.
func (a answer) chunked(encoded []byte) (answer, error) {
	for {
		line, after, whole := bytes.Cut(encoded, []byte("\r\n"))
		if !whole {
			return a, errPart
		}
		n, err := strconv.ParseInt(string(line), 16, 32)
		if err != nil {
			return a, fmt.Errorf("the length of a piece: %.20q", line)
		}
		if len(after) < int(n)+2 {
			return a, errPart
		}
		a.body = append(a.body, after[:n]...)
		a.size += len(line) + int(n) + 4
		if encoded = after[n+2:]; n == 0 {
			return a, nil
		}
	}
}

// member returns the value of the first member called name in a JSON text, or "" if there is none.
// It finds only members whose value is a string, and does not decode escapes in that string.
func member(body []byte, name string) string {
	_, rest, _ := bytes.Cut(body, []byte(`"`+name+`":"`))
	value, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(value)
}
