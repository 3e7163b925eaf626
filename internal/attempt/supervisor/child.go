package supervisor

import (
	"net"
	"os"

	"gaffer/statefile/host"
)

// child is a supervisor that runs attempts for this process. Either this process or a program in a
// terminal has started it.
type child struct {
	process *os.Process
	// notOurChild identifies a supervisor that another program has started. It is zero if this
	// process has started the supervisor.
	notOurChild host.Process
	pool        *Pool         // nil for a supervisor that runs only one attempt
	control     *net.UnixConn // connection that passes attempts to the supervisor; nil without a pool
}

// kill kills the supervisor and waits until it is dead.
func (c *child) kill() {
	_ = c.process.Kill() // fails if the supervisor is already dead
	c.wait()
}

// wait waits until the supervisor has exited, and closes the control connection. If another program
// has started the supervisor, wait returns after at most DefaultPatience.
func (c *child) wait() {
	if c.notOurChild.PID != 0 {
		awaitEnd(c.notOurChild)
	} else {
		_, _ = c.process.Wait() // fails if another caller has already waited for the supervisor
	}
	if c.control != nil {
		_ = c.control.Close() // ignore the error: the connection is not used any more
	}
}

// returnToPool is called when the attempt is over. The parameter free says whether the supervisor
// can run another attempt. If so, and if this process has started the supervisor, returnToPool
// offers it to its pool. The result stays reports whether the pool keeps it. If not, returnToPool
// tells the supervisor to exit.
func (c *child) returnToPool(free bool) (stays bool) {
	if free && c.pool != nil && c.notOurChild.PID == 0 && c.pool.put(c) {
		return true
	}
	c.exitAfterAttempt()
	return false
}

// exitAfterAttempt tells a supervisor of a pool to exit when its current attempt is over. A
// supervisor that belongs to no pool needs no such order: it always exits after its only attempt.
func (c *child) exitAfterAttempt() {
	if c.control != nil {
		_ = c.control.CloseWrite() // fails if the supervisor has exited
	}
}
