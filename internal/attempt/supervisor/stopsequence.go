package supervisor

import "time"

// stage says how far the supervisor has got in stopping an attempt.
type stage int

// After a stop order the supervisor sends SIGINT to the agent's process group (the stage
// interrupting), then SIGTERM (terminating), and then kills the agent with all its
// descendants (killing). If the agent exits before it is killed, the supervisor sends
// SIGTERM to the processes that the agent has left behind (sweeping), and then kills them.
// In the diagram, "time" means that the time for a stage is over.
//
//	running ──stop──> interrupting ──time──> terminating ──time──> killing
//	   └──────────────exit──┴─────────────────────┴─> sweeping ──time──┘
const (
	running stage = iota
	interrupting
	terminating
	sweeping
	killing
)

func (s stage) String() string {
	return [...]string{"running", "interrupting", "terminating", "sweeping", "killing"}[s]
}

// action is what the supervisor must do next to stop an attempt.
type action int

const (
	nothing action = iota
	interruptGroup
	terminateGroup
	terminateAll
	killAll
	giveUp
)

const (
	leftoverGrace = time.Second
	// After SIGKILL, the supervisor waits for firstPause and then kills the processes that are
	// left. It repeats that with pauses that double up to maxPause. After killLimit it gives up on
	// the processes that still exist.
	firstPause = 2 * time.Millisecond
	maxPause   = 250 * time.Millisecond
	killLimit  = 30 * time.Second
)

// stopSequence decides how an attempt is stopped. It does nothing itself: its methods return the
// action that the caller must perform, and how long to wait before the next call of
// [stopSequence.timeUp].
type stopSequence struct {
	interrupt, terminate time.Duration

	stage  stage
	reason string
	exited bool          // the agent has exited
	frozen bool          // the lease is over, so no process of the attempt may run
	pause  time.Duration // pause after the latest SIGKILL to all processes
	killed time.Duration // sum of all pauses after SIGKILL
}

// stop handles an order to stop the agent. Normally the first order interrupts the agent, and later
// orders have no effect. But if the parameter now is true, or if the agent is frozen, all processes
// are killed at once. A frozen agent would have to run to handle any other signal.
//
// The parameter why becomes the reason of the stop. It is ignored if an earlier order gave a
// reason, or if the agent had already exited by itself.
func (e *stopSequence) stop(why string, now bool) (action, time.Duration) {
	if e.reason == "" && !e.exited {
		e.reason = why
	}
	switch {
	case e.stage == killing:
		return nothing, 0
	case now, e.frozen:
		return e.kill()
	case e.stage == running:
		e.stage = interrupting
		return interruptGroup, e.interrupt
	}
	return nothing, 0
}

// agentExited handles the exit of the agent. It is only called if other processes of the attempt
// are still alive.
func (e *stopSequence) agentExited() (action, time.Duration) {
	e.exited = true
	switch {
	case e.stage == killing:
		return nothing, 0
	case e.frozen:
		return e.kill()
	}
	e.stage = sweeping
	return terminateAll, leftoverGrace
}

// leaseEnded handles the end of the lease. If the agent is running and not being stopped, the
// result freeze is true, and the caller must freeze the attempt. If the agent is being stopped but
// not killed yet, the result do is the action that kills it at once.
func (e *stopSequence) leaseEnded() (freeze bool, do action, wait time.Duration) {
	switch e.stage {
	case running:
		e.frozen = true
		return true, nothing, 0
	case killing:
		return false, nothing, 0
	}
	do, wait = e.kill()
	return false, do, wait
}

// timeUp moves on to the next stage. The caller must call it when it has waited for the duration
// that was returned with the last action.
func (e *stopSequence) timeUp() (action, time.Duration) {
	switch {
	case e.stage == running:
		return nothing, 0
	case e.stage == interrupting:
		e.stage = terminating
		return terminateGroup, e.terminate
	case e.killed >= killLimit:
		return giveUp, 0
	}
	return e.kill()
}

func (e *stopSequence) kill() (action, time.Duration) {
	e.stage = killing
	e.pause = min(max(2*e.pause, firstPause), maxPause)
	e.killed += e.pause
	return killAll, e.pause
}
