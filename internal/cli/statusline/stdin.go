package statusline

import (
	"bytes"
	"io"
	"time"

	"gaffer/statefile/jsontree"
)

const (
	// maxAgent is the maximum size, in bytes, of the JSON that the agent program sends on stdin.
	maxAgent = 1 << 20
	// agentWithin is the timeout for reading this JSON.
	agentWithin = 200 * time.Millisecond
)

// readWithin reads the JSON that the agent program sends on stdin. It does not wait for the end of
// the input, because an agent program may leave the pipe open: it returns when the first JSON
// object is complete. After the timeout it returns what it has read so far. A read that never
// returns cannot be cancelled; its goroutine ends with the process.
func readWithin(in io.Reader, timeout time.Duration) []byte {
	pieces := make(chan []byte)
	enough := make(chan struct{})
	defer close(enough)
	go func() {
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
	}()
	late := time.NewTimer(timeout)
	defer late.Stop()
	var data []byte
	for {
		select {
		case piece, more := <-pieces:
			data = append(data, piece...)
			whole := bytes.HasSuffix(bytes.TrimRight(data, " \t\r\n"), []byte("}")) && jsontree.Valid(data)
			if !more || whole {
				return data
			}
		case <-late.C:
			// Data may have arrived at the same time as the timeout, for example because the
			// machine was paused. Use it.
			select {
			case piece := <-pieces:
				return append(data, piece...)
			default:
				return data
			}
		}
	}
}
