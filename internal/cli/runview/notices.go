package runview

import "sync"

// notices passes messages for the user to the current view.
type notices struct {
	mu sync.Mutex
	to func(text string)
}

func (n *notices) tell(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.to(text)
}

// divert sends notices to another function until back is called.
func (n *notices) divert(to func(text string)) (back func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	before := n.to
	n.to = to
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.to = before
	}
}
