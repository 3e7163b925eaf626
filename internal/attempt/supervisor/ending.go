package supervisor

import "time"

// stage is how far the end of an attempt has come.
type stage int

// An agent that is told to stop is interrupted, then terminated, then killed
// with everything below it. One that ends before that has what it left behind
// swept: terminated, then killed.
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

// deed is what is to be done now.
type deed int

const (
	nothing deed = iota
	interruptGroup
	terminateGroup
	terminateAll
	killAll
	giveUp
)

const (
	sweepGrace = time.Second
	// Processes that are being killed are looked for again after firstPause,
	// then after longer and longer ones up to maxPause. Those that are there
	// after killLimit cannot be killed.
	firstPause = 2 * time.Millisecond
	maxPause   = 250 * time.Millisecond
	killLimit  = 30 * time.Second
)

// ending decides how an attempt comes to its end. It does nothing itself.
type ending struct {
	interrupt, terminate time.Duration

	stage  stage
	told   string
	exited bool          // the agent has
	frozen bool          // nothing of it may run any more
	pause  time.Duration // the last one while killing
	killed time.Duration // for how long there was killing
}

// stop is somebody's wish. The first reason is kept; what comes after the agent
// has ended by itself has told it nothing. One that is frozen cannot follow a
// signal without going on, and is killed.
func (e *ending) stop(why string, now bool) (deed, time.Duration) {
	if e.told == "" && !e.exited {
		e.told = why
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

// exit says that the agent has ended and others are left.
func (e *ending) exit() (deed, time.Duration) {
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

// lapse says that nothing may run any more. What is about to end has no time left
// for that; otherwise it returns whether all is to be frozen.
func (e *ending) lapse() (freeze bool, do deed, wait time.Duration) {
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

// timeUp says that the time last returned has passed.
func (e *ending) timeUp() (deed, time.Duration) {
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

func (e *ending) kill() (deed, time.Duration) {
	e.stage = killing
	e.pause = min(max(2*e.pause, firstPause), maxPause)
	e.killed += e.pause
	return killAll, e.pause
}
