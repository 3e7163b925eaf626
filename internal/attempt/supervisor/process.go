package supervisor

import (
	"context"
	"sync"
	"time"

	"gaffer/internal/pause"
)

// Process is an agent that runs under a supervisor, or has run. It is safe for
// concurrent use.
type Process struct {
	folder  folder
	attempt string
	opts    Options
	child   *child // the supervisor if we have started it

	ctx      context.Context // ends when the process is let go
	letGo    context.CancelFunc
	followed chan struct{} // closed when nobody follows the supervisor any more
	done     chan struct{} // closed when exit is set

	mu      sync.Mutex
	link    *link         // nil while there is none
	up      chan struct{} // closed while there is a link
	asked   map[int]chan reply
	lastID  int
	started Started
	exit    Exit
	stays   bool  // the supervisor does, when exit is set
	doubt   error // why it cannot be told whether it has ended; nil while it runs
}

func newProcess(f folder, attempt string, opts Options, c *child) *Process {
	p := &Process{
		folder: f, attempt: attempt, opts: opts, child: c,
		followed: make(chan struct{}),
		done:     make(chan struct{}),
		up:       make(chan struct{}),
		asked:    map[int]chan reply{},
	}
	p.ctx, p.letGo = context.WithCancel(context.Background())
	return p
}

// follow takes over the connection to a supervisor.
func (p *Process) follow(l *link, s Started) {
	p.connected(l, s)
	go p.keepUp(l)
}

// ended is for an attempt that needs no following.
func (p *Process) ended(e Exit) {
	p.exit = e
	close(p.done)
	close(p.followed)
	p.letGo()
}

// Started returns who runs.
func (p *Process) Started() Started {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.started
}

// Done is closed when it is known how the attempt ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits until the agent and all that it started have ended, and that is on
// record. If the supervisor was killed it first ends what was left behind, and
// the exit says that the attempt is lost. The error is ctx's or [ErrClosed].
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

// Doubt says why it cannot be told whether the attempt has ended although its
// supervisor is dead. It is nil while there is a supervisor, and when the end is known.
func (p *Process) Doubt() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.doubt
}

// Close lets go of the agent without stopping it. A supervisor that ends after
// that stays a zombie as long as the process that started it, unless that has it
// in a pool.
func (p *Process) Close() error {
	p.letGo()
	p.mu.Lock()
	if p.link != nil {
		p.link.close()
	}
	p.mu.Unlock()
	<-p.followed
	return nil
}

// keepUp follows the supervisor over all connections to it, until it has ended
// or is let go.
func (p *Process) keepUp(l *link) {
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
	p.letGo()
}

// doubtPause is when it is looked again what became of an attempt.
const doubtPause = time.Second

// findAgain looks for the supervisor until it is known what became of it.
func (p *Process) findAgain() (finding, bool) {
	for p.ctx.Err() == nil {
		found, err := find(p.ctx, p.folder, p.attempt, p.opts.patience())
		p.mu.Lock()
		if p.doubt = nil; err != nil {
			p.doubt = &UnknownError{string(p.folder), err}
		}
		p.mu.Unlock()
		if err == nil {
			return found, true
		}
		pause.For(p.ctx, doubtPause)
	}
	return finding{}, false
}

// listen returns when the connection ends.
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

// finish has a supervisor that is free be so for who waits for this.
func (p *Process) finish(e Exit, free bool) {
	if p.isDone() {
		return
	}
	p.exit = e
	p.stays = p.child != nil && p.child.giveBack(free)
	close(p.done)
}

// awaitChild waits for a supervisor that is about to exit, if it is our child.
func (p *Process) awaitChild() {
	if p.child != nil && !p.stays {
		p.child.wait()
	}
}

// leaveChild is for a supervisor that goes on without us.
func (p *Process) leaveChild() {
	if p.child != nil {
		p.child.dismiss()
	}
}

func (p *Process) connected(l *link, s Started) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.link, p.started = l, s
	close(p.up)
	if p.ctx.Err() != nil { // let go meanwhile, when there was nothing to close
		l.close()
	}
}

func (p *Process) disconnected() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.link, p.up = nil, make(chan struct{})
	for id, answer := range p.asked {
		close(answer)
		delete(p.asked, id)
	}
}

func (p *Process) answer(r reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if answer := p.asked[r.ID]; answer != nil {
		answer <- r // it has room for one
		delete(p.asked, r.ID)
	}
}
