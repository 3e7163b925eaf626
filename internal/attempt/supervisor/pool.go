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

// Pool starts attempts as [Start] does. It reuses supervisors, because starting a supervisor is
// slow compared with the work that it does for an attempt. Each supervisor handles one attempt at a
// time. A Pool is safe for concurrent use.
//
// A supervisor gets another attempt only if no process of the previous attempt is left and the
// previous exit is recorded. An idle supervisor exits after idleLimit, or when the process that
// owns the pool has ended.
type Pool struct {
	opts Options
	keep int // maximum number of idle supervisors, and also of folders in spare

	mu       sync.Mutex
	closed   bool
	members  map[*child]bool // supervisors of this pool, each with a goroutine that waits for its exit
	idle     []*child
	spare    []folder // folders of finished attempts that can be reused, the oldest first
	watching sync.WaitGroup
}

// NewPool returns a pool that keeps at most maxIdle idle supervisors. The number of busy
// supervisors is not limited.
func NewPool(opts Options, maxIdle int) *Pool {
	return &Pool{opts: opts, keep: maxIdle, members: map[*child]bool{}}
}

// Start does the same as the function [Start], with the pool's options. But the supervisor may be
// one that was started earlier. An agent inherits the resource limits and the umask that the
// calling process had when it started the agent's supervisor. The agent's environment comes from
// the spec.
func (p *Pool) Start(ctx context.Context, dir string, spec Spec) (*Process, error) {
	n, err := p.prepare(dir, spec)
	if err != nil {
		return nil, err
	}
	defer n.lock.Close()
	return p.start(ctx, n)
}

func (p *Pool) start(ctx context.Context, n *preparedAttempt) (*Process, error) {
	command, err := p.opts.command()
	if err != nil {
		return nil, err
	}
	for c := p.take(); c != nil; c = p.take() {
		started, err := c.begin(ctx, n)
		if !n.neverStarted(ctx, err) {
			return n.conclude(ctx, started, err)
		}
	}
	c, err := p.spawn(append(command, fromPool), n.lock)
	if err != nil {
		return nil, &StartError{err}
	}
	started, err := c.begin(ctx, n)
	return n.conclude(ctx, started, err)
}

// Recycle offers the pool the folder of a finished attempt for reuse. The pool overwrites the lock
// file, which contains the record of how the attempt ended, so the caller must already have stored
// that record elsewhere. The pool refuses a folder that contains other files than the lock file. It
// also refuses if it is closed or has enough spare folders. The result taken reports whether the
// pool owns the folder now.
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

// prepare does the same as the function prepare, but reuses the folder of a finished attempt if the
// pool has one.
func (p *Pool) prepare(dir string, s Spec) (*preparedAttempt, error) {
	spare := p.takeSpare()
	if spare == "" {
		return prepare(dir, s)
	}
	f, s, err := complete(dir, s)
	if err != nil {
		return nil, err
	}
	if lock, err := spare.reuseFor(f, s); err == nil {
		return &preparedAttempt{f, s, lock}, nil
	}
	// The spare folder could not be reused, so create a new folder. The spare folder can remain,
	// because its old attempt has ended and the new attempt was not started there.
	return prepare(dir, s)
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

// begin hands an attempt to the supervisor c and waits until the agent runs. If the handover fails,
// or the supervisor does not report whether the agent runs, begin kills the supervisor and returns
// a [*noReportError].
func (c *child) begin(ctx context.Context, n *preparedAttempt) (*Process, error) {
	l, err := handOver(c.control, n)
	if err != nil {
		c.kill()
		return nil, &noReportError{err}
	}
	c.pool.admit(c)
	return awaitAgent(ctx, newProcess(n.folder, n.spec.Attempt, c.pool.opts, c), l)
}

// neverStarted reports whether the attempt must be handed to another supervisor, because the first
// supervisor died before it started the agent. For example, the first one may have been about to
// exit when it got the attempt. err is the error of [child.begin]. neverStarted returns false if
// ctx has ended.
//
// A supervisor writes its identity into the lock file before it starts an agent. So a lock file
// without an identity proves that no agent was started.
func (n *preparedAttempt) neverStarted(ctx context.Context, err error) bool {
	silent := (*noReportError)(nil)
	if ctx.Err() != nil || !errors.As(err, &silent) {
		return false
	}
	is, err := readLock(n.lock)
	return err == nil && !is.used()
}

// take removes the idle supervisor that was used most recently from p.idle, and returns it. It
// returns nil if no supervisor is idle. Because the most recent one is always reused first,
// unneeded supervisors reach their idle limit and exit.
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

// put adds an idle supervisor to the pool. It reports whether the pool keeps it.
func (p *Pool) put(c *child) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || !p.members[c] || len(p.idle) >= p.keep {
		return false
	}
	p.idle = append(p.idle, c)
	return true
}

// poolEnv returns the environment of a supervisor that gets its attempts from a pool. Agents do not
// inherit it. With GOMAXPROCS=1 a supervisor needs less memory, because Go's allocator keeps a
// cache for each processor that it may use. GOMAXPROCS is the first variable, because the Go
// runtime uses the first value if a variable is set twice.
func poolEnv() []string {
	return append([]string{"GOMAXPROCS=1"}, WithoutSecrets(os.Environ())...)
}

// spawn starts a supervisor that gets its attempts from the pool. From the beginning, the
// supervisor's stderr goes to the lock file of its first attempt, so that an early crash report is
// not lost.
func (p *Pool) spawn(command []string, lock *os.File) (*child, error) {
	conn, process, err := spawn(command, poolEnv(), lock)
	if err != nil {
		return nil, err
	}
	return &child{process: process, pool: p, control: conn.(*net.UnixConn)}, nil
}

// admit is called after an attempt was handed to the supervisor c. If c is not a member of the pool
// yet, admit makes it one. But if the pool is closed, admit only tells c to exit after this
// attempt.
func (p *Pool) admit(c *child) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		c.exitAfterAttempt()
	case !p.members[c]:
		p.members[c] = true
		p.watching.Go(func() { p.watch(c) })
	}
}

// watch waits until the supervisor has exited or the pool is closed. Then it removes the supervisor
// from the pool.
func (p *Pool) watch(c *child) {
	// The supervisor sends nothing over this connection, so Read returns only when the connection
	// ends.
	_, err := c.control.Read(make([]byte, 1))
	p.mu.Lock()
	delete(p.members, c)
	p.idle = slices.DeleteFunc(p.idle, func(other *child) bool { return other == c })
	p.mu.Unlock()
	if !errors.Is(err, net.ErrClosed) {
		c.wait()
	}
}

// Close kills the idle supervisors. Busy supervisors continue, and exit when their attempt is over.
// A closed pool can still start attempts, but it does not keep their supervisors for further
// attempts.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	for _, c := range idle {
		delete(p.members, c)
		_ = c.process.Kill() // ignore the error: the supervisor is already dead
	}
	for c := range p.members {
		_ = c.control.Close() // the supervisor finishes its attempt and then exits
	}
	p.mu.Unlock()
	p.watching.Wait()
}
