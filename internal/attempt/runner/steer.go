package runner

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"gaffer/fleet"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/engine/failure"
)

// interruptWithin is how long an agent may take to end its turn after an interrupt,
// unless [Job.Grace] says otherwise. Then it is stopped.
const interruptWithin = 10 * time.Second

// inbox is what the user wants to tell the agent, as the owner knows it. It is safe for
// every goroutine.
type inbox struct {
	news chan struct{}

	mu        sync.Mutex
	set       bool // the owner has said what waits
	messages  []fleet.Message
	interrupt bool
}

// Steer sets the messages that wait for the agent, oldest first, and whether to end its
// turn. It replaces what earlier calls have set. An agent whose program takes no messages
// while it runs is stopped by an interrupt, and its messages keep waiting. Steer does not
// block.
func (a *Attempt) Steer(waiting []fleet.Message, interrupt bool) {
	a.inbox.mu.Lock()
	a.inbox.set, a.inbox.messages, a.inbox.interrupt = true, waiting, interrupt
	a.inbox.mu.Unlock()
	select {
	case a.inbox.news <- struct{}{}:
	default: // a signal is already pending
	}
}

func (i *inbox) read() (waiting []fleet.Message, interrupt, set bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.messages, i.interrupt, i.set
}

// steering is the state of the messages to the agent. Only the goroutine of Run uses it.
type steering struct {
	agent agent.Steerable // nil if the program takes no messages while it runs
	// written are the messages that were written to the agent's stdin. A process that
	// takes over must not write them again.
	written answered
	keys    map[string]string // ids of the written messages, by key
	echoed  map[string]bool   // keys of messages that the agent has taken
	taken   []string          // ids of messages that the agent has taken, which the owner knows
	// due are the ids of written messages that the agent will take, as far as we know.
	due         map[string]bool
	interrupted time.Time // when the agent was told to end its turn; zero before
}

func newSteering(f folder, r agent.Reader) (steering, error) {
	s := steering{keys: map[string]string{}, echoed: map[string]bool{}, due: map[string]bool{}}
	s.agent, _ = r.(agent.Steerable)
	var err error
	s.written, err = readAnswered(f, messagesFile)
	for id := range s.written.ids {
		s.keys[agent.MessageKey(id)], s.due[id] = id, true
	}
	return s, err
}

// took handles a message that the agent has taken.
func (a *Attempt) took(id string) {
	delete(a.steering.due, id)
	if !slices.Contains(a.steering.taken, id) {
		a.steering.taken = append(a.steering.taken, id)
		a.opts.Owner.Took(id)
	}
}

// tookPrompt handles that the agent works on its prompt, which contains messages.
func (a *Attempt) tookPrompt() {
	for _, id := range a.job.Messages {
		a.took(id)
	}
}

// steer passes messages and an interrupt to the agent. An error of writing means that the
// agent has ended or its stdin is closed: then the messages keep waiting, and the engine
// starts another attempt for them.
func (a *Attempt) steer(now time.Time) {
	s := &a.steering
	waiting, interrupt, set := a.inbox.read()
	for _, m := range waiting {
		if s.echoed[agent.MessageKey(m.ID)] {
			a.took(m.ID)
		}
	}
	if interrupt {
		a.interrupt(now)
		return
	}
	if s.agent == nil || !a.closed.IsZero() || !set {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(s.due)) {
		if !slices.ContainsFunc(waiting, func(m fleet.Message) bool { return m.ID == id }) {
			a.withdraw(id)
		}
	}
	for _, m := range waiting {
		if s.written.ids[m.ID] || slices.Contains(a.job.Messages, m.ID) || slices.Contains(s.taken, m.ID) {
			continue
		}
		data := s.agent.Message(m.ID, m.Text, m.Now)
		if data == nil {
			return // later messages must not overtake it
		}
		if a.process.InputOnce("message "+m.ID, data) != nil {
			return
		}
		_ = s.written.note(m.ID) // if this fails, a process that takes over gives it again, which changes nothing
		s.keys[agent.MessageKey(m.ID)], s.due[m.ID] = m.ID, true
		a.progress = now
	}
}

// withdraw takes back a message that the agent has not taken. If that comes too late, the
// agent still reports the message as taken.
func (a *Attempt) withdraw(id string) {
	if data := a.steering.agent.Withdraw(id); data != nil {
		_ = a.process.Input(data) // an error means that it has ended, which is fine
		delete(a.steering.due, id)
	}
}

// interrupt ends the turn of the agent. Its stdin is closed when it has done that.
func (a *Attempt) interrupt(now time.Time) {
	s := &a.steering
	var data []byte
	switch {
	case !s.interrupted.IsZero() && a.ended.IsZero() && now.Sub(s.interrupted) > cmp.Or(a.job.Grace, interruptWithin):
	case !s.interrupted.IsZero():
		return
	case s.agent != nil && a.closed.IsZero():
		s.interrupted = now
		for _, id := range slices.Sorted(maps.Keys(s.due)) { // the agent would start another turn for them
			a.withdraw(id)
		}
		clear(s.due)
		if data = s.agent.Interrupt(); data != nil && a.process.Input(data) == nil {
			return
		}
	}
	s.interrupted = now
	if a.ended.IsZero() {
		_ = a.process.Stop(string(failure.Interrupted), false) // an error means that it has ended, which is fine
	}
}

// closeInput ends the agent's stdin after its final message, unless it will take another
// message. An agent that does not take it in time is not waited for.
func (a *Attempt) closeInput(now time.Time) {
	if a.ended.IsZero() || !a.closed.IsZero() || len(a.steering.due) > 0 && now.Sub(a.ended) <= a.linger {
		return
	}
	a.closed = now
	_ = a.process.CloseInput() // it may have ended
}
