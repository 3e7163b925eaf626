package supervisor

import "time"

// maxFrozen is how long an agent may stay frozen (stopped because its lease is over) while a client
// is connected, for example a worker that keeps asking for a new lease. After that time the
// supervisor kills the agent.
const maxFrozen = 24 * time.Hour

// frozen measures how long an agent has been frozen. Time in which the machine was asleep does not
// count, because no worker could connect during that time.
type frozen struct {
	abandon time.Duration // how long the agent may stay frozen without a client
	since   time.Time     // when the agent was frozen; zero if it is not frozen
	// client is when a client was last connected. It is the same as since if no client was
	// connected after the freeze.
	client time.Time
}

// tooLong reports whether the agent has been frozen for so long that it must be killed. The
// parameter client says whether a client is connected. The first call starts the measurement.
func (f *frozen) tooLong(now time.Time, client bool) bool {
	if f.since.IsZero() {
		f.since, f.client = now, now
	}
	if client {
		f.client = now
	}
	return now.Sub(f.client) >= f.abandon || now.Sub(f.since) >= maxFrozen
}

// freeze runs one pass of the freezer, which stops running processes, and sets the timer for the
// next pass. Passes continue after all processes are frozen, because another program may resume a
// process.
func (a *attempt) freeze() {
	still, wait := a.lease.freezer.result(a.lease.freezer.pass(a.agent.pid))
	if still {
		a.setFrozen(true)
	}
	a.lease.timer.Reset(wait)
}

// thaw resumes the processes that freeze has stopped. It first records that they are not frozen, so
// that the attempt is not reported as frozen while they run.
func (a *attempt) thaw() {
	a.setFrozen(false)
	a.lease.freezer.thaw(a.agent.pid)
	a.lease.freezer = freezer{}
	a.lease.frozen.since = time.Time{}
	a.ending.frozen = false
}

// setFrozen records whether all processes are frozen. Clients see the new state in the supervisor's
// status. setFrozen also writes the state into the lock, in case the supervisor dies.
func (a *attempt) setFrozen(still bool) {
	if _, status := a.shared.get(); still == status.Frozen {
		return
	}
	word := thawedWord
	if still {
		word = frozenWord
	}
	_ = appendRecord(a.lock, word, map[string]time.Time{"at": time.Now().UTC()}) // if this fails, the lock contains the previous state
	a.shared.setFrozen(still)
}

// passes counts the clean passes of a freezer: those that found no running process. One clean pass
// is not enough, because it may have missed a process whose parent ended during the pass. The
// missed process becomes a child of the supervisor. So the next pass finds it, or a process that it
// has started.
type passes struct {
	clean int // consecutive passes that found no running process
	pause time.Duration
}

// result records whether a pass was clean. It reports whether all processes are frozen, and how
// long to wait before the next pass. The wait grows while passes still find running processes.
func (p *passes) result(clean bool) (still bool, wait time.Duration) {
	switch {
	case !clean:
		p.clean, p.pause = 0, min(max(2*p.pause, time.Millisecond), leaseCheckInterval)
		return false, p.pause
	case p.clean == 0:
		p.clean, p.pause = 1, 0
		return false, time.Millisecond
	}
	return true, leaseCheckInterval
}
