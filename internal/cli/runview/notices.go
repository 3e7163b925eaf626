package runview

import "sync"

// notices passes messages for the user to the view that is currently shown.
type notices struct {
	mu sync.Mutex
	to func(text string)
}

func (n *notices) send(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.to(text)
}

// redirect sends messages to the function receiver, until the function restore is called.
func (n *notices) redirect(receiver func(text string)) (restore func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	before := n.to
	n.to = receiver
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.to = before
	}
}
