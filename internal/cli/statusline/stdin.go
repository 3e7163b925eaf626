package statusline

import (
	"bytes"
	"io"
	"time"

	"gaffer/internal/text/display"
	"gaffer/statefile/jsontree"
)

const (
	// maxAgent is far more than an agent says of itself.
	maxAgent = 1 << 20
	// agentWithin is how long the agent may take to say it.
	agentWithin = 200 * time.Millisecond
)

// readAgent returns what the agent says on stdin, or what came of it in time.
// A person at a terminal says nothing.
func readAgent(in io.Reader) []byte {
	if in == nil || display.IsTerminal(in) {
		return nil
	}
	return readWithin(in, agentWithin)
}

// readWithin reads to the end of the input, or of the first object in it, for an
// agent need not close what it writes to. A read that never returns is left
// behind: nothing can call it back, and the process ends right after.
func readWithin(in io.Reader, within time.Duration) []byte {
	pieces := make(chan []byte)
	enough := make(chan struct{})
	defer close(enough)
	go read(in, pieces, enough)
	late := time.NewTimer(within)
	defer late.Stop()
	var data []byte
	for {
		select {
		case piece, more := <-pieces:
			data = append(data, piece...)
			if !more || isWhole(data) {
				return data
			}
		case <-late.C:
			return append(data, ready(pieces)...)
		}
	}
}

// ready returns what has come already. A machine that stood still finds it and the
// end of the time at once.
func ready(pieces <-chan []byte) []byte {
	select {
	case piece := <-pieces:
		return piece
	default:
		return nil
	}
}

func read(in io.Reader, pieces chan<- []byte, enough <-chan struct{}) {
	defer close(pieces)
	limited := io.LimitReader(in, maxAgent)
	for {
		piece := make([]byte, 16<<10)
		n, err := limited.Read(piece)
		select {
		case pieces <- piece[:n]:
		case <-enough:
			return
		}
		if err != nil {
			return
		}
	}
}

func isWhole(data []byte) bool {
	return bytes.HasSuffix(bytes.TrimRight(data, " \t\r\n"), []byte("}")) && jsontree.Valid(data)
}
