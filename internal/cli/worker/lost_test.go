package worker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
)

func (f *fleet) attempts(run, task string) (list []store.Attempt) {
	f.t.Helper()
	f.read(func(r store.Reader) (err error) {
		list, err = r.Attempts(store.TaskKey{Run: run, Task: task})
		return err
	})
	return list
}

// workersOf returns, for each of the tasks that is running, the name of its worker.
func (f *fleet) workersOf(run string, tasks []string) map[string]string {
	f.t.Helper()
	names := map[string]string{}
	for _, task := range tasks {
		for _, a := range f.attempts(run, task) {
			if a.Status == store.Running {
				names[task], _, _ = strings.Cut(a.Worker, "-") // the id of a worker starts with its name and a "-"
			}
		}
	}
	return names
}

// The test kills one worker for good, and stops another for twice its lease. docs/worker.md gives
// ten minutes after the last lease; here it is ten leases.
func TestAFleetThatLosesWorkersCompletesADefaultPlanAndLeavesNothingBehind(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	const lease = 4 * time.Second
	f := newFleet(t)
	server := f.serve("--lease", lease.String())
	// The script writes a line with the number of its attempt at each step. The first attempt
	// continues until the test has killed or stopped its worker. It also starts a grandchild in
	// another session.
	script := `echo $GAFFER_ATTEMPT_NUMBER >> $MARKS/$GAFFER_TASK
setsid sleep 3000 &
until [ $GAFFER_ATTEMPT_NUMBER -gt 1 ] || [ -e $MARKS/../go ]; do echo $GAFFER_ATTEMPT_NUMBER >> $MARKS/$GAFFER_TASK; sleep 0.1; done
for i in $(seq 20); do echo $GAFFER_ATTEMPT_NUMBER >> $MARKS/$GAFFER_TASK; sleep 0.1; done`
	first, all := []string{"a", "b", "c"}, []string{"a", "b", "c", "d", "e", "f"}
	var tasks []plan.Task
	for i, id := range all {
		task := plan.Task{ID: id, Agent: plan.CommandAgent, Argv: []string{"sh", "-c", script}}
		if i >= len(first) {
			task.After = first
		}
		tasks = append(tasks, task)
	}
	run := f.submitAt("", plan.Plan{Tasks: tasks})
	alpha, beta, gamma := f.worker("alpha", "--slots", "1"), f.worker("beta", "--slots", "1"), f.worker("gamma", "--slots", "1")
	until(t, "task for each worker", func() (string, bool) {
		names := f.workersOf(run, first)
		return fmt.Sprint(names), len(names) == len(first) && f.begun() == len(first)
	})
	had := map[string]string{} // the task that each worker had
	for task, worker := range f.workersOf(run, first) {
		had[worker] = task
	}

	alpha.kill()
	beta.signal(syscall.SIGSTOP)
	stopped := time.Now()
	until(t, "loss of both workers", func() (string, bool) {
		of := func(name string) string { return string(f.attempts(run, had[name])[0].Class) }
		lost := of("alpha") == string(failure.Lost) && of("beta") == string(failure.Lost)
		return of("alpha") + ", " + of("beta"), lost && time.Since(stopped) > 2*lease
	})
	beta.signal(syscall.SIGCONT)
	if err := os.WriteFile(filepath.Join(f.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.completes(run)

	for _, id := range all {
		task, attempts := f.task(run, id), f.attempts(run, id)
		if task.Status != store.Complete || task.CountedAttempts != 1 {
			t.Errorf("task %s is %s, with %d attempts that count", id, task.Status, task.CountedAttempts)
		}
		for i := 1; i < len(attempts); i++ {
			if attempts[i].Started.Before(attempts[i-1].Ended) {
				t.Errorf("attempt %d at %s began before the one before it had ended", attempts[i].Number, id)
			}
		}
		marks := strings.Fields(f.marks(id))
		if !slices.IsSortedFunc(marks, func(x, y string) int { m, _ := strconv.Atoi(x); n, _ := strconv.Atoi(y); return m - n }) {
			t.Errorf("two attempts at %s were at work at the same time: %v", id, marks)
		}
	}

	// Stop the other workers and the server. The agent of the killed worker is left, and ends by
	// itself.
	for _, p := range []*process{beta, gamma, server} {
		p.signal(syscall.SIGTERM)
		p.ends()
	}
	until(t, "machine without processes", func() (string, bool) {
		left := f.processes("HOME=" + f.dir)
		return fmt.Sprint(left), len(left) == 0
	})
}
