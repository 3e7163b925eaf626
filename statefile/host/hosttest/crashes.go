package hosttest

import (
	"errors"
	"testing"
	"testing/synctest"

	"gaffer/statefile/host"
)

// Crashes runs an operation on a machine that crashes at each step in turn. At each
// step it tests one death of the process and several power cuts, which lose different
// data.
type Crashes struct {
	Prepare func(h host.Host) error // runs without faults before Do; may be nil
	Do      func(h host.Host) error
	// Check verifies, as a new process, what is left after the crash. done reports
	// that Do returned without an error, so that its result must exist.
	Check func(t *testing.T, h host.Host, done bool)
}

// powerCuts is the number of random power cuts that are tested at each step.
const powerCuts = 4

// Run executes all crashes and returns their number.
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

// once runs the operation with one fault and reports whether the fault occurred
// during Do.
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
			m.PowerCut() // completed work must survive a power cut
		}
		m.SetFault(Fault{})
		c.Check(t, m.Process(), err == nil)
		if t.Failed() {
			t.Fatalf("the crash was at %s (power cut %v, seed %d)", m.FaultStep(), f.Power, seed)
		}
	})
	return died
}
