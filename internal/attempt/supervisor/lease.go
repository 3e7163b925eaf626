package supervisor

import "time"

// lease is how long an agent may run without word from those who want it run. It
// is over when either clock says so: the one stands still while the machine
// sleeps, the other can be set.
type lease struct {
	Until time.Time     `json:"until,omitzero"` // by the wall clock; zero is for ever
	Left  time.Duration `json:"left_ns,omitempty"`

	end time.Time // by the monotonic clock, for who has received it
}

func newLease(until, now time.Time) lease {
	if until.IsZero() {
		return lease{}
	}
	return lease{Until: until.Round(0), Left: until.Sub(now)}
}

// received is a lease for who is told of it now.
func (l lease) received(now time.Time) lease {
	l.end = now.Add(l.Left)
	return l
}

func (l lease) forever() bool { return l.Until.IsZero() }

func (l lease) over(now time.Time) bool {
	return !l.forever() && (!now.Before(l.end) || !now.Round(0).Before(l.Until))
}

// leaseNap is how long a lease is not looked at, at most.
const leaseNap = time.Second

// nap is how long it need not be looked at.
func (l lease) nap(now time.Time) time.Duration {
	return max(0, min(leaseNap, l.end.Sub(now), l.Until.Sub(now.Round(0))))
}

// armLease sees to it that the lease is looked at in time.
func (a *attempt) armLease(now time.Time) {
	if a.lease.forever() {
		a.lapse.Stop()
		return
	}
	a.lapse.Reset(a.lease.nap(now))
}

// extend takes in a new lease. What is frozen goes on if that is not over.
func (a *attempt) extend(l lease) {
	a.lease = l
	now := time.Now()
	if a.ending.frozen && a.ending.stage == running && !l.over(now) {
		a.thaw()
	}
	a.armLease(now)
}

// lapsed freezes the agent if the lease is over. It is called again and again
// while that is so, and ends an agent that has been frozen for too long.
func (a *attempt) lapsed() (deed, time.Duration) {
	now := time.Now()
	if !a.lease.over(now) {
		a.armLease(now)
		return nothing, 0
	}
	freeze, do, wait := a.ending.lapse()
	if !freeze {
		return do, wait
	}
	a.freeze()
	if a.frozen.tooLong(now, a.clients.here.Load() > 0) {
		return a.ending.stop(Abandoned, true)
	}
	return do, wait
}

// maxFrozen is how long an agent stays frozen at most, also if a client is
// connected: a worker that goes on asking for a new lease.
const maxFrozen = 24 * time.Hour

// frozen is how long an agent has been frozen. Time in which the machine sleeps
// does not count: no worker could have come back in it.
type frozen struct {
	abandon time.Duration // how long without a client
	since   time.Time     // when the agent was frozen; zero if it is not
	client  time.Time     // when a client was last seen, or since
}

// tooLong is called while the agent is frozen. It returns whether the agent is to
// be ended because no worker will bring a new lease.
func (f *frozen) tooLong(now time.Time, client bool) bool {
	if f.since.IsZero() {
		f.since, f.client = now, now
	}
	if client {
		f.client = now
	}
	return now.Sub(f.client) >= f.abandon || now.Sub(f.since) >= maxFrozen
}

// freeze stops all that it finds. It is called again soon if anything was found to
// move, and later if not: somebody else may have had something go on.
func (a *attempt) freeze() {
	still, wait := a.freezer.settle(a.freezer.pass(a.agent))
	if still {
		a.setStill(true)
	}
	a.lapse.Reset(wait)
}

// thaw says that it goes on before it does, so that nothing runs of what is said to
// be frozen.
func (a *attempt) thaw() {
	a.setStill(false)
	a.freezer.thaw(a.agent)
	a.freezer = freezer{}
	a.frozen.since = time.Time{}
	a.ending.frozen = false
}

func (a *attempt) isStill() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.still
}

// setStill has others know whether everything is frozen, also those who find the
// supervisor dead.
func (a *attempt) setStill(still bool) {
	if still == a.isStill() {
		return
	}
	word := thawedWord
	if still {
		word = frozenWord
	}
	_ = note(a.lock, word, map[string]time.Time{"at": time.Now().UTC()}) // at worst they find out for themselves
	a.mu.Lock()
	a.still = still
	a.mu.Unlock()
}

// passes is what the passes of a freezer come to. One that found nothing may have
// missed a process whose parent, a child of one that is stopped, ended while it
// looked; whatever that one starts comes from a child of ours.
type passes struct {
	clean int // one after the other
	pause time.Duration
}

// settle takes in whether a pass found nothing that moves. It returns whether that
// is how it is, and when the next one is due: later and later, if something goes on
// moving.
func (p *passes) settle(clean bool) (still bool, wait time.Duration) {
	switch {
	case !clean:
		p.clean, p.pause = 0, min(max(2*p.pause, time.Millisecond), leaseNap)
		return false, p.pause
	case p.clean == 0:
		p.clean, p.pause = 1, 0
		return false, time.Millisecond
	}
	return true, leaseNap
}
