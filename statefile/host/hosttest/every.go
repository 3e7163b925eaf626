package hosttest

import (
	"errors"
	"testing"
	"testing/synctest"

	"gaffer/statefile/host"
)

// Crashes is something that is done on a machine that crashes at each of its
// steps in turn, once by the death of the process and several times by a power
// cut, which leaves more to chance.
type Crashes struct {
	Prepare func(h host.Host) error // before anything can go wrong; may be nil
	Do      func(h host.Host) error
	// Check looks at what is left, as a new process. done tells that Do
	// returned without an error, so that what it did must be there.
	Check func(t *testing.T, h host.Host, done bool)
}

// powerCuts is how many ways of losing unsynced data are tried at each step.
const powerCuts = 4

// Run does all of it and returns how many crashes there were.
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

// once reports whether the fault fell on a step of Do.
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
			t.Fatalf("%s, seed %d: %v", m.Struck(), seed, err)
		}
		if !died && f.Power {
			m.PowerCut() // what was done must survive it
		}
		m.SetFault(Fault{})
		c.Check(t, m.Process(), err == nil)
		if t.Failed() {
			t.Fatalf("the crash was at %s (power cut %v, seed %d)", m.Struck(), f.Power, seed)
		}
	})
	return died
}
