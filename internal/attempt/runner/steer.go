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

// interruptWithin is how long an agent may take, after an interrupt, to end its turn: the work on
// one prompt or message. After that time gaffer stops the agent's program. [Job.Grace] replaces
// this default.
const interruptWithin = 10 * time.Second

// steerRequest holds the arguments of the last call of [Attempt.Steer]. It is safe for concurrent
// use.
type steerRequest struct {
	changed chan struct{}

	mu        sync.Mutex
	set       bool // Steer was called
	messages  []fleet.Message
	interrupt bool
}

// Steer sets the user's messages that wait for the agent, oldest first. The parameter interrupt
// says whether the agent must stop its current work, which is called a turn. Each call replaces the
// messages and the interrupt of earlier calls. If the agent's program accepts no messages while it
// runs, an interrupt stops the program, and the messages keep waiting. Steer does not block.
func (a *Attempt) Steer(waiting []fleet.Message, interrupt bool) {
	a.steerRequest.mu.Lock()
	a.steerRequest.set, a.steerRequest.messages, a.steerRequest.interrupt = true, waiting, interrupt
	a.steerRequest.mu.Unlock()
	select {
	case a.steerRequest.changed <- struct{}{}:
	default: // a wake-up of Run is already pending
	}
}

func (i *steerRequest) read() (waiting []fleet.Message, interrupt, set bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.messages, i.interrupt, i.set
}

// steering is the state of the user's messages to the agent, and of interrupts. Only the goroutine
// of [Attempt.Run] uses it.
type steering struct {
	agent agent.Steerable // nil if the program accepts no messages while it runs
	// written has the ids of the messages that were written to the agent's stdin. A gaffer process
	// that adopts the attempt must not write them again.
	written   sentIDs
	keys      map[string]string // ids of the written messages, by their agent.MessageKey
	echoed    map[string]bool   // agent.MessageKey of each message that the agent has confirmed
	delivered []string          // ids of the messages whose receipt was reported to the attempt's Owner
	// due has the ids of written messages that the agent is still expected to confirm.
	due         map[string]bool
	interrupted time.Time // when the agent was last interrupted or stopped; zero before
}

func newSteering(f folder, r agent.Reader) (steering, error) {
	s := steering{keys: map[string]string{}, echoed: map[string]bool{}, due: map[string]bool{}}
	s.agent, _ = r.(agent.Steerable)
	var err error
	s.written, err = readSentIDs(f, messagesFile)
	for id := range s.written.ids {
		s.keys[agent.MessageKey(id)], s.due[id] = id, true
	}
	return s, err
}

// noteDelivered reports to the attempt's [Owner] that the agent has received the message with this
// id, unless that was reported before.
func (a *Attempt) noteDelivered(id string) {
	delete(a.steering.due, id)
	if !slices.Contains(a.steering.delivered, id) {
		a.steering.delivered = append(a.steering.delivered, id)
		a.opts.Owner.Delivered(id)
	}
}

// notePromptDelivered tells the attempt's [Owner] that the agent has received the user's messages
// that its prompt contains. It is called when the agent has made progress or has finished its work.
func (a *Attempt) notePromptDelivered() {
	for _, id := range a.job.Messages {
		a.noteDelivered(id)
	}
}

// steer passes the waiting messages and an interrupt to the agent. It also interrupts an agent that
// has spent its limit of money or tokens. It withdraws a message that was written earlier, but is
// missing in the last call of [Attempt.Steer]. If a message cannot be written, for example because
// the agent has ended, the message keeps waiting, and the engine can start another attempt for it.
func (a *Attempt) steer(now time.Time) {
	s := &a.steering
	waiting, interrupt, set := a.steerRequest.read()
	for _, m := range waiting {
		if s.echoed[agent.MessageKey(m.ID)] {
			a.noteDelivered(m.ID)
		}
	}
	switch {
	case interrupt:
		a.interrupt(now, failure.Interrupted)
		return
	case a.atLimit():
		if a.finishedAt.IsZero() {
			a.interrupt(now, failure.OverBudget)
		}
		return
	}
	if s.agent == nil || !a.inputClosedAt.IsZero() || !set {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(s.due)) {
		if !slices.ContainsFunc(waiting, func(m fleet.Message) bool { return m.ID == id }) {
			a.withdraw(id)
		}
	}
	for _, m := range waiting {
		if s.written.ids[m.ID] || slices.Contains(a.job.Messages, m.ID) || slices.Contains(s.delivered, m.ID) {
			continue
		}
		data := s.agent.Message(m.ID, m.Text, m.Now)
		// If the agent cannot receive this message yet, later messages must not overtake it.
		if data == nil {
			return
		}
		if a.process.InputOnce("message "+m.ID, data) != nil {
			return
		}
		_ = s.written.add(m.ID) // if this fails, the supervisor still drops a second copy of the message
		s.keys[agent.MessageKey(m.ID)], s.due[m.ID] = m.ID, true
		a.lastProgress = now
	}
}

// withdraw tells the agent to drop a message that it has not confirmed yet. It does nothing if the
// program cannot drop messages. If the agent has received the message in the meantime, it confirms
// the message as usual.
func (a *Attempt) withdraw(id string) {
	if data := a.steering.agent.Withdraw(id); data != nil {
		_ = a.process.Input(data) // if this fails, the agent may still receive and confirm the message
		delete(a.steering.due, id)
	}
}

// interrupt makes the agent end its turn. When the turn has ended, closeInput closes the agent's
// stdin. If the program cannot end a turn, or takes too long, interrupt stops the program. The
// parameter why is the reason for the stop.
func (a *Attempt) interrupt(now time.Time, why failure.Class) {
	s := &a.steering
	var data []byte
	switch {
	case !s.interrupted.IsZero() && a.finishedAt.IsZero() && now.Sub(s.interrupted) > cmp.Or(a.job.Grace, interruptWithin):
	case !s.interrupted.IsZero():
		return
	case s.agent != nil && a.inputClosedAt.IsZero():
		s.interrupted = now
		// Withdraw the messages that the agent has not confirmed. Otherwise it would start another
		// turn for them after the interrupted one.
		for _, id := range slices.Sorted(maps.Keys(s.due)) {
			a.withdraw(id)
		}
		clear(s.due)
		if data = s.agent.Interrupt(); data != nil && a.process.Input(data) == nil {
			return
		}
	}
	s.interrupted = now
	if a.finishedAt.IsZero() {
		_ = a.process.Stop(string(why), false) // if this fails, a later call tries again
	}
}

// closeInput closes the agent's stdin if the agent has finished its work. If the agent has not
// confirmed all messages, closeInput waits for that, but at most for the duration a.linger after
// the agent has finished.
func (a *Attempt) closeInput(now time.Time) {
	if a.finishedAt.IsZero() || !a.inputClosedAt.IsZero() || len(a.steering.due) > 0 && now.Sub(a.finishedAt) <= a.linger {
		return
	}
	a.inputClosedAt = now
	_ = a.process.CloseInput() // fails only if the supervisor does not answer
}
