package supervisor

import (
	"context"
	"sync"
	"time"

	"gaffer/internal/pause"
)

// Process is an agent that runs, or has run, under a supervisor. All methods are safe for
// concurrent use.
type Process struct {
	folder  folder
	attempt string
	opts    Options
	// child is the supervisor. It is nil if [Attach] has created this Process, or if the attempt
	// was already over when this Process was created.
	child *child

	ctx      context.Context // cancelled when Close is called or the attempt has ended
	cancel   context.CancelFunc
	followed chan struct{} // closed when no goroutine runs followUntilEnd any more
	done     chan struct{} // closed when exit is set

	mu           sync.Mutex
	link         *link         // connection to the supervisor; nil while disconnected
	connectedNow chan struct{} // closed while connected; replaced by an open channel at a disconnect
	asked        map[int]chan reply
	lastID       int
	started      Started
	exit         Exit
	keptByPool   bool  // the pool keeps the supervisor for another attempt; valid when exit is set
	unproven     error // why it is unknown whether the attempt has ended; nil while connected
}

func newProcess(f folder, attempt string, opts Options, c *child) *Process {
	p := &Process{
		folder: f, attempt: attempt, opts: opts, child: c,
		followed:     make(chan struct{}),
		done:         make(chan struct{}),
		connectedNow: make(chan struct{}),
		asked:        map[int]chan reply{},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// follow starts a goroutine that handles the supervisor's messages on the connection l. The
// goroutine closes the connection.
func (p *Process) follow(l *link, s Started) {
	p.connected(l, s)
	go p.followUntilEnd(l)
}

// ended sets the exit of an attempt that is already over. It is called instead of the method
// follow, because no supervisor will send messages.
func (p *Process) ended(e Exit) {
	p.exit = e
	close(p.done)
	close(p.followed)
	p.cancel()
}

// Started returns the identities of the supervisor and of the agent: their pids and start times.
func (p *Process) Started() Started {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.started
}

// Done returns a channel that is closed as soon as Wait would return the exit.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits until the attempt is over, and returns its exit. Normally the agent and all its
// descendants have ended then, and the exit is recorded. [Exit.Left] and [Exit.Unrecorded] report
// exceptions. If the supervisor was killed before it recorded an exit, this process first ends the
// attempt's remaining processes. Then the exit says that the attempt is lost.
//
// Wait returns the error of ctx if ctx ends first, and [ErrClosed] if Close is called first.
func (p *Process) Wait(ctx context.Context) (Exit, error) {
	select {
	case <-p.done:
	case <-ctx.Done():
		return Exit{}, ctx.Err()
	case <-p.ctx.Done():
		if !p.isDone() {
			return Exit{}, ErrClosed
		}
	}
	return p.exit, nil
}

func (p *Process) isDone() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Unproven returns why it is unknown whether the attempt has ended. It is unknown if the connection
// to the supervisor broke and no new one could be opened. Unproven returns nil while there is a
// connection to the supervisor, and after it has become known how the attempt ended.
func (p *Process) Unproven() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unproven
}

// Close closes the connection to the supervisor. It does not stop the agent. If [Start] has started
// the supervisor, nothing in this process waits for the supervisor's exit after Close. So the
// supervisor, once it has exited, remains a zombie until this process exits. A [Pool] waits for its
// supervisors itself.
func (p *Process) Close() error {
	p.cancel()
	p.mu.Lock()
	if p.link != nil {
		p.link.close()
	}
	p.mu.Unlock()
	<-p.followed
	return nil
}

// followUntilEnd handles the supervisor's messages until the attempt has ended or Close is called.
// If a connection breaks, followUntilEnd opens another.
func (p *Process) followUntilEnd(l *link) {
	defer close(p.followed)
	for {
		p.listen(l)
		p.disconnected()
		if p.isDone() {
			break
		}
		found, ok := p.findAgain()
		if !ok {
			p.leaveChild()
			return
		}
		if found.link == nil {
			p.finish(found.exit, false)
			break
		}
		l = found.link
		p.connected(l, found.started)
	}
	p.awaitChild()
	p.cancel()
}

// findAgainPause is the pause after a failed try of [Process.findAgain] to find out the state of an
// attempt.
const findAgainPause = time.Second

// findAgain looks for the attempt again and again until its state is known. It returns false if
// Close is called before the state is known.
func (p *Process) findAgain() (finding, bool) {
	for p.ctx.Err() == nil {
		found, err := find(p.ctx, p.folder, p.attempt, p.opts.patience())
		p.mu.Lock()
		if p.unproven = nil; err != nil {
			p.unproven = &UnknownError{string(p.folder), err}
		}
		p.mu.Unlock()
		if err == nil {
			return found, true
		}
		pause.For(p.ctx, findAgainPause)
	}
	return finding{}, false
}

// listen handles the supervisor's messages until the connection ends.
func (p *Process) listen(l *link) {
	defer l.close()
	for p.ctx.Err() == nil {
		var m message
		if err := l.receive(&m); err != nil {
			return
		}
		switch {
		case m.Exit != nil:
			p.finish(*m.Exit, m.Free)
		case m.Reply != nil:
			p.answer(*m.Reply)
		}
	}
}

// finish sets the exit, unless it is set already. If free is true, the supervisor can run another
// attempt, and finish offers the supervisor to the pool. Only then does finish close p.done, so a
// caller that has waited for p.done finds the idle supervisor in the pool.
func (p *Process) finish(e Exit, free bool) {
	if p.isDone() {
		return
	}
	p.exit = e
	p.keptByPool = p.child != nil && p.child.returnToPool(free)
	close(p.done)
}

// awaitChild waits until the supervisor has exited. It does nothing if [Attach] has created this
// Process, or if the pool keeps the supervisor.
func (p *Process) awaitChild() {
	if p.child != nil && !p.keptByPool {
		p.child.wait()
	}
}

// leaveChild lets the supervisor exit by itself when its attempt is over.
func (p *Process) leaveChild() {
	if p.child != nil {
		p.child.exitAfterAttempt()
	}
}

func (p *Process) connected(l *link, s Started) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.link, p.started = l, s
	close(p.connectedNow)
	if p.ctx.Err() != nil { // Close was called while disconnected, so close the new connection
		l.close()
	}
}

func (p *Process) disconnected() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.link, p.connectedNow = nil, make(chan struct{})
	for id, answer := range p.asked {
		close(answer)
		delete(p.asked, id)
	}
}

func (p *Process) answer(r reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if answer := p.asked[r.ID]; answer != nil {
		answer <- r // cannot block: the channel has a buffer of one
		delete(p.asked, r.ID)
	}
}
