package supervisor

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// watch handles events of the attempt. It returns when no process of the attempt is left, or when
// the only processes left cannot be killed.
func (a *attempt) watch() {
	for !a.allEnded {
		do, wait := nothing, time.Duration(0)
		select {
		case <-a.signals.children:
			do, wait = a.reap()
		case sig := <-a.signals.ends:
			do, wait = a.signalled(sig)
		case s := <-a.stops:
			do, wait = a.ending.stop(s.why, s.now)
		case <-a.deadlineTimer.C:
			do, wait = a.deadlineReached()
		case l := <-a.leases:
			a.extend(l)
		case waits := <-a.waits:
			a.waiting.set(waits, time.Now())
			a.armDeadline()
		case <-a.leaseTimer.C:
			do, wait = a.checkLease()
		case <-a.socketTimer.C:
			a.open()
		case <-a.clients.disconnected:
			a.open()
		case <-a.stopTimer.C:
			if do, wait = a.reap(); do == nothing && !a.allEnded {
				do, wait = a.ending.timeUp()
			}
		}
		if do == giveUp {
			a.exit.Left = a.left
			return
		}
		if !a.allEnded {
			a.perform(do, wait)
		}
	}
}

func (a *attempt) perform(do action, wait time.Duration) {
	switch do {
	case nothing:
		return
	case interruptGroup:
		_ = syscall.Kill(-a.agentPID, syscall.SIGINT) // ignore the error: no process of the group is left
	case terminateGroup:
		_ = syscall.Kill(-a.agentPID, syscall.SIGTERM)
	case terminateAll:
		a.sweep(syscall.SIGTERM)
	case killAll:
		a.sweep(syscall.SIGKILL)
	}
	a.stopTimer.Reset(wait)
	a.mu.Lock()
	a.stage, a.stopReason = a.ending.stage, a.ending.reason
	a.mu.Unlock()
}

func (a *attempt) sweep(sig syscall.Signal) {
	a.left = signalAll(a.agentPID, sig)
	for _, pid := range a.left {
		if pid != a.agentPID {
			a.swept[pid] = true
		}
	}
}

// reap calls wait4 for every child that has ended. No other method does that while an attempt runs,
// so the pid of a child cannot be reused between two calls of reap. If the agent has exited and
// other processes of the attempt are left, reap returns the next action against them, and how long
// to wait after that action.
func (a *attempt) reap() (action, time.Duration) {
	exited := false
	for {
		var status syscall.WaitStatus
		var usage syscall.Rusage
		pid, err := syscall.Wait4(-1, &status, waitAny, &usage)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if pid <= 0 {
			a.allEnded = noneLeft(a.agentPID, err)
			break
		}
		a.exit.Usage.add(usage)
		if pid == a.agentPID {
			exited = true
			a.exited(status)
		}
	}
	if exited && !a.allEnded {
		return a.ending.agentExited()
	}
	return nothing, 0
}

func (a *attempt) exited(status syscall.WaitStatus) {
	a.exit.Ended = time.Now().UTC()
	a.exit.Code = status.ExitStatus()
	if status.Signaled() {
		a.exit.Signal = unix.SignalName(status.Signal())
	}
	a.ending.exited = true
}

func (u *Usage) add(r syscall.Rusage) {
	u.User += time.Duration(r.Utime.Nano()).Milliseconds()
	u.System += time.Duration(r.Stime.Nano()).Milliseconds()
	u.MaxRSS = max(u.MaxRSS, r.Maxrss*rssUnit)
}

func (a *attempt) signalled(sig os.Signal) (action, time.Duration) {
	if sig == syscall.SIGHUP {
		return nothing, 0
	}
	a.unwanted = true
	return a.ending.stop(unix.SignalName(sig.(syscall.Signal)), a.ending.stage != running)
}

// maxDeadlineTimer is the longest duration for which the timer of the agent's deadline is set. A
// timer stands still while the machine sleeps, and could fire long after the deadline. So the
// supervisor checks the deadline, and sets the timer again, at least this often.
const maxDeadlineTimer = 30 * time.Second

// armDeadline sets the timer for the agent's deadline. It stops the timer if the agent has no
// deadline or is waiting for the user.
func (a *attempt) armDeadline() {
	if a.spec.Deadline.IsZero() || !a.waiting.since.IsZero() {
		a.deadlineTimer.Stop()
		return
	}
	a.deadlineTimer.Reset(min(max(time.Until(a.deadlineAt()), 0), maxDeadlineTimer))
}

// deadlineAt returns the agent's deadline, postponed by the time that the agent has waited for the
// user.
func (a *attempt) deadlineAt() time.Time { return a.spec.Deadline.Add(a.waiting.waited) }

func (a *attempt) deadlineReached() (action, time.Duration) {
	if !a.waiting.since.IsZero() || time.Now().Before(a.deadlineAt()) {
		a.armDeadline()
		return nothing, 0
	}
	return a.ending.stop(Timeout, false)
}

// waiting measures by the wall clock how long the agent has waited for the user. The agent's
// deadline is a time on the same clock.
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

func (w *waiting) total(now time.Time) time.Duration {
	if w.since.IsZero() {
		return w.waited
	}
	return w.waited + max(now.Round(0).Sub(w.since), 0)
}
