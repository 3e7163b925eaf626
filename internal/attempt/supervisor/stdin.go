package supervisor

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

// maxPending is how much input may wait for an agent that does not read, but for
// what it was started with.
const maxPending = 16 << 20

var errInputClosed = errors.New("the agent's input is closed")

// stdin is the supervisor's end of the agent's stdin. Whoever gives input never
// waits for the agent to read it.
type stdin struct {
	pipe *os.File
	done chan struct{} // closed when the writer has ended

	mu      sync.Mutex
	more    sync.Cond // there is something to do for the writer
	queue   [][]byte
	pending int  // bytes that were not written yet
	last    bool // nothing comes after the queue
	closed  bool // nobody reads any more
}

// newStdin returns the agent's end, too. Both are nil for an agent that gets no
// input: some wait for ever for the end of an open stdin.
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
	_ = in.pipe.Close() // what was written is in the pipe
}

// next waits for a piece of input; nil is the end.
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

// give adds input.
func (in *stdin) give(piece []byte) error {
	if in == nil {
		return errInputClosed
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.closed || in.last:
		return errInputClosed
	case in.pending+len(piece) > maxPending:
		return fmt.Errorf("the agent does not read its input: %d bytes are waiting", in.pending)
	case len(piece) == 0:
		return nil
	}
	in.queue = append(in.queue, piece)
	in.pending += len(piece)
	in.more.Signal()
	return nil
}

// finish ends the input after what was given.
func (in *stdin) finish() {
	if in == nil {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.last = true
	in.more.Signal()
}

// abandon is for an agent that is gone: input that it has not read is dropped.
func (in *stdin) abandon() {
	if in == nil {
		return
	}
	in.mu.Lock()
	in.closed = true
	in.more.Signal()
	in.mu.Unlock()
	_ = in.pipe.Close() // ends a write that is under way
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
