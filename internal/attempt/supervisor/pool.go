package supervisor

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// Pool starts attempts as [Start] does, and gives them to supervisors that have
// had others, one at a time: to start a supervisor takes longer than most of what
// it does. It is safe for concurrent use.
//
// A supervisor is given another attempt only if nothing is left of the last. One
// that gets none for some seconds, or whose starter is gone, exits.
type Pool struct {
	opts Options
	keep int // how many idle ones at most

	mu       sync.Mutex
	closed   bool
	members  map[*child]bool // those that are watched
	idle     []*child
	spare    []folder // of attempts that are over, the oldest first
	watching sync.WaitGroup
}

// NewPool returns a pool that keeps so many supervisors, at most, which have no
// attempt. There may be any number of those that have one.
func NewPool(opts Options, keep int) *Pool {
	return &Pool{opts: opts, keep: keep, members: map[*child]bool{}}
}

// Start is [Start] with the pool's options. The supervisor has the environment,
// the limits and the umask that the calling process had when it was started; the
// agent's environment is the spec's.
func (p *Pool) Start(ctx context.Context, dir string, spec Spec) (*Process, error) {
	n, err := p.prepare(dir, spec)
	if err != nil {
		return nil, err
	}
	defer n.lock.Close()
	return p.start(ctx, n)
}

func (p *Pool) start(ctx context.Context, n *newcomer) (*Process, error) {
	command, err := p.opts.command()
	if err != nil {
		return nil, err
	}
	for c := p.take(); c != nil; c = p.take() {
		started, err := c.begin(ctx, n)
		if !n.neverBegan(ctx, err) {
			return n.conclude(ctx, started, err)
		}
	}
	c, err := p.spawn(append(command, byTurns), n.lock)
	if err != nil {
		return nil, &StartError{err}
	}
	started, err := c.begin(ctx, n)
	return n.conclude(ctx, started, err)
}

// Recycle gives the pool the folder of an attempt that is over, if that was
// reported and nobody will look for it any more. The pool may have it be the
// folder of another attempt. One in which there is more than the attempt needed
// is not taken, and neither is one more than the pool keeps.
func (p *Pool) Recycle(dir string) (taken bool) {
	abs, err := filepath.Abs(dir)
	if err != nil || !folder(abs).holdsLockAlone() {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.spare) >= p.keep {
		return false
	}
	p.spare = append(p.spare, folder(abs))
	return true
}

// prepare is [prepare] with a folder that was used before, if there is one.
func (p *Pool) prepare(dir string, s Spec) (*newcomer, error) {
	spare := p.takeSpare()
	if spare == "" {
		return prepare(dir, s)
	}
	f, s, err := complete(dir, s)
	if err != nil {
		return nil, err
	}
	if lock, err := spare.become(f, s); err == nil {
		return &newcomer{f, s, lock}, nil
	}
	return prepare(dir, s) // the spare one stays as it is: an attempt that is over, or was never begun
}

func (p *Pool) takeSpare() folder {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.spare) == 0 {
		return ""
	}
	f := p.spare[0]
	p.spare = slices.Delete(p.spare, 0, 1)
	return f
}

// begin hands an attempt over and waits until the agent runs.
func (c *child) begin(ctx context.Context, n *newcomer) (*Process, error) {
	l, err := handOver(c.control, n)
	if err != nil {
		c.kill()
		return nil, &silentError{err}
	}
	c.pool.admit(c)
	return greet(ctx, newProcess(n.folder, n.spec.Attempt, c.pool.opts, c), l)
}

// neverBegan tells of an attempt that was handed over whether it is to be handed
// to another: the supervisor is dead and has neither signed the lock, so that there
// was no agent, nor said why there will be none. It may have been about to exit when
// it was chosen.
func (n *newcomer) neverBegan(ctx context.Context, err error) bool {
	silent := (*silentError)(nil)
	if ctx.Err() != nil || !errors.As(err, &silent) {
		return false
	}
	is, err := readLock(n.lock)
	return err == nil && !is.used()
}

// take returns a supervisor that has no attempt, or nil: the one that had the
// last, so that the others can go.
func (p *Pool) take() *child {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	last := len(p.idle) - 1
	c := p.idle[last]
	p.idle = slices.Delete(p.idle, last, last+1)
	return c
}

// put returns whether the pool keeps a supervisor that has no attempt.
func (p *Pool) put(c *child) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || !p.members[c] || len(p.idle) >= p.keep {
		return false
	}
	p.idle = append(p.idle, c)
	return true
}

// spawn starts a supervisor that is given its attempts, the first of which has
// this lock: what it says if it does not get as far goes there.
func (p *Pool) spawn(command []string, lock *os.File) (*child, error) {
	conn, process, err := spawn(command, WithoutSecrets(os.Environ()), lock)
	if err != nil {
		return nil, err
	}
	return &child{process: process, pool: p, control: conn.(*net.UnixConn)}, nil
}

// admit has a supervisor that was given an attempt watched, if it is new.
func (p *Pool) admit(c *child) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		c.dismiss()
	case !p.members[c]:
		p.members[c] = true
		p.watching.Go(func() { p.watch(c) })
	}
}

// watch waits for the end of a supervisor, or of the pool.
func (p *Pool) watch(c *child) {
	_, err := c.control.Read(make([]byte, 1)) // nothing is ever sent
	p.mu.Lock()
	delete(p.members, c)
	p.idle = slices.DeleteFunc(p.idle, func(other *child) bool { return other == c })
	p.mu.Unlock()
	if !errors.Is(err, net.ErrClosed) {
		c.wait()
	}
}

// Close ends the supervisors that have no attempt. The others go on, and exit
// when theirs is over. The pool can still start attempts, and keeps nobody.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	for _, c := range idle {
		delete(p.members, c)
		_ = c.process.Kill() // it has nothing to lose, and may be dead
	}
	for c := range p.members {
		_ = c.control.Close() // an attempt that was handed over is there
	}
	p.mu.Unlock()
	p.watching.Wait()
}
