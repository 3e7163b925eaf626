package supervisor_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/testkit/testenv"
)

// busy is a script that keeps writing to the log. It starts a process in another session that also
// keeps writing.
const busy = `setsid sh -c 'while :; do echo grandchild; sleep 0.005; done' & while :; do echo agent; sleep 0.005; done`

// states returns one letter for the kernel state of each live process that has the attempt's id in
// its environment. T is stopped. D waits in the kernel, for example for a newly forked child that
// is stopped.
func (a *attempt) states() (states string) {
	a.t.Helper()
	for _, pid := range a.carriers() {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		if s := stat[bytes.LastIndexByte(stat, ')')+2]; s != 'Z' && s != 'X' {
			states += string(s)
		}
	}
	return states
}

// isFrozen waits until the supervisor reports that all processes are frozen, and then
// checks their states several times.
func (a *attempt) isFrozen(p *supervisor.Process) {
	a.t.Helper()
	a.saysFrozen(p, true)
	a.assertStopped()
}

func (a *attempt) saysFrozen(p *supervisor.Process, want bool) {
	a.t.Helper()
	testenv.Wait(a.t, fmt.Sprintf("frozen = %v", want), func() error {
		s, err := p.Status()
		if err == nil && s.Frozen != want {
			err = fmt.Errorf("status %+v", s)
		}
		return err
	})
}

// assertStopped fails the test if a process of the attempt runs within a short time.
func (a *attempt) assertStopped() {
	a.t.Helper()
	if why := a.runningProcesses(); why != "" {
		a.t.Fatal(why)
	}
}

// awaitStopped waits until no process of the attempt runs.
func (a *attempt) awaitStopped() {
	a.t.Helper()
	testenv.WaitFor(a.t, "all of it to stand still", a.runningProcesses, func(what string) bool { return what == "" })
}

// runningProcesses describes the processes that ran within a short time, or returns "" if none ran.
func (a *attempt) runningProcesses() string {
	a.t.Helper()
	size := len(a.text())
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if states := a.states(); states == "" || strings.Trim(states, "TD") != "" {
			return fmt.Sprintf("its processes are %q", states)
		}
		if now := len(a.text()); now != size {
			return fmt.Sprintf("it has written %d bytes", now-size)
		}
	}
	return ""
}

// awaitProgress waits until both the agent and its grandchild have written more.
func (a *attempt) awaitProgress() {
	a.t.Helper()
	was := len(a.text())
	testenv.WaitFor(a.t, "more from the agent and its grandchild", func() string { return a.text()[was:] }, func(more string) bool {
		return strings.Contains(more, "agent") && strings.Contains(more, "grandchild")
	})
}

