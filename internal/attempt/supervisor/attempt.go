package supervisor

import (
	"os"
	"sync"
	"syscall"
	"time"

	"gaffer/statefile/host"
)

// attempt is the state of the attempt that a supervisor runs. The goroutine that executes the method
// run owns it. The goroutines of clients use only the fields requests and shared.
type attempt struct {
	assignment
	spec Spec
	log  *os.File

	self    host.Process
	agent   agentProcesses
	started Started
	exit    Exit

	ending      stopSequence
	stopTimer   *time.Timer // fires when the next step of ending is due
	deadline    deadline
	lease       leaseWatch
	socketTimer *time.Timer // fires when the method open is due
	unwanted    bool        // a signal has asked the supervisor to exit

	clients  *clients
	requests requests
	shared   shared
}

// assignment is what a supervisor needs to run an attempt.
type assignment struct {
	folder   folder
	lock     *os.File
	record   lockRecord // content of the lock when the supervisor acquired it
	env      []string   // the agent's environment
	signals  signals
	reusable bool // the supervisor belongs to a pool and may run another attempt later
}

// agentProcesses are the agent and the processes that it has started.
type agentProcesses struct {
	pid   int     // pid of the agent, and also the id of its process group
	group *cgroup // nil if the attempt has no control group
	ended bool    // none of the processes is left
	left  []int   // the processes that existed when signalAll was called last
	swept map[int]bool
}

// signalAll sends a signal to the agent and to all processes that it has started.
func (p *agentProcesses) signalAll(sig syscall.Signal) {
	p.left = signalAll(p.pid, sig)
	for _, pid := range p.left {
		if pid != p.pid {
			p.swept[pid] = true
		}
	}
}

// requests passes what clients ask for to the goroutine that owns the attempt.
type requests struct {
	stops  chan stop  // stop the agent
	leases chan lease // extend the lease
	waits  chan bool  // the agent waits for the user, or no longer does
	ended  chan struct{}
}

// stop is a request to stop the agent. The field why is the reason. If the field now is true, the
// agent is killed at once.
type stop struct {
	why string
	now bool
}

// pass sends a request to the owner of the attempt. It does nothing if the attempt has ended.
func pass[T any](r *requests, to chan<- T, request T) {
	select {
	case to <- request:
	case <-r.ended:
	}
}

// shared is the part of the attempt's state that the goroutines of clients read.
type shared struct {
	mu         sync.Mutex
	stdin      *stdin
	stage      stage
	stopReason string
	frozen     bool // all processes of the attempt are frozen
}

// get returns the agent's stdin, and the status that clients see.
func (s *shared) get() (*stdin, Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stdin, Status{Doing: s.stage.String(), StopReason: s.stopReason, Frozen: s.frozen}
}

func (s *shared) setStdin(in *stdin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stdin = in
}

func (s *shared) setStage(e stopSequence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stage, s.stopReason = e.stage, e.reason
}

func (s *shared) setFrozen(frozen bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = frozen
}

func newAttempt(given assignment) *attempt {
	a := &attempt{
		assignment:  given,
		agent:       agentProcesses{swept: map[int]bool{}},
		exit:        Exit{Code: -1},
		stopTimer:   stoppedTimer(),
		deadline:    deadline{timer: stoppedTimer()},
		lease:       leaseWatch{timer: stoppedTimer()},
		socketTimer: time.NewTimer(openDelay),
		requests:    requests{stops: make(chan stop), leases: make(chan lease), waits: make(chan bool), ended: make(chan struct{})},
	}
	a.clients = newClients(a)
	return a
}

func stoppedTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// run starts the agent, waits for its end, records the exit and reports it to the clients. If run
// returns an error, the exit could not be recorded. If the agent could not be started, run records
// an exit that says so, and does not return that as an error.
//
// The result free reports whether the supervisor can run another attempt. For that, all of these
// conditions must hold:
//   - The supervisor belongs to a [Pool].
//   - No process of this attempt is left, and the exit was recorded.
//   - No signal has told the supervisor to exit.
//   - At most one client was connected, and it has received the exit or has disconnected.
func (a *attempt) run() (free bool, err error) {
	err = a.begin()
	if err == nil {
		a.watch()
		a.completeExit()
	} else {
		a.exit.Failed = err.Error()
	}
	ended := true
	if a.agent.group != nil {
		var left []int
		left, ended = a.agent.group.killAndRemove()
		a.exit.Left = append(a.exit.Left, left...)
	}
	close(a.requests.ended)
	if a.exit.Ended.IsZero() {
		a.exit.Ended = time.Now().UTC()
	}
	err = a.recordExit()
	if err != nil {
		a.exit.Unrecorded = err.Error()
	}
	free = a.clients.shut() < 2 && err == nil && a.reusable && !a.unwanted && ended && len(a.exit.Left) == 0
	delivered := a.clients.finish(a.exit, free)
	if a.log != nil {
		_ = a.log.Close() // ignore the error: only the agent wrote to the log
	}
	return free && delivered, err
}

