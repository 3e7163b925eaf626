package supervisor_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/testkit/testenv"
)

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
	return string(out)
}

// supervisors lists the supervisor processes of the attempt.
func (a *attempt) supervisors() (pids []string) {
	a.t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		a.t.Fatal(err)
	}
	for _, file := range files {
		if line, _ := os.ReadFile(file); strings.HasSuffix(string(line), "\x00supervise\x00"+a.dir+"\x00") {
			pids = append(pids, strings.Split(file, "/")[2])
		}
	}
	return pids
}

// hasNoSupervisor waits until the attempt has no supervisor process any more.
func (a *attempt) hasNoSupervisor() {
	a.t.Helper()
	testenv.WaitFor(a.t, "the end of the supervisor", a.supervisors, func(pids []string) bool { return len(pids) == 0 })
}

func TestWhereverItsStarterDiesThereIsAtMostOneAgent(t *testing.T) {
	testenv.Integration(t)
	seen := map[supervisor.State]int{}
	for range 40 {
		a := newAttempt(t)
		delay := time.Duration(rand.IntN(2000)) * time.Microsecond
		a.startAndDie(delay)
		p, state := a.attach()
		seen[state]++
		switch state {
		case supervisor.Alive:
			a.awaitLine("stubborn") // from here on the process has GAFFER_ATTEMPT in its environment
			if got := a.carriers(); len(got) != 1 || p.Started().Agent.PID != got[0] {
				t.Errorf("starter killed after %s: it is alive, and %v run", delay, got)
			}
			if err := p.Stop("the test is over", true); err != nil {
				t.Fatal(err)
			}
			wait(t, p)
		case supervisor.Lost:
			a.hasNoSupervisor()
		default:
			t.Errorf("starter killed after %s: it is %s", delay, state)
		}
		a.allGone()
		if data, _ := os.ReadFile(a.log); strings.Count(string(data), "stubborn") > 1 {
			t.Errorf("starter killed after %s: it ran twice: %q", delay, data)
		}
		var used *supervisor.UsedError
		if _, err := supervisor.Start(t.Context(), a.dir, a.shell("true"), self()); !errors.As(err, &used) {
			t.Errorf("starter killed after %s: started again: %v", delay, err)
		}
	}
	t.Log(seen)
}

// startAndDie starts the attempt from a process that is killed after the delay.
func (a *attempt) startAndDie(delay time.Duration) {
	a.t.Helper()
	starter := exec.Command(os.Args[0], "be", "starter", a.dir, a.id, a.log)
	out, err := starter.StdoutPipe()
	if err != nil {
		a.t.Fatal(err)
	}
	if err := starter.Start(); err != nil {
		a.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if line != "ready\n" {
		a.t.Errorf("the starter said %q, %v", line, err)
	}
	time.Sleep(delay) // makes the kill come at a random moment
	if err := starter.Process.Kill(); err != nil {
		a.t.Error(err)
	}
	_ = starter.Wait() // returns an error, because the starter was killed
}

func TestTheAttemptOfAKilledSupervisorIsLostWithoutLeftovers(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		spec := stubborn(a.id, a.log)
		spec.Argv = append(spec.Argv, "grandchild")
		p := a.start(spec)
		a.awaitLineTwice("stubborn")
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		a.kill(p)
		if got := len(a.carriers()); got != 2 {
			t.Fatalf("%d processes are left", got)
		}
		found, state := a.attach()
		a.allGone()
		if e := wait(t, found); state != supervisor.Lost || !e.Lost || e.Failed != "the supervisor was killed" || e.Code != -1 {
			t.Errorf("%s, exit %+v", state, e)
		}
		if _, state := a.attach(); state != supervisor.Lost {
			t.Errorf("the second time it is %s", state)
		}
	})
}

func TestWhereverASupervisorIsKilledNothingIsLeft(t *testing.T) {
	testenv.Integration(t)
	seen := map[string]int{}
	var all []*attempt
	for range 40 {
		a := newAttempt(t)
		all = append(all, a)
		delay := time.Duration(rand.IntN(6000)) * time.Microsecond
		opts := supervisor.Options{Command: []string{os.Args[0], "mortal", delay.String()}}
		p, err := supervisor.Start(t.Context(), a.dir, a.shell("echo ran; setsid sleep 1000 & exec sleep 1000"), opts)
		if err == nil {
			seen["while it ran"]++
			if e := wait(t, p); !e.Lost {
				t.Errorf("killed after %s: exit %+v", delay, e)
			}
			_ = p.Close() // always returns nil
		} else {
			seen["before"]++
		}
		a.allGone()
		if _, state := a.attach(); state != supervisor.Lost {
			t.Errorf("killed after %s: it is %s", delay, state)
		}
	}
	for _, a := range all {
		a.allGone()
		if data, _ := os.ReadFile(a.log); strings.Count(string(data), "ran") > 1 {
			t.Errorf("it ran twice: %q", data)
		}
	}
	t.Log(seen)
}

