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
	for !a.agent.ended {
		do, wait := nothing, time.Duration(0)
		select {
		case <-a.signals.children:
			do, wait = a.reap()
		case sig := <-a.signals.ends:
			do, wait = a.signalled(sig)
		case s := <-a.requests.stops:
			do, wait = a.ending.stop(s.why, s.now)
		case <-a.deadline.timer.C:
			if a.deadline.reached() {
				do, wait = a.ending.stop(Timeout, false)
			}
		case l := <-a.requests.leases:
			a.extend(l)
		case waits := <-a.requests.waits:
			a.deadline.setWaiting(waits)
		case <-a.lease.timer.C:
			do, wait = a.checkLease()
		case <-a.socketTimer.C:
			a.open()
		case <-a.clients.disconnected:
			a.open()
		case <-a.stopTimer.C:
			if do, wait = a.reap(); do == nothing && !a.agent.ended {
				do, wait = a.ending.timeUp()
			}
		}
		if do == giveUp {
			a.exit.Left = a.agent.left
			return
		}
		if !a.agent.ended {
			a.perform(do, wait)
		}
	}
}

func (a *attempt) perform(do action, wait time.Duration) {
	switch do {
	case nothing:
		return
	case interruptGroup:
		_ = syscall.Kill(-a.agent.pid, syscall.SIGINT) // ignore the error: no process of the group is left
	case terminateGroup:
		_ = syscall.Kill(-a.agent.pid, syscall.SIGTERM)
	case terminateAll:
		a.agent.signalAll(syscall.SIGTERM)
	case killAll:
		a.agent.signalAll(syscall.SIGKILL)
	}
	a.stopTimer.Reset(wait)
	a.shared.setStage(a.ending)
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
			a.agent.ended = noneLeft(a.agent.pid, err)
			break
		}
		a.exit.Usage.add(usage)
		if pid == a.agent.pid {
			exited = true
			a.exited(status)
		}
	}
	if exited && !a.agent.ended {
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
