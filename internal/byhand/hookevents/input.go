package hookevents

import (
	"bytes"
	"fmt"
	"io"

	"gaffer/statefile/jsonview"
)

// maxEvent is the largest event that is read. An agent puts the content of the
// file into it, old and new.
const maxEvent = 16 << 20

// ReadEvent reads one JSON object. It does not wait for the end of the input:
// some programs leave it open. No input is no event.
func ReadEvent(in io.Reader) (jsonview.Value, error) {
	raw, err := readObject(in)
	if err == nil && len(bytes.TrimSpace(raw)) == 0 {
		return jsonview.Value{}, nil
	}
	if err == nil {
		var v jsonview.Value
		if v, err = jsonview.Parse(raw); err == nil {
			return v, nil
		}
	}
	return jsonview.Value{}, fmt.Errorf("read the event: %w", err)
}

// readObject reads up to the bracket that closes the first one, or all there is.
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

// brackets finds the end of an object or a list in text that comes in pieces.
type brackets struct {
	open           []byte // what closes those that are open
	quoted, escape bool
}

// find returns where in the next piece the end is, -1 if it is not in it. The end
// is also where it turns out to be nothing of the kind.
func (b *brackets) find(piece []byte) int {
	for i, c := range piece {
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

// isBlank tells of a byte whether it may come before JSON: as a blank, or in the
// mark that some programs begin a text with.
func isBlank(c byte) bool {
	switch c {
	case ' ', '\t', '\n', '\r', 0xef, 0xbb, 0xbf:
		return true
	}
	return false
}
