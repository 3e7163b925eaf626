package hosttest

import (
	"errors"
	"testing"
	"testing/synctest"

	"gaffer/statefile/host"
)

// Crashes tests that an operation survives crashes. It runs the operation many times, and each run
// crashes at a chosen step of the operation. For each step there is one run in which the process
// dies, and several runs in which the power fails. A power failure destroys data at random, with a
// different seed in each of these runs.
type Crashes struct {
	Prepare func(h host.Host) error // runs without faults before Do; may be nil
	Do      func(h host.Host) error
	// Check verifies the files that are left after the crash. h is a new simulated process that was
	// not affected by the crash. If done is true, Do returned without an error, so its result must
	// exist.
	Check func(t *testing.T, h host.Host, done bool)
}

// powerCuts is the number of runs, for each step, in which the power fails at this step.
const powerCuts = 4

// Run executes all runs and returns their number. It lets the crash occur at the first step of Do,
// then at the second, and so on, until Do ends before the crash.
func (c Crashes) Run(t *testing.T) (crashes int) {
	for _, power := range []bool{false, true} {
		seeds := map[bool]int{false: 1, true: powerCuts}[power]
		for at, died := 1, true; died; at++ {
			for seed := range seeds {
				died = c.once(t, uint64(seed), Fault{At: at, Power: power})
				crashes++
			}
		}
	}
	return crashes
}

// once runs the operation with the fault f. f.At counts the steps from the start of Do. once
// reports whether the fault occurred during Do.
func (c Crashes) once(t *testing.T, seed uint64, f Fault) (died bool) {
	synctest.Test(t, func(t *testing.T) {
		m := New(seed, Fault{})
		if c.Prepare != nil {
			if err := c.Prepare(m.Process()); err != nil {
				t.Fatal(err)
			}
		}
		f.At += m.Steps()
		m.SetFault(f)
		err := c.Do(m.Process())
		died = m.Steps() >= f.At
		if err != nil && !errors.Is(err, ErrDead) {
			t.Fatalf("%s, seed %d: %v", m.FaultStep(), seed, err)
		}
		if !died && f.Power {
			m.PowerCut() // a power cut after Do has ended must not destroy its result
		}
		m.SetFault(Fault{})
		c.Check(t, m.Process(), err == nil)
		if t.Failed() {
			t.Fatalf("the crash was at %s (power cut %v, seed %d)", m.FaultStep(), f.Power, seed)
		}
	})
	return died
}
