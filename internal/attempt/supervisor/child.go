package supervisor

import (
	"net"
	"os"

	"gaffer/statefile/host"
)

// child is a supervisor that this process has started, or had started.
type child struct {
	process *os.Process
	other   host.Process  // who it is, if it is not a child of this process
	pool    *Pool         // nil for one that has a single attempt
	control *net.UnixConn // it gets its attempts from here if there is a pool
}

// kill returns when the supervisor is dead.
func (c *child) kill() {
	_ = c.process.Kill() // it may be dead
	c.wait()
}

// wait waits until the supervisor has exited.
func (c *child) wait() {
	if c.other.PID != 0 {
		awaitEnd(c.other)
	} else {
		_, _ = c.process.Wait() // an error is that somebody else has waited
	}
	if c.control != nil {
		_ = c.control.Close() // nobody is there
	}
}

// giveBack is for one whose attempt is over. It returns whether the supervisor
// stays, for another attempt; otherwise it exits.
func (c *child) giveBack(free bool) (stays bool) {
	if free && c.pool != nil && c.other.PID == 0 && c.pool.put(c) {
		return true
	}
	c.dismiss()
	return false
}

// dismiss has the supervisor exit when its attempt is over.
func (c *child) dismiss() {
	if c.control != nil {
		_ = c.control.CloseWrite() // it may be gone
	}
}
