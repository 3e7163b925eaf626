package statusline

import (
	"bytes"
	"io"
	"time"

	"gaffer/internal/text/display"
	"gaffer/statefile/jsontree"
)

const (
	// maxAgent is the maximum size of the agent's JSON, in bytes.
	maxAgent = 1 << 20
	// agentWithin is the timeout for reading the agent's JSON.
	agentWithin = 200 * time.Millisecond
)

// readAgent returns the agent's JSON from stdin, or the part that arrived in time. It
// reads nothing from a terminal.
func readAgent(in io.Reader) []byte {
	if in == nil || display.IsTerminal(in) {
		return nil
	}
	return readWithin(in, agentWithin)
}

// readWithin reads until the end of the input or of the first JSON object, because an
// agent may leave the pipe open. A read that never returns cannot be cancelled. Its
// goroutine ends with the process.
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

// ready returns data that has already arrived. If the machine was paused, data
// and the timeout may be ready at the same time.
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
