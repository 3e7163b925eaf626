package fake

import (
	"encoding/json"
	"slices"
	"sync"
)

// inbox receives what arrives on stdin while the agent works, for the protocols that
// take messages then. Its methods are safe for concurrent use.
type inbox struct {
	lock    sync.Mutex
	queue   []letter // the messages that were not taken yet, oldest first
	answers [][]byte // lines that answer requests of the agent
	ended   bool     // stdin has ended
	more    chan struct{}
}

// letter is a message of the user.
type letter struct {
	key  string // empty if the sender gave none
	text string
	turn string // Codex: the turn that it belongs to
}

func newInbox() *inbox { return &inbox{more: make(chan struct{}, 1)} }

// listen passes each line of stdin to heard, in a goroutine of its own.
func (i *inbox) listen(w *world, heard func(line []byte)) {
	go func() {
		for {
			var line json.RawMessage
			if w.read(&line) != nil {
				break
			}
			heard(line)
		}
		i.change(func() { i.ended = true })
	}()
}

// change changes the inbox and wakes the goroutine that waits for it.
func (i *inbox) change(do func()) {
	i.lock.Lock()
	do()
	i.lock.Unlock()
	select {
	case i.more <- struct{}{}:
	default: // a signal is already pending
	}
}

// drop removes a message from the queue and reports whether it was there.
func (i *inbox) drop(key string) (found bool) {
	i.change(func() {
		before := len(i.queue)
		i.queue = slices.DeleteFunc(i.queue, func(l letter) bool { return l.key == key })
		found = len(i.queue) < before
	})
	return found
}

// take returns all queued messages, and none if the turn is cut: then they are for the
// next one.
func (i *inbox) take(w *world) []letter {
	i.lock.Lock()
	defer i.lock.Unlock()
	if w.isCut() {
		return nil
	}
	all := i.queue
	i.queue = nil
	return all
}

// idle reports whether no message waits.
func (i *inbox) idle() bool {
	i.lock.Lock()
	defer i.lock.Unlock()
	return len(i.queue) == 0
}

// next waits for a message. ok is false if stdin ends first.
func (i *inbox) next() (l letter, ok bool) {
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
			return letter{}, false
		}
		<-i.more
	}
}

// answer waits for a line that fits. ok is false if stdin ends or the turn is cut first.
func (i *inbox) answer(w *world, fits func(line []byte) bool) (ok bool) {
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
		case <-w.cutting():
			return false
		}
	}
}
