package machines

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"gaffer/internal/testkit/testenv"
)

// build builds gaffer from the module in the folder dir, and returns the path of the program.
func build(t *testing.T, dir string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "gaffer")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", program, "./cmd/gaffer")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build gaffer: %v\n%s", err, out)
	}
	return program
}

const root = "../../.." // root of the repository

// seed returns a random source with a new seed, or with the seed in GAFFER_TEST_SEED. The seed
// decides the order of events, but not the speed of the machines.
func seed(t *testing.T) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(seedNumber(t), 0))
}

func seedNumber(t *testing.T) uint64 {
	t.Helper()
	n := rand.Uint64()
	if text := os.Getenv("GAFFER_TEST_SEED"); text != "" {
		var err error
		if n, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("GAFFER_TEST_SEED=%d", n)
	return n
}

// Two coordinators on one database and three workers suffer every kind of fault in turn. Each task
// must be done once, by one agent at a time, and each follower must receive every change once.
func TestThreeMachinesDoEachTaskOnceWhateverFails(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	rng := seed(t)
	f := newFleet(t, testenv.Program(t), 2, 3)
	followers := []*follower{follow("the first follower", f.asks(0)), follow("the second follower", f.asks(1))}
	for _, each := range followers {
		defer each.stop()
	}
	run, tasks := f.submit(rng, testenv.Count(30, 30, 60))
	watch := WatchRun(run)
	defer watch.Stop()

	troubles, gaveWay := f.troubles(rng), 0
	for i, each := range troubles {
		// Otherwise, on a slow machine, all tasks end during the first faults. The tasks that a fault
		// has interrupted may wait for those that are not allowed yet, so allow as many more as run at
		// once.
		ended := (i + 1) * len(tasks) / (len(troubles) + 1)
		f.allow(ended + parallel)
		f.await(ended)
		f.alive()
		if f.make(run, each) {
			gaveWay++
		}
	}
	f.allow(len(tasks))
	f.await(len(tasks))
	f.over(run)
	f.alive()
	s := f.stored(run)
	attempts := 0
	for _, task := range tasks {
		f.checkMarks(t, s, task)
		attempts += len(s.attempts[task])
	}
	for _, double := range watch.Stop() {
		t.Error(double)
	}
	if watch.Stopped() == 0 || gaveWay == 0 {
		t.Errorf("%d agents had to stand still and %d to give way: what was to be seen has not happened", watch.Stopped(), gaveWay)
	}
	if left := watch.Live(); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	want := f.changes(s, run)
	for _, each := range followers {
		each.check(t, want)
	}
	t.Logf("%.1f s: %d tasks took %d attempts, %s, and %d changes were sent",
		time.Since(begun).Seconds(), len(tasks), attempts, watch.Report(), len(want))
}

// troubles returns all faults in random order. Faults that last longer than a lease do not come
// last, because few tasks are left then.
func (f *fleet) troubles(rng *rand.Rand) (list []trouble) {
	moment := func() time.Duration { return time.Duration(rng.IntN(1500)) * time.Millisecond }
	how := func() Cut { return []Cut{Unplugged, Lost}[rng.IntN(2)] }
	short := []trouble{f.stop(Fast, moment()), f.stop(Immediate, moment())}
	for _, s := range slices.Concat(f.coordinators, f.workers) {
		short = append(short, f.restart(s, moment()))
	}
	server := f.coordinators[rng.IntN(len(f.coordinators))]
	long := []trouble{cut(nil, how(), 0), hang(nil, 0), f.restart(nil, 0), cut(server, how(), lease+2*time.Second+moment())}
	rng.Shuffle(len(short), func(i, j int) { short[i], short[j] = short[j], short[i] })
	rng.Shuffle(len(long), func(i, j int) { long[i], long[j] = long[j], long[i] })
	for i := range short {
		if i < len(long) {
			list = append(list, long[i])
		}
		list = append(list, short[i])
	}
	return list
}

// over waits until the coordinators report that the run is complete.
func (f *fleet) over(run string) {
	f.t.Helper()
	status := ""
	defer func() {
		if f.t.Failed() {
			f.t.Logf("the run is %s", status)
		}
	}()
	c := f.asks(0)
	Eventually(f.t, time.Minute, "the run is complete", func() bool {
		r, err := c.Runs.Get(f.t.Context(), run)
		status = fmt.Sprint(r.Status, err)
		return err == nil && r.Status == "complete"
	})
}

// changes returns the numbers of all changes that a coordinator streams from the beginning. It
// checks that all of them are events of the store, and that every change of a task is among them.
func (f *fleet) changes(s stored, run string) []int64 {
	f.t.Helper()
	all, tasks := s.seqs(run)
	once := follow("a late follower", f.asks(0))
	Eventually(f.t, 30*time.Second, "the stream is read from the beginning", func() bool { return once.last() >= tasks[len(tasks)-1] })
	changes := once.stop()
	changes = changes[:slices.Index(changes, tasks[len(tasks)-1])+1]
	for _, n := range tasks {
		if !slices.Contains(changes, n) {
			f.t.Errorf("change %d of a task was not sent", n)
		}
	}
	for _, n := range changes {
		if !slices.Contains(all, n) {
			f.t.Errorf("change %d was sent, but is not in the store", n)
		}
	}
	return changes
}
