package supervisor_test

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/testkit/testenv"
)

func TestWhereverAPoolsProcessDiesEachAttemptRanAtMostOnce(t *testing.T) {
	testenv.Integration(t)
	seen := map[string]int{}
	for range 40 {
		loop := newAttempt(t) // the supervisors that the loop leaves behind have its id in their environment
		delay := time.Duration(rand.IntN(60_000)) * time.Microsecond
		loop.loopAndDie(delay)
		for _, dir := range loop.looped() {
			seen[awaitStartedAtMostOnce(t, dir)]++
		}
		testenv.WaitFor(t, "the end of all its processes", loop.carriers, func(pids []int) bool { return len(pids) == 0 })
		for _, dir := range loop.looped() {
			one := &attempt{t: t, id: dir}
			one.allGone()
			if count := countRuns(dir); count > 1 {
				t.Errorf("%s: killed after %s, it ran %d times", dir, delay, count)
			}
		}
	}
	t.Log(seen)
}

// loopAndDie runs a process that starts attempts, and kills it after the delay.
func (a *attempt) loopAndDie(delay time.Duration) {
	a.t.Helper()
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		a.t.Fatal(err)
	}
	looper := exec.Command(os.Args[0], "be", "looper", a.dir)
	looper.Env = append(os.Environ(), supervisor.Mark+"="+a.id)
	out, err := looper.StdoutPipe()
	if err != nil {
		a.t.Fatal(err)
	}
	if err := looper.Start(); err != nil {
		a.t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); line != "ready\n" {
		a.t.Errorf("it said %q, %v", line, err)
	}
	time.Sleep(delay) // makes the kill come at a random moment
	if err := looper.Process.Kill(); err != nil {
		a.t.Error(err)
	}
	if line, _ := lines.ReadString('\n'); line != "" {
		a.t.Errorf("it said %q", line)
	}
	_ = looper.Wait() // returns an error, because the process was killed
}

// looped lists the folders of the attempts that were started.
func (a *attempt) looped() []string {
	a.t.Helper()
	dirs, err := filepath.Glob(filepath.Join(a.dir, "*-*[0-9]"))
	if err != nil {
		a.t.Fatal(err)
	}
	return dirs
}

func countRuns(dir string) int {
	data, _ := os.ReadFile(dir + ".log") // a missing log means that the agent did not run
	return strings.Count(string(data), "ran")
}

// awaitStartedAtMostOnce waits for the end of an attempt whose starter is gone. It fails the test
// if the agent was started more than once.
func awaitStartedAtMostOnce(t *testing.T, dir string) string {
	t.Helper()
	p, state, err := supervisor.Attach(t.Context(), dir, self())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }() // always returns nil
	e := wait(t, p)
	emptied := e.Attempt == "" && strings.HasPrefix(filepath.Base(dir), "1-") // a finished folder that was emptied for reuse
	if e.Attempt != "" {
		dir = e.Attempt // the folder may have been about to be renamed for another attempt
	}
	count := countRuns(dir)
	switch {
	case emptied && e.Lost && e.NeverStarted:
	case e.Lost && (!e.NeverStarted || count != 0):
		t.Errorf("%s is %s and ran %d times: %+v", dir, state, count, e)
	case !e.Lost && (e.Code != 0 || count != 1):
		t.Errorf("%s is %s and ran %d times: %+v", dir, state, count, e)
	}
	return state.String()
}

func TestWhereverASupervisorIsKilledInAHandoverTheAttemptRanAtMostOnce(t *testing.T) {
	testenv.Integration(t)
	seen := map[string]int{}
	for range 25 {
		a := pooled(t, newPool(t, self(), 1))
		pid, _ := runs(t, a.pool, "true")
		victim, err := os.FindProcess(pid)
		if err != nil {
			t.Fatal(err)
		}
		delay := time.Duration(rand.IntN(3000)) * time.Microsecond
		killed := make(chan error)
		go func() {
			time.Sleep(delay) // to hit a random moment
			killed <- victim.Kill()
		}()
		p, err := a.try(t.Context(), a.shell("echo ran"))
		if err := <-killed; err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		// A process that another test leaves behind may look like one of this attempt. Look again until it
		// has ended, as a worker does.
		for until := time.Now().Add(testenv.Patience); errors.As(err, new(*supervisor.UnprovenError)) && time.Now().Before(until); {
			p, _, err = supervisor.Attach(t.Context(), a.dir, self())
		}
		if err != nil {
			t.Fatalf("killed after %s: %v", delay, err)
		}
		how := ended(t, p, pid)
		_ = p.Close() // always returns nil
		seen[how]++
		data, _ := os.ReadFile(a.log)
		if count := strings.Count(string(data), "ran"); count > 1 || how != "lost" && count != 1 {
			t.Errorf("killed after %s: %s, it ran %d times", delay, how, count)
		}
		a.allGone()
		if _, e := runs(t, a.pool, "exit 3"); e.Code != 3 {
			t.Errorf("killed after %s: the next: %+v", delay, e)
		}
	}
	t.Log(seen)
}

// ended waits for the end of an attempt, and describes how Wait reported it.
func ended(t *testing.T, p *supervisor.Process, victim int) string {
	t.Helper()
	e := wait(t, p)
	switch {
	case e.Lost:
		return "lost"
	case e.Code != 0:
		t.Errorf("exit %+v", e)
	case p.Started().Supervisor.PID == 0:
		return "before a word was said"
	case p.Started().Supervisor.PID != victim:
		return "by another"
	}
	return "by the victim"
}

func TestAPoolMayCloseWhileItStarts(t *testing.T) {
	testenv.Integration(t)
	for n := range 20 {
		pool := supervisor.NewPool(self(), 2)
		runs(t, pool, "true")
		a := pooled(t, pool)
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond) // to hit a random moment
			pool.Close()
		}()
		p := a.start(a.shell(fmt.Sprintf("exit %d", n)))
		<-closed
		if e := wait(t, p); e.Code != n {
			t.Errorf("exit %+v", e)
		}
		_ = p.Close() // always returns nil
		waitGone(t, p.Started().Supervisor.PID)
	}
}
