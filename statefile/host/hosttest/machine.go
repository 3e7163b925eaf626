// Package hosttest is a machine made to break. Its disk forgets what was not
// synced, its processes die at a chosen step, and the order in which processes
// take their steps follows from a seed, so that a failure can be had again.
//
// Use it inside a testing/synctest bubble: time passes only when every process
// waits for it.
package hosttest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing/synctest"

	"gaffer/statefile/host"
)

// ErrDead is what every operation of a dead process returns.
var ErrDead = errors.New("the process is dead")

// Fault is what goes wrong, if anything.
type Fault struct {
	At    int   // the number of the step, from 1; never if 0
	Power bool  // the whole machine loses power; otherwise only the process dies
	Err   error // the step fails with this and nobody dies
}

// Machine is a disk, a clock and some processes.
type Machine struct {
	mu      sync.Mutex
	rng     *rand.Rand
	fault   Fault
	steps   int
	struck  string // the step that the fault fell on, for messages
	disk    *disk
	boots   int
	procs   []*Process
	calls   []*call // operations that wait for their turn
	threads int
	stirred chan struct{} // something may have changed for Run
	locks   map[string]*kernelLock
}

// call is an operation that waits for its turn.
type call struct{ turn chan struct{} }

// New returns a machine with an empty disk.
func New(seed uint64, fault Fault) *Machine {
	rng := rand.New(rand.NewPCG(seed, 0))
	return &Machine{rng: rng, fault: fault, disk: newDisk(), stirred: make(chan struct{}, 1), locks: map[string]*kernelLock{}}
}

// Process starts a process. It does nothing until it is given something to do
// with [Machine.Go], except for operations that the test itself makes on it
// while nothing else runs.
func (m *Machine) Process() *Process {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := &Process{machine: m, id: host.Process{
		PID: len(m.procs) + 100, Start: uint64(len(m.procs)), Boot: fmt.Sprint("boot-", m.boots), Space: "space", Host: "machine",
	}}
	m.procs = append(m.procs, p)
	return p
}

// Go runs work as a thread of p. The work ends by itself soon after p dies,
// since every operation then fails.
func (m *Machine) Go(p *Process, work func()) {
	m.mu.Lock()
	m.threads++
	p.scheduled = true
	m.mu.Unlock()
	go func() {
		work()
		m.mu.Lock()
		m.threads--
		m.mu.Unlock()
		m.stir()
	}()
}

// Run gives the threads turns, one at a time, until all have ended.
func (m *Machine) Run() {
	for {
		synctest.Wait()
		next, threads := m.pick()
		if threads == 0 {
			break
		}
		if next == nil {
			<-m.stirred // all wait for the clock, which goes on now
			continue
		}
		close(next.turn)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.procs {
		p.scheduled = false
	}
}

func (m *Machine) stir() {
	select {
	case m.stirred <- struct{}{}:
	default:
	}
}

func (m *Machine) pick() (*call, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.calls) == 0 {
		return nil, m.threads
	}
	i := m.rng.IntN(len(m.calls))
	next := m.calls[i]
	m.calls[i] = m.calls[len(m.calls)-1]
	m.calls = m.calls[:len(m.calls)-1]
	return next, m.threads
}

// Steps returns how many steps were taken.
func (m *Machine) Steps() int { return m.steps }

// Struck names the step that the fault fell on, for messages.
func (m *Machine) Struck() string { return m.struck }

// PowerCut ends all processes and drops what was not synced: each pending
// change of a folder is kept or lost by chance, and so is any part of a file's
// unsynced content.
func (m *Machine) PowerCut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.powerCut()
}

func (m *Machine) powerCut() {
	for _, p := range m.procs {
		m.kill(p)
	}
	m.disk.powerCut(m.rng)
	m.boots++
}

func (m *Machine) kill(p *Process) {
	p.dead = true
	for _, l := range m.locks {
		if l.holder == p {
			l.free()
		}
	}
}

// SetFault chooses what goes wrong from now on.
func (m *Machine) SetFault(f Fault) { m.fault = f }

// strike takes one step of p. It returns an error if the step must not happen.
func (m *Machine) strike(p *Process, op host.Op, name string) error {
	if p.dead {
		return ErrDead
	}
	m.steps++
	if m.fault.At != m.steps {
		return nil
	}
	m.struck = fmt.Sprintf("step %d, process %d: %s %s", m.steps, p.id.PID, op, name)
	switch {
	case m.fault.Err != nil:
		return m.fault.Err
	case m.fault.Power:
		m.powerCut()
	default:
		m.kill(p)
	}
	return ErrDead
}
