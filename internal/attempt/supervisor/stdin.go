package supervisor

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

// maxPending is the maximum number of bytes in the queue for the agent's stdin. Only the input with
// which the agent is started may be longer.
const maxPending = 16 << 20

var errInputClosed = errors.New("the agent's input is closed")

// stdin is the supervisor's end of the agent's stdin. It has a queue: adding input never waits for
// the agent to read it.
type stdin struct {
	pipe *os.File
	done chan struct{} // closed when the writing goroutine has ended

	mu      sync.Mutex
	more    sync.Cond // wakes the writing goroutine
	queue   [][]byte
	given   map[string]bool // keys of all input that was added
	pending int             // number of bytes of input not yet written to pipe
	last    bool            // no more input will be added
	closed  bool            // nothing more will be written to pipe
}

// newStdin creates a pipe for the agent's stdin, and queues the bytes of the parameter input.
// It returns the supervisor's end and the agent's end. If open is false, stdin is closed after
// these bytes. If open is false and input is empty, there is no pipe: the supervisor's end is nil
// and the agent's end is /dev/null.
func newStdin(input []byte, open bool) (*stdin, *os.File, error) {
	if len(input) == 0 && !open {
		null, err := os.Open(os.DevNull)
		return nil, null, err
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	in := &stdin{pipe: ours, done: make(chan struct{}), last: !open}
	in.more.L = &in.mu
	if len(input) > 0 {
		in.queue, in.pending = [][]byte{input}, len(input)
	}
	go in.write()
	return in, theirs, nil
}

func (in *stdin) write() {
	defer close(in.done)
	for {
		piece := in.next()
		if piece == nil {
			break
		}
		if _, err := in.pipe.Write(piece); err != nil {
			break
		}
		in.wrote(len(piece))
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed, in.queue, in.pending = true, nil, 0
	_ = in.pipe.Close() // ignore the error: written data is already in the pipe
}

// next waits for the next piece of input, removes it from the queue and returns it. It returns nil
// when no more input will be written.
func (in *stdin) next() []byte {
	in.mu.Lock()
	defer in.mu.Unlock()
	for len(in.queue) == 0 && !in.last && !in.closed {
		in.more.Wait()
	}
	if in.closed || len(in.queue) == 0 {
		return nil
	}
	piece := in.queue[0]
	in.queue = in.queue[1:]
	return piece
}

func (in *stdin) wrote(n int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.pending -= n
}

// give adds a piece of input to the queue. But if the key is not empty and a piece with the same
// key was added before, give drops the new piece. give fails if stdin is closed, or must be closed
// after the queued input, or if the queue would become longer than maxPending.
func (in *stdin) give(key string, piece []byte) error {
	if in == nil {
		return errInputClosed
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case key != "" && in.given[key]:
		return nil
	case in.closed || in.last:
		return errInputClosed
	case in.pending+len(piece) > maxPending:
		return fmt.Errorf("the agent does not read its input: %d bytes are waiting", in.pending)
	case len(piece) == 0:
		return nil
	}
	in.queue = append(in.queue, piece)
	in.pending += len(piece)
	if key != "" {
		if in.given == nil {
			in.given = map[string]bool{}
		}
		in.given[key] = true
	}
	in.more.Signal()
	return nil
}

// finish makes the writing goroutine close the agent's stdin once it has written the queue.
func (in *stdin) finish() {
	if in == nil {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.last = true
	in.more.Signal()
}

// abandon closes the agent's stdin and drops the input that is still queued. It is called when the
// attempt is over, or when the agent could not be started.
func (in *stdin) abandon() {
	if in == nil {
		return
	}
	in.mu.Lock()
	in.closed = true
	in.more.Signal()
	in.mu.Unlock()
	_ = in.pipe.Close() // unblocks a pending write
	<-in.done
}

func (in *stdin) waiting() int {
	if in == nil {
		return 0
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.pending
}
