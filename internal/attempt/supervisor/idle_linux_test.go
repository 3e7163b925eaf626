package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/testkit/testenv"
)

func TestAnIdleSupervisorExitsAndIsReplaced(t *testing.T) {
	impatient := supervisor.Options{Command: []string{os.Args[0], "impatient"}}
	for name, of := range map[string]struct {
		opts supervisor.Options
		end  func(pid int) error
	}{
		"when it is terminated":  {self(), func(pid int) error { return syscall.Kill(pid, syscall.SIGTERM) }},
		"when it is interrupted": {self(), func(pid int) error { return syscall.Kill(pid, syscall.SIGINT) }},
		"when it is killed":      {self(), func(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }},
		"when it is idle":        {impatient, func(int) error { return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := newPool(t, of.opts, 1)
			pid, _ := runs(t, pool, "true")
			if err := of.end(pid); err != nil {
				t.Fatal(err)
			}
			waitGone(t, pid)
			if next, e := runs(t, pool, "exit 3"); next == pid || e.Code != 3 {
				t.Errorf("supervisor %d after %d, exit %+v", next, pid, e)
			}
		})
	}
}

func TestAnIdleSupervisorIgnoresAHangup(t *testing.T) {
	pool := newPool(t, self(), 1)
	pid, _ := runs(t, pool, "true")
	if err := syscall.Kill(pid, syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if next, e := runs(t, pool, "exit 3"); next != pid || e.Code != 3 || e.StopReason != "" {
		t.Errorf("supervisor %d after %d, exit %+v", next, pid, e)
	}
}

func TestACancelledStartDoesNotWaitForAStoppedSupervisor(t *testing.T) {
	pool := newPool(t, self(), 1)
	pid, _ := runs(t, pool, "true")
	testenv.Stop(t, pid)
	a := pooled(t, pool)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := a.try(ctx, a.shell("echo ran")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if _, state := a.attach(); state != supervisor.Lost || !isGone(pid) {
		t.Errorf("it is %s", state)
	}
	if _, err := os.Stat(a.log); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the log: %v", err)
	}
}

func TestASupervisorIsNotUsedAgainAfterAProblem(t *testing.T) {
	testenv.Integration(t)
	for name, c := range map[string]struct {
		script string
		do     func(a *attempt, p *supervisor.Process)
	}{
		"not recorded": {"mv $FOLDER/lock $FOLDER/elsewhere", func(*attempt, *supervisor.Process) {}},
		"told to end": {"exec sleep 1000", func(a *attempt, p *supervisor.Process) {
			run(a.t, "kill", "-TERM", fmt.Sprint(p.Started().Supervisor.PID))
		}},
		"somebody is connected": {"read x", func(a *attempt, p *supervisor.Process) {
			other, _ := a.attach()
			if err := other.CloseInput(); err != nil {
				a.t.Error(err)
			}
		}},
		"killed": {"exec sleep 1000", func(a *attempt, p *supervisor.Process) { a.kill(p) }},
	} {
		t.Run(name, func(t *testing.T) {
			pool := newPool(t, self(), 1)
			a := pooled(t, pool)
			spec := a.shell(c.script)
			spec.Env, spec.Open = append(os.Environ(), "FOLDER="+a.dir), true
			p := a.start(spec)
			c.do(a, p)
			wait(t, p)
			pid := p.Started().Supervisor.PID
			if next, e := runs(t, pool, "exit 3"); next == pid || e.Code != 3 {
				t.Errorf("supervisor %d after %d, exit %+v", next, pid, e)
			}
			waitGone(t, pid)
		})
	}
}

func TestASupervisorThatCouldNotStartAnAgentIsFree(t *testing.T) {
	a := newReused(t)
	spec := a.shell("true")
	spec.Argv = []string{"/no/such/program"}
	var failed *supervisor.FailedError
	if _, err := a.try(t.Context(), spec); !errors.As(err, &failed) {
		t.Fatal(err)
	}
	if pid, e := runs(t, a.pool, "exit 3"); pid != a.reuses || e.Code != 3 {
		t.Errorf("supervisor %d after %d, exit %+v", pid, a.reuses, e)
	}
}
