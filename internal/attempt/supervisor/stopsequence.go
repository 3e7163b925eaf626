package supervisor

import "time"

// stage is how far the stopping of an attempt has progressed.
type stage int

// A stop order interrupts the agent, then terminates it, then kills it with all its
// descendants. If the agent exits before it is killed, the supervisor sweeps the
// processes that it left behind: it terminates them, then kills them.
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

// action is what the supervisor does next to stop an attempt.
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
	sweepGrace = time.Second
	// After a kill, the supervisor checks after firstPause which processes are left, then
	// after pauses that double up to maxPause. It gives up on processes that still exist
	// after killLimit.
	firstPause = 2 * time.Millisecond
	maxPause   = 250 * time.Millisecond
	killLimit  = 30 * time.Second
)

// stopSequence decides how an attempt is stopped. It is pure: its methods return
// an action and how long to wait before [stopSequence.timeUp], and the caller performs
// the action.
type stopSequence struct {
	interrupt, terminate time.Duration

	stage  stage
	reason string
	exited bool          // the agent has exited
	frozen bool          // the lease is over: no process of the attempt may run
	pause  time.Duration // the last pause between kills
	killed time.Duration // total time spent killing
}

// stop handles an order to stop. It keeps the first reason, and none if the agent had
// already exited by itself. A frozen agent is killed, because it would have to run to
// handle another signal.
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

// agentExited handles the exit of the agent while other processes are left.
func (e *stopSequence) agentExited() (action, time.Duration) {
	e.exited = true
	switch {
	case e.stage == killing:
		return nothing, 0
	case e.frozen:
		return e.kill()
	}
	e.stage = sweeping
	return terminateAll, sweepGrace
}

// leaseEnded handles the end of the lease. An attempt that is already stopping is killed. A
// running one is to be frozen, and freeze is true.
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

// timeUp handles the end of the wait that came with the last action. It moves on to the
// next stage.
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
