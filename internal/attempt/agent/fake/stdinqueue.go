package fake

import (
	"encoding/json"
	"slices"
	"sync"
)

// stdinQueue holds the messages and answers that arrive on stdin while the agent works. Only
// protocols that accept messages use it. Its methods are safe for concurrent use.
type stdinQueue struct {
	lock    sync.Mutex
	queue   []userMessage // messages that were not passed to the model yet, oldest first
	answers [][]byte      // lines that answer requests of the agent
	ended   bool          // stdin has ended
	more    chan struct{}
}

// userMessage is the prompt, or a message that the user has sent after the prompt.
type userMessage struct {
	key  string // id that the sender has chosen; empty if it has chosen none
	text string
	turn string // id of the message's turn; only set by the fake app server
}

func newStdinQueue() *stdinQueue { return &stdinQueue{more: make(chan struct{}, 1)} }

// listen starts a goroutine that passes each line of JSON on stdin to the function handle. At the
// end of stdin the goroutine sets the field ended.
func (i *stdinQueue) listen(w *stdio, handle func(line []byte)) {
	go func() {
		for {
			var line json.RawMessage
			if w.readJSON(&line) != nil {
				break
			}
			handle(line)
		}
		i.change(func() { i.ended = true })
	}()
}

// change calls fn while the queue is locked, and wakes the goroutine that waits for the queue.
func (i *stdinQueue) change(fn func()) {
	i.lock.Lock()
	fn()
	i.lock.Unlock()
	select {
	case i.more <- struct{}{}:
	default: // a wake-up is already pending
	}
}

// drop removes the message with this key from the queue, and reports whether the queue had it.
func (i *stdinQueue) drop(key string) (found bool) {
	i.change(func() {
		before := len(i.queue)
		i.queue = slices.DeleteFunc(i.queue, func(l userMessage) bool { return l.key == key })
		found = len(i.queue) < before
	})
	return found
}

// take removes and returns all queued messages. If the user has ended the turn, it returns none and
// leaves the messages in the queue for the next turn.
func (i *stdinQueue) take(w *stdio) []userMessage {
	i.lock.Lock()
	defer i.lock.Unlock()
	if w.isCut() {
		return nil
	}
	all := i.queue
	i.queue = nil
	return all
}

// idle reports whether the queue has no message.
func (i *stdinQueue) idle() bool {
	i.lock.Lock()
	defer i.lock.Unlock()
	return len(i.queue) == 0
}

// next waits for a message and removes it from the queue. ok is false if stdin ends first.
func (i *stdinQueue) next() (l userMessage, ok bool) {
	for {
		i.lock.Lock()
		ended := i.ended
		if len(i.queue) > 0 {
			l, i.queue = i.queue[0], i.queue[1:]
			i.lock.Unlock()
			return l, true
		}
		i.lock.Unlock()
		if ended {
			return userMessage{}, false
		}
		<-i.more
	}
}

// answer waits for an answer line for which the function fits returns true, and removes it from the
// queue. ok is false if stdin or the turn ends first.
func (i *stdinQueue) answer(w *stdio, fits func(line []byte) bool) (ok bool) {
	for {
		i.lock.Lock()
		ended := i.ended
		at := slices.IndexFunc(i.answers, fits)
		if at >= 0 {
			i.answers = slices.Delete(i.answers, at, at+1)
		}
		i.lock.Unlock()
		if at >= 0 || ended {
			return at >= 0
		}
		select {
		case <-i.more:
		case <-w.turnCut():
			return false
		}
	}
}
