package supervisor

import "time"

// maxDeadlineTimer is the longest duration for which the timer of the agent's deadline is set. A
// timer stands still while the machine sleeps, and could fire long after the deadline. So the
// supervisor checks the deadline, and sets the timer again, at least this often.
const maxDeadlineTimer = 30 * time.Second

// deadline is the time on the wall clock at which the supervisor stops the agent. It is postponed by
// the time that the agent waits for the user.
type deadline struct {
	at      time.Time // zero if the agent has no deadline
	waiting waiting
	timer   *time.Timer
}

// arm sets the timer. It stops the timer if the agent has no deadline or is waiting for the user.
func (d *deadline) arm() {
	if d.at.IsZero() || d.waiting.now() {
		d.timer.Stop()
		return
	}
	d.timer.Reset(min(max(time.Until(d.postponed()), 0), maxDeadlineTimer))
}

// postponed returns the deadline with the time added that the agent has waited for the user.
func (d *deadline) postponed() time.Time { return d.at.Add(d.waiting.waited) }

// reached is called when the timer fires. If the deadline is not reached yet, it sets the timer
// again.
func (d *deadline) reached() bool {
	if d.waiting.now() || time.Now().Before(d.postponed()) {
		d.arm()
		return false
	}
	return true
}

// setWaiting records whether the agent waits for the user now.
func (d *deadline) setWaiting(waits bool) {
	d.waiting.set(waits, time.Now())
	d.arm()
}

// waiting measures by the wall clock how long the agent has waited for the user.
type waiting struct {
	waited time.Duration // total of earlier waits, without the current wait
	since  time.Time     // start of the current wait; zero if the agent does not wait
}

// set records whether the agent waits for the user now. If the agent's state was already the same
// before, the call has no effect.
func (w *waiting) set(waits bool, now time.Time) {
	switch {
	case !waits:
		w.waited, w.since = w.total(now), time.Time{}
	case w.since.IsZero():
		w.since = now.Round(0)
	}
}

// now reports whether the agent waits for the user.
func (w *waiting) now() bool { return !w.since.IsZero() }

func (w *waiting) total(now time.Time) time.Duration {
	if w.since.IsZero() {
		return w.waited
	}
	return w.waited + max(now.Round(0).Sub(w.since), 0)
}
