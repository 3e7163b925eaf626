package supervisor

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// Input queues data for the agent's stdin. It does not wait until the agent has read the data.
func (p *Process) Input(data []byte) error {
	for len(data) > 0 {
		n := min(len(data), maxChunk)
		if _, err := p.ask(order{Do: doInput, Input: data[:n]}, false); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// InputOnce does the same as Input, but the supervisor drops data that it has already received with
// this key, from this process or another one. Calls with the same key must pass the same data.
func (p *Process) InputOnce(key string, data []byte) error {
	for n := 0; len(data) > 0; n++ {
		size := min(len(data), maxChunk)
		if _, err := p.ask(order{Do: doInput, Input: data[:size], Key: fmt.Sprintf("%s %d", key, n)}, true); err != nil {
			return err
		}
		data = data[size:]
	}
	return nil
}

// CloseInput makes the supervisor close the agent's stdin as soon as all queued data is written.
// CloseInput does not wait until stdin is closed. It returns nil if the agent has already ended.
func (p *Process) CloseInput() error {
	_, err := p.ask(order{Do: doClose}, true)
	return exceptOver(err)
}

// Stop tells the supervisor to stop the agent. The supervisor sends SIGINT, later SIGTERM, and at
// last kills the agent with all its descendants. If the agent exits before that, the supervisor
// ends the remaining descendants. If kill is true, the supervisor kills the agent at once, even if
// the agent is already being stopped. The parameter why is the reason that [Exit.StopReason]
// reports.
//
// Stop does not wait for the agent's end. It returns nil if the agent has already ended.
func (p *Process) Stop(why string, kill bool) error {
	_, err := p.ask(order{Do: doStop, Why: why, Now: kill}, true)
	return exceptOver(err)
}

// Extend sets a new end of the agent's lease; zero means that the lease never ends. If the agent is
// frozen and the new lease is not over, the agent continues. Changing the machine's clock does not
// make the lease longer. Extend returns when the supervisor has received the order.
func (p *Process) Extend(end time.Time) error {
	_, err := p.ask(order{Do: doExtend, Lease: newLease(end, time.Now())}, true)
	return exceptOver(err)
}

// Waiting tells the supervisor whether the agent waits for the user. The time spent waiting
// postpones the agent's deadline. Repeated calls are harmless. Waiting returns when the supervisor
// has received the order.
func (p *Process) Waiting(waits bool) error {
	_, err := p.ask(order{Do: doWait, Waits: waits}, true)
	return exceptOver(err)
}

// Status asks the supervisor for the current state of the attempt.
func (p *Process) Status() (Status, error) {
	r, err := p.ask(order{Do: doStatus}, true)
	if err != nil || r.State == nil {
		return Status{}, err
	}
	return *r.State, nil
}

func exceptOver(err error) error {
	var over *OverError
	if errors.As(err, &over) {
		return nil
	}
	return err
}

// ask sends an order to the supervisor and waits for the reply, at most as long as
// [Options.Patience] says. If the connection breaks before the reply arrives, the parameter resend
// decides: if it is true, ask sends the order again, and if it is false, ask returns [ErrBroken].
func (p *Process) ask(o order, resend bool) (reply, error) {
	timeout := time.NewTimer(p.opts.patience())
	defer timeout.Stop()
	for {
		r, err := p.askOnce(o, timeout.C)
		if resend && errors.Is(err, ErrBroken) {
			continue
		}
		if err == nil && r.Error != "" {
			err = &OrderError{o.Do, r.Error}
		}
		return r, err
	}
}

func (p *Process) askOnce(o order, timeout <-chan time.Time) (reply, error) {
	l, answer, err := p.register(&o, timeout)
	if err != nil {
		return reply{}, err
	}
	// Do not close the link on EPIPE: a supervisor that has exited may have left a message to read.
	// After any other error, close the link, so that the reading goroutine opens a new connection.
	if err := l.send(o); err != nil && !errors.Is(err, syscall.EPIPE) {
		l.close()
	}
	select {
	case r, ok := <-answer:
		if ok {
			return r, nil
		}
		return reply{}, ErrBroken
	case <-p.done:
		return p.lateReply(answer)
	case <-timeout:
		return reply{}, fmt.Errorf("%s: the supervisor of attempt %s does not answer", o.Do, p.attempt)
	}
}

// lateReply is called after the attempt has ended. It returns the reply if it arrived before the
// end. If not, it returns an [*OverError].
func (p *Process) lateReply(answer chan reply) (reply, error) {
	select {
	case r, ok := <-answer:
		if ok {
			return r, nil
		}
	default:
	}
	return reply{}, &OverError{p.attempt}
}

// closedReason returns why no order can be sent: the attempt has ended, or the Process was closed.
func (p *Process) closedReason() error {
	if p.isDone() {
		return &OverError{p.attempt}
	}
	return ErrClosed
}

// register waits for a connection to the supervisor. Then it gives the order an id, and registers a
// channel for the reply with this id.
func (p *Process) register(o *order, timeout <-chan time.Time) (*link, chan reply, error) {
	for {
		p.mu.Lock()
		l, up := p.link, p.connectedNow
		if l != nil && !p.isDone() {
			p.lastID++
			o.ID = p.lastID
			answer := make(chan reply, 1)
			p.asked[o.ID] = answer
			p.mu.Unlock()
			return l, answer, nil
		}
		p.mu.Unlock()
		select {
		case <-p.done:
			return nil, nil, &OverError{p.attempt}
		case <-p.ctx.Done():
			return nil, nil, p.closedReason()
		case <-timeout:
			return nil, nil, fmt.Errorf("%s: no connection to the supervisor of attempt %s", o.Do, p.attempt)
		case <-up:
		}
	}
}
