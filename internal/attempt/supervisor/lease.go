package supervisor

import "time"

// lease limits how long an agent may run. A worker can extend the lease. The end of the lease is
// measured on two clocks. The lease is over as soon as either clock has reached the end. Neither
// clock is reliable alone: the monotonic clock stands still while the machine sleeps, and the wall
// clock may be set back.
type lease struct {
	Until time.Time     `json:"until,omitzero"` // end of the lease on the wall clock; zero means forever
	Left  time.Duration `json:"left_ns,omitempty"`

	// end is the end of the lease on the monotonic clock of the process that received the lease.
	end time.Time
}

func newLease(until, now time.Time) lease {
	if until.IsZero() {
		return lease{}
	}
	return lease{Until: until.Round(0), Left: until.Sub(now)}
}

// received returns a copy of the lease in which the field end is set. The parameter now is the time
// at which this process received the lease.
func (l lease) received(now time.Time) lease {
	l.end = now.Add(l.Left)
	return l
}

func (l lease) forever() bool { return l.Until.IsZero() }

func (l lease) over(now time.Time) bool {
	return !l.forever() && (!now.Before(l.end) || !now.Round(0).Before(l.Until))
}

// leaseCheckInterval is the longest time between two checks of a lease.
const leaseCheckInterval = time.Second

// nextCheck returns how long to wait before the lease must be checked again. It must not be called
// for a lease that lasts forever.
func (l lease) nextCheck(now time.Time) time.Duration {
	return max(0, min(leaseCheckInterval, l.end.Sub(now), l.Until.Sub(now.Round(0))))
}

// leaseWatch is the state of the agent's lease, and of the freeze while the lease is over.
type leaseWatch struct {
	lease   lease
	timer   *time.Timer // fires when the lease or the frozen processes must be checked
	freezer freezer
	frozen  frozen
}

// arm sets the timer, so that it fires when the lease must be checked next. If the lease lasts
// forever, arm stops the timer.
func (w *leaseWatch) arm(now time.Time) {
	if w.lease.forever() {
		w.timer.Stop()
		return
	}
	w.timer.Reset(w.lease.nextCheck(now))
}

// extend replaces the lease by the new lease l. If the agent is frozen but is not being killed yet,
// and l is not over, extend resumes the agent.
func (a *attempt) extend(l lease) {
	a.lease.lease = l
	now := time.Now()
	if a.ending.frozen && a.ending.stage == running && !l.over(now) {
		a.thaw()
	}
	a.lease.arm(now)
}

// checkLease is called each time the timer of the lease fires. If the lease is over, checkLease
// normally freezes the agent. But if the agent is being stopped and not killed yet, or has been
// frozen for too long, checkLease returns the action that kills the agent, and how long to wait
// after it.
func (a *attempt) checkLease() (action, time.Duration) {
	now := time.Now()
	if !a.lease.lease.over(now) {
		a.lease.arm(now)
		return nothing, 0
	}
	freeze, do, wait := a.ending.leaseEnded()
	if !freeze {
		return do, wait
	}
	a.freeze()
	if a.lease.frozen.tooLong(now, !a.clients.none()) {
		return a.ending.stop(Abandoned, true)
	}
	return do, wait
}