func TestAnAgentWithoutALeaseIsFrozenAndContinuesAfterARenewal(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		spec := a.shell(busy)
		spec.Until = time.Now().Add(time.Hour)
		p := a.start(spec)
		a.awaitProgress()
		if err := p.Extend(time.Now().Add(100 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		a.isFrozen(p)
		if err := p.Extend(time.Now().Add(-time.Second)); err != nil {
			t.Fatal(err)
		}
		a.isFrozen(p)
		if err := p.Extend(time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		a.awaitProgress()
		if s, err := p.Status(); err != nil || s.Frozen || s.Doing != "running" {
			t.Errorf("status is %+v, %v", s, err)
		}
		if err := p.Extend(time.Now().Add(10 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		a.isFrozen(p)
		if err := p.Extend(time.Time{}); err != nil {
			t.Fatal(err)
		}
		a.awaitProgress()
		if err := p.Stop("enough", false); err != nil {
			t.Fatal(err)
		}
		e := wait(t, p)
		a.allGone()
		if e.StopReason != "enough" || e.Signal != "SIGINT" {
			t.Errorf("exit %+v", e)
		}
	})
}

func TestAFrozenAgentIsKilledWithoutRunningAgain(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		spec := a.shell("trap 'echo woken' INT TERM CONT; " + busy)
		spec.Interrupt, spec.Terminate = time.Hour, time.Hour
		p := a.start(spec)
		a.awaitProgress()
		if err := p.Extend(time.Now()); err != nil {
			t.Fatal(err)
		}
		a.isFrozen(p)
		size := len(a.text())
		if err := p.Stop("cancelled", false); err != nil {
			t.Fatal(err)
		}
		e := wait(t, p)
		a.allGone()
		if e.StopReason != "cancelled" || e.Signal != "SIGKILL" || len(e.Left) > 0 || len(a.text()) != size {
			t.Errorf("exit %+v, and it said %q", e, a.text()[size:])
		}
	})
}

func TestAnAgentThatIsBeingStoppedWhenItsTimeIsOverIsKilled(t *testing.T) {
	a := newAttempt(t)
	spec := stubborn(a.id, a.log)
	spec.Interrupt, spec.Terminate = time.Hour, time.Hour
	p := a.start(spec)
	a.awaitLine("stubborn")
	if err := p.Stop("slowly", false); err != nil {
		t.Fatal(err)
	}
	if err := p.Extend(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if e := wait(t, p); e.StopReason != "slowly" || e.Signal != "SIGKILL" {
		t.Errorf("exit %+v", e)
	}
}

func TestAFrozenAgentPastItsDeadlineIsKilled(t *testing.T) {
	testenv.Integration(t)
	a := newAttempt(t)
	spec := a.shell(busy)
	spec.Until, spec.Deadline = time.Now().Add(100*time.Millisecond), time.Now().Add(5*time.Second)
	p := a.start(spec)
	if e := wait(t, p); e.StopReason != supervisor.Timeout || e.Signal != "SIGKILL" {
		t.Errorf("exit %+v", e)
	}
	a.allGone()
}

func TestAnAgentThatStartsProcessesAllTheTimeIsFrozen(t *testing.T) {
	testenv.Integration(t)
	again := filepath.Join(t.TempDir(), "again")
	if err := os.WriteFile(again, []byte("#!/bin/sh\necho again\nexec \"$0\" &\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string]string{
		"many":                          "while :; do sleep 0.02 & done",
		"many in sessions of their own": "while :; do setsid sleep 0.02 & done",
		"one that starts the next":      again + " & sleep 1000",
		"one in a session of its own":   "setsid " + again + " & sleep 1000",
	} {
		t.Run(name, func(t *testing.T) {
			a := newAttempt(t)
			spec := a.shell("ulimit -u 4000; echo begun; " + script)
			spec.Until = time.Now().Add(300 * time.Millisecond)
			p := a.start(spec)
			a.isFrozen(p)
			if err := p.Stop("enough", false); err != nil {
				t.Fatal(err)
			}
			wait(t, p)
			a.allGone()
		})
	}
}

func TestAProcessThatWasStoppedBeforeTheFreezeStaysStopped(t *testing.T) {
	a := newAttempt(t)
	p := a.start(a.shell("sh -c 'echo child $$; kill -STOP $$; echo woken' & while :; do echo agent; sleep 0.01; done"))
	a.awaitLine("child")
	testenv.WaitFor(t, "a process that is stopped", a.states, func(s string) bool { return strings.Contains(s, "T") })
	if err := p.Extend(time.Now()); err != nil {
		t.Fatal(err)
	}
	a.isFrozen(p)
	if err := p.Extend(time.Time{}); err != nil {
		t.Fatal(err)
	}
	was := len(a.text())
	testenv.WaitFor(t, "more from the agent", func() string { return a.text()[was:] }, func(more string) bool { return strings.Count(more, "agent") > 10 })
	if strings.Contains(a.text(), "woken") {
		t.Error("it goes on, although its own had stopped it")
	}
}

func TestAProcessThatAnotherProgramResumesIsFrozenAgain(t *testing.T) {
	testenv.Integration(t)
	a := newAttempt(t)
	spec := a.shell(busy)
	spec.Until = time.Now()
	p := a.start(spec)
	a.isFrozen(p)
	size := len(a.text())
	testenv.Wait(t, "output after SIGCONT", func() error { // the agent may be frozen again before it has written anything
		if err := syscall.Kill(-p.Started().Agent.PID, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		if now := len(a.text()); now <= size {
			return fmt.Errorf("%d bytes, as before; its processes are %q", now, a.states())
		}
		return nil
	})
	a.awaitStopped()
}

// A process that is about to start another one may be in uninterruptible sleep (D). The process that
// it starts runs, though every process that was found has got its signal.
func TestAProcessThatSleepsInTheKernelIsNotTakenForStoppedAtOnce(t *testing.T) {
	// The child of vfork stops itself, so its parent stays in the kernel.
	const inKernel = `import ctypes, os
os.write(1, b"x")
libc = ctypes.CDLL(None)
if libc.syscall(56, 0x4111, 0, 0, 0, 0) == 0: # clone with CLONE_VM, CLONE_VFORK and SIGCHLD
    os.kill(os.getpid(), 19)
`
	if runtime.GOARCH != "amd64" {
		t.Log("the numbers of system calls are those of amd64")
		return
	}
	cmd := exec.Command(os.Args[0], "be", "freezer", "python3", "-c", inKernel)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, _ := cmd.Output() // it kills itself with its children
	var passes int
	if _, err := fmt.Sscan(string(out), &passes); err != nil || passes < 8 {
		t.Errorf("after %d passes all of it is taken for stopped, %q, %v", passes, out, err)
	}
}

func TestAnAgentWhoseGafferIsDeadIsFrozenAndCanBeAdopted(t *testing.T) {
	testenv.Integration(t)
	a := newAttempt(t)
	starter := exec.Command(os.Args[0], "be", "leaser", a.dir, a.id, a.log, busy)
	out, err := starter.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := starter.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := starter.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if line, _ := lines.ReadString('\n'); line != "started <nil>\n" {
		t.Errorf("the starter said %q", line)
	}
	a.awaitProgress()
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if line, _ := lines.ReadString('\n'); line != "extended <nil>\n" {
		t.Errorf("the starter said %q", line)
	}
	_ = starter.Process.Kill() // safe: the pid stays valid until this process has waited for it
	_ = starter.Wait()
	a.awaitStopped()
	p, state := a.attach()
	t.Cleanup(func() { a.end(p) })
	if state != supervisor.Alive {
		t.Fatalf("it is %s", state)
	}
	a.isFrozen(p)
	if err := p.Extend(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	a.awaitProgress()
}

func TestAFrozenAgentOfAKilledSupervisorIsLostWithoutLeftovers(t *testing.T) {
	testenv.Integration(t)
	a := newAttempt(t)
	spec := a.shell("trap '' HUP TERM; " + busy)
	spec.Until = time.Now().Add(300 * time.Millisecond)
	p := a.start(spec)
	a.isFrozen(p)
	size := len(a.text())
	if err := syscall.Kill(p.Started().Supervisor.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	e := wait(t, p)
	a.allGone()
	if !e.Lost || !strings.Contains(e.Failed, "frozen") || len(a.text()) != size {
		t.Errorf("exit %+v, and it said %q", e, a.text()[size:])
	}
}