func (a *attempt) begin() error {
	spec, err := a.record.specIn(a.folder)
	if err != nil {
		return err
	}
	a.spec = spec
	a.exit.Attempt = spec.Attempt
	a.ending = stopSequence{interrupt: spec.interrupt(), terminate: spec.terminate()}
	a.lease.frozen.abandon = spec.abandon()
	if err := becomeSubreaper(); err != nil {
		return err
	}
	a.self = host.OS().Self()
	a.agent.group = makeCgroup(spec.Group)
	if err := a.recordSupervisor(); err != nil {
		return err
	}
	if err := a.launch(); err != nil {
		return err
	}
	a.announce()
	return nil
}

// recordSupervisor writes the supervisor's identity into the lock before the agent starts. It also
// writes what is needed to find all processes that the agent will start.
func (a *attempt) recordSupervisor() error {
	s := supervisorRecord{Process: a.self, Group: a.agent.group}
	s.describeDescendants()
	return appendRecord(a.lock, heldWord, s)
}

func (a *attempt) launch() error {
	log, size, err := openLog(a.spec.Log)
	if err != nil {
		return err
	}
	a.log, a.exit.LogFrom, a.exit.LogTo = log, size, size
	stdin, agentEnd, err := newStdin(a.spec.Input, a.spec.Open)
	if err != nil {
		return err
	}
	defer agentEnd.Close()
	a.exit.Started = time.Now().UTC()
	a.agent.pid, err = launch(a.spec, a.env, agentEnd.Fd(), log.Fd(), a.agent.group)
	// The kernel may refuse to start a process in the control group. Then try without the group.
	if err != nil && a.agent.group != nil && a.agent.group.remove() == nil {
		a.agent.group = nil
		if err = a.recordSupervisor(); err == nil {
			a.agent.pid, err = launch(a.spec, a.env, agentEnd.Fd(), log.Fd(), nil)
		}
	}
	if err != nil {
		stdin.abandon()
		return err
	}
	a.shared.setStdin(stdin)
	a.deadline.at = a.spec.Deadline
	a.deadline.arm()
	a.lease.lease = newLease(a.spec.Until.Round(0), a.exit.Started).received(time.Now())
	a.lease.arm(time.Now())
	return nil
}

func (a *attempt) announce() {
	agent := a.self
	agent.PID, agent.Start = a.agent.pid, startTime(a.agent.pid)
	a.started = Started{Attempt: a.spec.Attempt, Supervisor: a.self, Agent: agent, At: a.exit.Started}
	a.clients.begin(a.started)
}

const (
	// openDelay is how long after the agent's start the supervisor opens its socket for other
	// processes. Until then only the process that started the attempt is connected. If it
	// disconnects earlier, the supervisor opens the socket at once.
	openDelay = 100 * time.Millisecond
	// openRetryPause is how long the supervisor waits after the method open has failed before it
	// calls open again. The agent keeps running meanwhile.
	openRetryPause = time.Second
	// socketCheckInterval is how often a supervisor without clients checks that its socket still
	// exists. A supervisor with clients checks that when a client disconnects.
	socketCheckInterval = 5 * time.Second
)

// open writes started.json and listens on the socket, unless clients can already reach the socket.
// If the socket was deleted, open creates it again. open also syncs the directory entries of the
// folder and the lock to disk: after the process that started the attempt has ended, only the lock
// shows that the attempt exists.
func (a *attempt) open() {
	a.socketTimer.Stop()
	if a.clients.reachable(a.folder) {
		if a.clients.none() {
			a.socketTimer.Reset(socketCheckInterval)
		}
		return
	}
	err := a.folder.write(startedFile, a.started)
	if err == nil {
		err = a.folder.syncNames()
	}
	if err == nil {
		err = a.clients.listen(a.folder)
	}
	switch {
	case err != nil:
		a.socketTimer.Reset(openRetryPause)
	case a.clients.none():
		a.socketTimer.Reset(socketCheckInterval)
	}
}

// completeExit sets the fields of a.exit that are known only after the agent's end. It is called
// after the method watch has returned.
func (a *attempt) completeExit() {
	a.shared.stdin.abandon()
	if info, err := a.log.Stat(); err == nil {
		a.exit.LogTo = info.Size()
	}
	a.exit.StopReason = a.ending.reason
	a.exit.Waited = a.deadline.waiting.total(time.Now())
	a.exit.Swept = len(a.agent.swept)
}

// recordTries is how many times the supervisor tries to record the exit. It waits between two
// tries, each time twice as long, in case the disk is full only for a short time.
const recordTries = 6

func (a *attempt) recordExit() error {
	pause := 50 * time.Millisecond
	for try := 1; ; try++ {
		err := a.folder.recordExit(a.lock, a.exit)
		if err == nil || try == recordTries {
			return err
		}
		time.Sleep(pause)
		pause *= 2
	}
}
