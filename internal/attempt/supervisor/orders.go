package supervisor

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// Input gives the agent more of its stdin. It does not wait until the agent has
// read it.
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

// CloseInput ends the agent's stdin after what was given.
func (p *Process) CloseInput() error {
	_, err := p.ask(order{Do: doClose}, true)
	return exceptOver(err)
}

// Stop has the agent stopped: interrupted, terminated, killed with everything
// below it, with time between. If now, it is killed at once, also if it was
// being stopped already. It returns when the supervisor knows; Wait waits for
// the end. An agent that has ended is stopped.
func (p *Process) Stop(why string, now bool) error {
	_, err := p.ask(order{Do: doStop, Why: why, Now: now}, true)
	return exceptOver(err)
}

// Extend has the agent go on until then, for ever if that is zero. One that was
// frozen goes on if the time is still to come. Whose clock is set meanwhile does
// not make it longer. It returns when the supervisor knows.
func (p *Process) Extend(until time.Time) error {
	_, err := p.ask(order{Do: doExtend, Lease: newLease(until, time.Now())}, true)
	return exceptOver(err)
}

// Waiting says whether the agent waits for a person. While it does, its deadline
// comes no nearer. It may be said twice. It returns when the supervisor knows.
func (p *Process) Waiting(waits bool) error {
	_, err := p.ask(order{Do: doWait, Waits: waits}, true)
	return exceptOver(err)
}

// Status asks the supervisor what it does.
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

// ask gives an order and waits for the answer. If the connection breaks before
// that, an order that may be given twice is given again.
func (p *Process) ask(o order, again bool) (reply, error) {
	timeout := time.NewTimer(p.opts.patience())
	defer timeout.Stop()
	for {
		r, err := p.askOnce(o, timeout.C)
		if again && errors.Is(err, ErrBroken) {
			continue
		}
		if err == nil && r.Error != "" {
			err = &OrderError{o.Do, r.Error}
		}
		return r, err
	}
}

func (p *Process) askOnce(o order, timeout <-chan time.Time) (reply, error) {
	l, answer, err := p.post(&o, timeout)
	if err != nil {
		return reply{}, err
	}
	// One who has gone may have left a message; otherwise whoever listens looks
	// for another connection.
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
		return p.lateAnswer(answer)
	case <-timeout:
		return reply{}, fmt.Errorf("%s: the supervisor of attempt %s does not answer", o.Do, p.attempt)
	}
}

// lateAnswer prefers an answer that came just before the end.
func (p *Process) lateAnswer(answer chan reply) (reply, error) {
	select {
	case r, ok := <-answer:
		if ok {
			return r, nil
		}
	default:
	}
	return reply{}, &OverError{p.attempt}
}

// whyLetGo tells an attempt that has ended from one that was let go before.
func (p *Process) whyLetGo() error {
	if p.isDone() {
		return &OverError{p.attempt}
	}
	return ErrClosed
}

// post waits for a connection and prepares for the answer.
func (p *Process) post(o *order, timeout <-chan time.Time) (*link, chan reply, error) {
	for {
		p.mu.Lock()
		l, up := p.link, p.up
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
			return nil, nil, p.whyLetGo()
		case <-timeout:
			return nil, nil, fmt.Errorf("%s: no connection to the supervisor of attempt %s", o.Do, p.attempt)
		case <-up:
		}
	}
}