// kill kills the supervisor and waits until all its threads are gone, because the first thread may
// end before the others.
func (a *attempt) kill(p *supervisor.Process) {
	a.t.Helper()
	if err := syscall.Kill(p.Started().Supervisor.PID, syscall.SIGKILL); err != nil {
		a.t.Fatal(err)
	}
	a.becomesFree()
}

func TestWaitReportsThatTheSupervisorWasKilled(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		p := a.start(stubborn(a.id, a.log))
		other, _ := a.attach()
		a.awaitLine("stubborn")
		a.kill(p)
		e := wait(t, p)
		a.allGone()
		if !e.Lost || e.Failed != "the supervisor was killed" {
			t.Errorf("exit %+v", e)
		}
		if e := wait(t, other); !e.Lost {
			t.Errorf("the other's exit %+v", e)
		}
	})
}

func TestTheRecordHasTheCrashReportOfTheSupervisor(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		p := a.start(stubborn(a.id, a.log))
		a.awaitLine("stubborn")
		if err := syscall.Kill(p.Started().Supervisor.PID, syscall.SIGQUIT); err != nil {
			t.Fatal(err)
		}
		if e := wait(t, p); !e.Lost || !strings.HasPrefix(e.Failed, "the supervisor died: SIGQUIT") {
			t.Errorf("exit %+v", e)
		}
		a.allGone()
	})
}

func TestAnAgentInsideAnAgentEndsWithIt(t *testing.T) {
	eachWay(t, func(t *testing.T, outer *attempt) {
		inner := newAttempt(t)
		spec := stubborn(outer.id, outer.log)
		spec.Argv = []string{os.Args[0], "be", "starter", inner.dir, inner.id, inner.log}
		p := outer.start(spec)
		outer.awaitLine("started")
		inner.awaitLine("stubborn")
		outer.kill(p)
		if e := wait(t, p); !e.Lost {
			t.Errorf("exit %+v", e)
		}
		outer.allGone()
		inner.allGone()
	})
}

func TestAnAttemptThatWasNeverStartedStaysLost(t *testing.T) {
	a := newAttempt(t)
	p, state := a.attach()
	if e := wait(t, p); state != supervisor.Lost || e.Failed != "the supervisor was never started" {
		t.Errorf("%s, exit %+v", state, e)
	}
	var used *supervisor.UsedError
	if _, err := supervisor.Start(t.Context(), a.dir, a.shell("echo late"), self()); !errors.As(err, &used) {
		t.Errorf("it was started: %v", err)
	}
	if out, err := exec.Command(os.Args[0], "supervise", a.dir).CombinedOutput(); err == nil {
		t.Errorf("a supervisor has started: %s", out)
	}
}

func TestASupervisorCanBeStartedWithoutStartOnce(t *testing.T) {
	a := newAttempt(t)
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`{"attempt":%q,"argv":["sh","-c","echo ran; read end"],"dir":"/","log":%q,"open":true,"later":1}`, a.id, a.log)
	if err := os.WriteFile(filepath.Join(a.dir, "spec.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var commands [3]*exec.Cmd
	for i := range commands {
		commands[i] = exec.Command(os.Args[0], "supervise", a.dir)
		if err := commands[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	a.awaitLine("ran")
	p, state := a.attach()
	if state != supervisor.Alive {
		t.Errorf("it is %s", state)
	}
	if err := p.CloseInput(); err != nil {
		t.Fatal(err)
	}
	if e := wait(t, p); e.Code != 1 || e.Lost {
		t.Errorf("exit %+v", e)
	}
	succeeded := 0
	for _, c := range commands {
		if c.Wait() == nil {
			succeeded++
		}
	}
	if succeeded != 1 || a.text() != "ran\n" {
		t.Errorf("%d supervisors succeeded, the agents said %q", succeeded, a.text())
	}
}

func TestTheFolderOfAKilledSupervisorIsNotUsedAgain(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		p := a.start(stubborn(a.id, a.log))
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		a.kill(p)
		if out, err := exec.Command(os.Args[0], "supervise", a.dir).CombinedOutput(); err == nil || !strings.Contains(string(out), "started in this folder before") {
			t.Errorf("a second supervisor: %v: %s", err, out)
		}
		if got := a.carriers(); len(got) != 1 {
			t.Errorf("%v run", got)
		}
	})
}

func TestACancelledStartLeavesNothing(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := a.try(ctx, stubborn(a.id, a.log))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		a.allGone()
		if _, state := a.attach(); state != supervisor.Lost {
			t.Errorf("it is %s", state)
		}
	})
}
