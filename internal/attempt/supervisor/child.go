package supervisor

import (
	"net"
	"os"

	"gaffer/statefile/host"
)

// child is a supervisor that this process, or a program in a terminal, has started for
// us.
type child struct {
	process *os.Process
	other   host.Process  // its identity if it is not our child; otherwise zero
	pool    *Pool         // nil for a supervisor that runs only one attempt
	control *net.UnixConn // hands over attempts; nil without a pool
}

// kill kills the supervisor and waits until it is dead.
func (c *child) kill() {
	_ = c.process.Kill() // it may be dead
	c.wait()
}

// wait waits until the supervisor has exited.
func (c *child) wait() {
	if c.other.PID != 0 {
		awaitEnd(c.other)
	} else {
		_, _ = c.process.Wait() // an error means that another caller has waited for it
	}
	if c.control != nil {
		_ = c.control.Close() // the supervisor has exited
	}
}

// giveBack returns a supervisor whose attempt is over to its pool. It reports whether
// the pool keeps it; otherwise the supervisor exits.
func (c *child) giveBack(free bool) (stays bool) {
	if free && c.pool != nil && c.other.PID == 0 && c.pool.put(c) {
		return true
	}
	c.dismiss()
	return false
}

// dismiss makes the supervisor exit when its attempt is over.
func (c *child) dismiss() {
	if c.control != nil {
		_ = c.control.CloseWrite() // it may have exited
	}
}
