// Package hosttest simulates a machine that fails. Its disk loses data that was not synced. Its
// processes die at a chosen step. A seed determines the order in which processes execute their
// steps, so a failure can be reproduced.
//
// Use it inside a testing/synctest bubble. There, time advances only when all processes wait for
// time to pass.
package hosttest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing/synctest"

	"gaffer/statefile/host"
)

// ErrDead says that a dead process has tried to execute an operation, such as a write. The error of
// the operation wraps ErrDead.
var ErrDead = errors.New("the process is dead")

// Fault describes the fault to inject. The zero value injects none.
type Fault struct {
	At    int   // the step at which the fault occurs: 1 is the first step, 0 means never
	Power bool  // if true, the whole machine loses power; if false, only the process dies
	Err   error // if set, the step fails with this error and no process dies
}

// Machine is a simulated computer: a disk, a clock and processes.
type Machine struct {
	mu        sync.Mutex
	rng       *rand.Rand
	fault     Fault
	steps     int    // number of steps of all processes so far
	faultStep string // description of the step at which the fault occurred, for test messages
	disk      *disk
	boots     int // number of power cuts so far; part of the boot id of new processes
	procs     []*Process
	calls     []*call       // operations of processes that wait until Run selects them
	threads   int           // number of goroutines started by Go that have not ended
	changed   chan struct{} // wakes Run when a thread has ended or has added an operation to calls
	locks     map[string]*kernelLock
}

// call is an operation of a process that waits until [Machine.Run] selects it.
type call struct{ turn chan struct{} }

// New returns a machine with an empty disk.
func New(seed uint64, fault Fault) *Machine {
	rng := rand.New(rand.NewPCG(seed, 0))
	return &Machine{rng: rng, fault: fault, disk: newDisk(), changed: make(chan struct{}, 1), locks: map[string]*kernelLock{}}
}

// Process starts a simulated process. [Machine.Go] gives it functions to execute, which
// [Machine.Run] schedules. Before the first call of Go, and after Run has returned, the test may
// also call the methods of the process directly.
func (m *Machine) Process() *Process {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := &Process{machine: m, id: host.Process{
		PID: len(m.procs) + 100, Start: uint64(len(m.procs)), Boot: fmt.Sprint("boot-", m.boots), Space: "space", Host: "machine",
	}}
	m.procs = append(m.procs, p)
	return p
}

// Go runs work in a new goroutine, as a thread of the process p. After p has died, its disk
// operations fail, so work should return soon.
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

// Run schedules the threads that [Machine.Go] has started, one step at a time, until all have
// ended.
func (m *Machine) Run() {
	for {
		synctest.Wait()
		next, threads := m.pick()
		if threads == 0 {
			break
		}
		if next == nil {
			// All threads sleep or wait for a lock. Wait until one of them continues.
			<-m.changed
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
	case m.changed <- struct{}{}:
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

// Steps returns the number of steps that all processes have executed so far.
func (m *Machine) Steps() int { return m.steps }

// FaultStep describes the step at which the fault occurred, for test messages.
func (m *Machine) FaultStep() string { return m.faultStep }

// PowerCut kills all processes and drops unsynced data at random: some of the pending changes of
// each folder, and a part of each file's unsynced content.
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

// SetFault replaces the fault that the machine injects. Fault.At counts all steps since [New].
func (m *Machine) SetFault(f Fault) { m.fault = f }

// injectFault counts one step of p, and injects the machine's fault if it is due at this step. It
// returns an error if the step must not be executed, because of the fault or because p is dead.
func (m *Machine) injectFault(p *Process, op host.Op, name string) error {
	if p.dead {
		return ErrDead
	}
	m.steps++
	if m.fault.At != m.steps {
		return nil
	}
	m.faultStep = fmt.Sprintf("step %d, process %d: %s %s", m.steps, p.id.PID, op, name)
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
