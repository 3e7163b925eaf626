package machines

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gaffer/internal/testkit/testenv"
)

var (
	chaosMinutes = flag.Float64("minutes", 0, "how long faults happen in the chaos test; 0 means as long as the test level wants")
	chaosReport  = flag.String("report", "", "the file for the report of the chaos test")
)

// Fifty agents work for three workers, two coordinators on one PostgreSQL, and a local gaffer on
// SQLite. Meanwhile processes are killed and stopped, machines are disconnected, disks are full and
// files are damaged. After the last fault all runs must end, and all invariants must hold: see
// chaos_checks_linux_test.go.
//
// The seed decides which faults happen in which order and to which targets, and what the agents do.
// It does not determine how long each process takes.
func TestFaultChaosLosesNoTaskAndRunsNoneTwiceAtOnce(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	lasts := time.Duration(testenv.Count(0, 90, 600)) * time.Second
	if *chaosMinutes > 0 {
		lasts = time.Duration(*chaosMinutes * float64(time.Minute))
	}
	w := newWorld(t, seedNumber(t))
	w.report.lasts = lasts
	t.Cleanup(func() { w.report.write(t, *chaosReport) })

	w.live(lasts)
	w.awaitRest()
	w.check()
	for _, i := range w.report.invariants {
		for _, problem := range i.problems {
			t.Errorf("%s: %s", i.name, problem)
		}
	}
}

// tick is how often live and settle look at the world.
const tick = 100 * time.Millisecond

// live injects faults for some time. Storms alternate with calm periods. In a storm several faults
// are active at once; in a calm period only one at a time.
func (w *world) live(lasts time.Duration) {
	end := time.Now().Add(lasts)
	over := func() bool { return time.Now().After(end) || w.t.Failed() }
	for !over() {
		for range 10 + w.rng.IntN(20) {
			next := time.Now().Add(time.Duration(w.rng.IntN(1500)) * time.Millisecond)
			for !over() && (time.Now().Before(next) || len(w.under) >= mostAtOnce) {
				w.settle(tick)
			}
			if over() {
				return
			}
			w.beginFault(w.storm())
		}
		for len(w.under) > 0 {
			w.settle(tick)
		}
		w.settle(w.fleet.lease)
		for range 4 {
			w.beginFault(w.calm())
			w.settle(time.Second)
		}
	}
}

// settle lets all programs run for some time without new faults.
func (w *world) settle(lasts time.Duration) {
	over, next := time.After(lasts), time.NewTicker(tick)
	defer next.Stop()
	for {
		w.maintain()
		w.endFaults(time.Now())
		select {
		case <-over:
			return
		case <-next.C:
		}
	}
}

// keep returns the folder for all files of the world. It is deleted if the test
// passes.
func keep(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "gaffer-chaos-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { // the user that runs PostgreSQL needs access
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the state is kept in %s", dir)
			return
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// sub creates the folder name in dir and returns its path.
func sub(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// pick returns a random item of a list, or the zero value if the list is empty.
func pick[V any](rng *rand.Rand, list []V) (v V) {
	n := rng.IntN(1 << 20) // drawn even for an empty list, so that later random numbers are always the same
	if len(list) > 0 {
		v = list[n%len(list)]
	}
	return v
}
