package supervisor_test

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/testkit/testenv"
)

func TestAFrozenAgentWhoseWorkerNeverReturnsEndsWithItsSupervisor(t *testing.T) {
	testenv.Integration(t)
	eachWay(t, func(t *testing.T, a *attempt) {
		spec := a.shell("trap 'echo woken' INT TERM HUP CONT; " + busy)
		spec.Abandon = time.Millisecond
		p := a.start(spec)
		a.awaitProgress()
		if err := p.Extend(time.Now()); err != nil {
			t.Fatal(err)
		}
		for range 10 { // a connected client keeps the agent frozen for longer than Abandon
			a.isFrozen(p)
		}
		if err := p.Extend(time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		a.awaitProgress()
		if err := p.Extend(time.Now()); err != nil {
			t.Fatal(err)
		}
		a.isFrozen(p)
		size := len(a.text())
		pid := p.Started().Supervisor.PID
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		testenv.WaitFor(t, "an exit on record", func() []string { return a.lines("exit ") }, func(l []string) bool { return len(l) > 0 })
		a.allGone()
		if e := a.recorded(); e.StopReason != supervisor.Abandoned || e.Signal != "SIGKILL" || e.Lost || len(e.Left) > 0 || len(a.text()) != size {
			t.Errorf("exit %+v, and it said %q", e, a.text()[size:])
		}
		if a.reuses == 0 {
			testenv.WaitFor(t, "the end of the supervisor", func() bool { return hasEnded(pid) }, func(ended bool) bool { return ended })
		}
	})
}

// hasEnded reports whether a process is gone, or is a zombie child of this process.
func hasEnded(pid int) bool {
	var who syscall.WaitStatus
	reaped, _ := syscall.Wait4(pid, &who, syscall.WNOHANG, nil)
	return reaped == pid || syscall.Kill(pid, 0) != nil
}

func TestAFrozenAgentWhoseGafferWasKilledEndsInTime(t *testing.T) {
	testenv.Integration(t)
	a := newAttempt(t)
	starter := exec.Command(os.Args[0], "be", "leaser", a.dir, a.id, a.log, busy, "1s")
	in, err := starter.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := starter.Start(); err != nil {
		t.Fatal(err)
	}
	testenv.WaitFor(t, "an agent", a.carriers, func(pids []int) bool { return len(pids) > 0 })
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	testenv.WaitFor(t, "a frozen agent", func() []string { return a.lines("frozen ") }, func(l []string) bool { return len(l) > 0 })
	_ = starter.Process.Kill() // safe: the pid stays valid until this process has waited for it
	_ = starter.Wait()
	testenv.WaitFor(t, "the end of all processes", func() string { return fmt.Sprint(a.carriers(), a.supervisors()) }, func(left string) bool { return left == "[] []" })
	if p, state := a.attach(); state != supervisor.Exited || wait(t, p).StopReason != supervisor.Abandoned {
		t.Errorf("it is %s, and ended as %+v", state, a.recorded())
	}
}
