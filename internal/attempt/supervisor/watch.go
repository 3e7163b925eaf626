package supervisor

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// watch handles events until no process is left, or only processes that cannot be
// killed.
func (a *attempt) watch() {
	for !a.gone {
		do, wait := nothing, time.Duration(0)
		select {
		case <-a.signals.children:
			do, wait = a.reap()
		case sig := <-a.signals.ends:
			do, wait = a.signalled(sig)
		case s := <-a.stops:
			do, wait = a.ending.stop(s.why, s.now)
		case <-a.deadline.C:
			do, wait = a.deadlineReached()
		case l := <-a.leases:
			a.extend(l)
		case waits := <-a.waits:
			a.waiting.set(waits, time.Now())
			a.armDeadline()
		case <-a.lapse.C:
			do, wait = a.lapsed()
		case <-a.door.C:
			a.open()
		case <-a.clients.left:
			a.open()
		case <-a.timer.C:
			if do, wait = a.reap(); do == nothing && !a.gone {
				do, wait = a.ending.timeUp()
			}
		}
		if do == giveUp {
			a.exit.Left = a.left
			return
		}
		if !a.gone {
			a.act(do, wait)
		}
	}
}

func (a *attempt) act(do action, wait time.Duration) {
	switch do {
	case nothing:
		return
	case interruptGroup:
		_ = syscall.Kill(-a.agent, syscall.SIGINT) // an error means that no process is left, which is fine
	case terminateGroup:
		_ = syscall.Kill(-a.agent, syscall.SIGTERM)
	case terminateAll:
		a.sweep(syscall.SIGTERM)
	case killAll:
		a.sweep(syscall.SIGKILL)
	}
	a.timer.Reset(wait)
	a.mu.Lock()
	a.stage, a.told = a.ending.stage, a.ending.told
	a.mu.Unlock()
}

func (a *attempt) sweep(sig syscall.Signal) {
	a.left = signalAll(a.agent, sig)
	for _, pid := range a.left {
		if pid != a.agent {
			a.swept[pid] = true
		}
	}
}

// reap waits for every child that has ended. No other code does, so a pid cannot be
// reused between two calls.
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
			a.gone = noneLeft(a.agent, err)
			break
		}
		a.exit.Usage.add(usage)
		if pid == a.agent {
			exited = true
			a.exited(status)
		}
	}
	if exited && !a.gone {
		return a.ending.exit()
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

// maxNap is the maximum duration of the deadline's timer. Timers stand still while the
// machine sleeps, but the deadline does not.
const maxNap = 30 * time.Second

// armDeadline sets the deadline's timer, or stops it while the agent waits for the
// user.
func (a *attempt) armDeadline() {
	if a.spec.Deadline.IsZero() || !a.waiting.since.IsZero() {
		a.deadline.Stop()
		return
	}
	a.deadline.Reset(min(max(time.Until(a.deadlineAt()), 0), maxNap))
}

// deadlineAt returns the deadline, postponed by the time that the agent has waited.
func (a *attempt) deadlineAt() time.Time { return a.spec.Deadline.Add(a.waiting.waited) }

func (a *attempt) deadlineReached() (action, time.Duration) {
	if !a.waiting.since.IsZero() || time.Now().Before(a.deadlineAt()) {
		a.armDeadline()
		return nothing, 0
	}
	return a.ending.stop(Timeout, false)
}

// waiting measures how long the agent has waited for the user. It uses the wall clock,
// as the deadline does.
type waiting struct {
	waited time.Duration // without the current wait
	since  time.Time     // start of the current wait; zero if the agent does not wait
}

// set updates whether the agent waits. Repeated calls are harmless.
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
