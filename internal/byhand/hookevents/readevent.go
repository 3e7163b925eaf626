package hookevents

import (
	"bytes"
	"fmt"
	"io"

	"gaffer/statefile/jsontree"
)

// maxEvent is the maximum size of an event, in bytes. An event may contain the old
// and the new content of a file.
const maxEvent = 16 << 20

// ReadEvent reads one JSON object. It does not wait for the end of the input, because some programs
// leave the input open. For empty input it returns an empty value.
func ReadEvent(in io.Reader) (jsontree.Value, error) {
	raw, err := readObject(in)
	if err == nil && len(bytes.TrimSpace(raw)) == 0 {
		return jsontree.Value{}, nil
	}
	if err == nil {
		var v jsontree.Value
		if v, err = jsontree.ParseValue(raw); err == nil {
			return v, nil
		}
	}
	return jsontree.Value{}, fmt.Errorf("read the event: %w", err)
}

// readObject reads a JSON object or array: it stops at the bracket that closes the first bracket,
// or at the end of the input.
func readObject(in io.Reader) ([]byte, error) {
	data := make([]byte, 0, 8<<10)
	var end brackets
	for {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := in.Read(data[len(data):cap(data)])
		if at := end.find(data[len(data) : len(data)+n]); at >= 0 {
			return data[:len(data)+at], nil
		}
		data = data[:len(data)+n]
		switch {
		case err == io.EOF:
			return data, nil
		case err != nil:
			return nil, err
		case len(data) > maxEvent:
			return nil, fmt.Errorf("it is larger than %d bytes", maxEvent)
		}
	}
}

// brackets finds the end of a JSON object or array in text that arrives in pieces.
type brackets struct {
	open           []byte // stack of the closing brackets that are still expected
	quoted, escape bool
}

// find searches the next piece of the text for the end of the JSON object or array. It returns the
// index of the byte after the closing bracket, or -1 if that bracket is not in this piece. If the
// text is invalid, it returns the index after the first invalid byte.
func (b *brackets) find(text []byte) int {
	for i, c := range text {
		switch n := len(b.open); {
		case b.escape:
			b.escape = false
		case b.quoted:
			b.escape, b.quoted = c == '\\', c != '"'
		case c == '{':
			b.open = append(b.open, '}')
		case c == '[':
			b.open = append(b.open, ']')
		case n == 0:
			if !isBlank(c) {
				return i + 1
			}
		case c == '"':
			b.quoted = true
		case c == '}' || c == ']':
			if n == 1 || c != b.open[n-1] {
				return i + 1
			}
			b.open = b.open[:n-1]
		}
	}
	return -1
}

// isBlank reports whether a byte may come before the JSON: white space, or a byte of the UTF-8 byte
// order mark.
func isBlank(c byte) bool {
	switch c {
	case ' ', '\t', '\n', '\r', 0xef, 0xbb, 0xbf:
		return true
	}
	return false
}
