package supervisor_test

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/testkit/testenv"
)

// terminal imitates a terminal: it runs a program that hosts a supervisor, and records the errors
// given to Failed.
type terminal struct {
	t      *testing.T
	cmd    *exec.Cmd
	failed []string
}

func (n *terminal) in() supervisor.Terminal {
	return supervisor.Terminal{
		Open: func(_ context.Context, socket string) error {
			n.cmd = exec.Command(os.Args[0], "be", "host", socket)
			n.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			return n.cmd.Start()
		},
		Failed: func(err error) { n.failed = append(n.failed, err.Error()) },
	}
}

// over waits until the terminal's program has exited.
func (n *terminal) over() {
	n.t.Helper()
	done := make(chan error, 1)
	go func() { done <- n.cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(testenv.Patience):
		n.t.Errorf("the terminal's program is still there: %v", n.cmd.Process.Kill())
		<-done
	}
}

func startIn(t *testing.T, in supervisor.Terminal, patience time.Duration, spec func(*attempt) supervisor.Spec) (*attempt, *supervisor.Process) {
	t.Helper()
	opts := self()
	opts.Patience = patience
	a := pooled(t, newPool(t, opts, 1))
	p, err := a.pool.StartIn(t.Context(), a.dir, spec(a), in)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.end(p) })
	return a, p
}

func TestAnAgentInATerminalIsRecorded(t *testing.T) {
	n := &terminal{t: t}
	a, p := startIn(t, n.in(), 0, func(a *attempt) supervisor.Spec {
		s := a.shell("cat; echo $X; exit 3")
		s.Input, s.Env = []byte("given\n"), append(os.Environ(), "X=from the starter")
		return s
	})
	if e := wait(t, p); e.Code != 3 || e.Lost || a.text() != "given\nfrom the starter\n" || a.recorded().Code != 3 {
		t.Errorf("exit %+v, it said %q", e, a.text())
	}
	n.over()
	if len(n.failed) > 0 {
		t.Errorf("told %q", n.failed)
	}
	if pid, _ := runs(t, a.pool, "true"); pid == p.Started().Supervisor.PID {
		t.Error("a terminal's supervisor was used again")
	}
}

func TestAnAgentContinuesWhenItsTerminalIsKilled(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGKILL} {
		n := &terminal{t: t}
		a, p := startIn(t, n.in(), 0, func(a *attempt) supervisor.Spec {
			s := a.shell("echo ready; read x; echo got $x")
			s.Open = true
			return s
		})
		a.awaitLine("ready")
		if err := n.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		n.over()
		if err := p.Input([]byte("more\n")); err != nil {
			t.Fatal(err)
		}
		if e := wait(t, p); e.Code != 0 || a.text() != "ready\ngot more\n" {
			t.Errorf("after %s: exit %+v, it said %q", sig, e, a.text())
		}
	}
}

func TestASupervisorKilledInATerminalIsLostWithItsAgent(t *testing.T) {
	testenv.Integration(t)
	n := &terminal{t: t}
	a, p := startIn(t, n.in(), 0, func(a *attempt) supervisor.Spec { return stubborn(a.id, a.log) })
	a.awaitLine("stubborn")
	if err := syscall.Kill(p.Started().Supervisor.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if e := wait(t, p); !e.Lost {
		t.Errorf("exit %+v", e)
	}
	a.allGone()
	n.over()
}

func TestAnAgentRunsWithoutATerminalIfItCannotBeOpened(t *testing.T) {
	no := errors.New("no tmux here")
	for name, c := range map[string]struct {
		open func(ctx context.Context, socket string) error
		want string
	}{
		"refused":           {func(context.Context, string) error { return no }, "no tmux here"},
		"nobody comes":      {func(context.Context, string) error { return nil }, "no supervisor came within"},
		"a stranger comes":  {func(_ context.Context, socket string) error { return call(socket, "who\n") }, "says that it is"},
		"one without words": {func(_ context.Context, socket string) error { return call(socket, "") }, "did not say who it is"},
		"a dead one":        {func(_ context.Context, socket string) error { return call(socket, "4194303\n") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := &terminal{t: t}
			in := n.in()
			in.Open = c.open
			patience := time.Minute
			if name == "nobody comes" {
				patience = 300 * time.Millisecond
			}
			a, p := startIn(t, in, patience, func(a *attempt) supervisor.Spec { return a.shell("echo ran") })
			if e := wait(t, p); e.Code != 0 || a.text() != "ran\n" {
				t.Errorf("exit %+v, it said %q", e, a.text())
			}
			if len(n.failed) != 1 || !strings.Contains(n.failed[0], c.want) {
				t.Errorf("told %q", n.failed)
			}
		})
	}
}

// call connects to the socket, sends words and disconnects.
func call(socket, words string) error {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	if _, err := conn.Write([]byte(words)); err != nil {
		return err
	}
	return conn.Close()
}

func TestATerminalThatConnectsTooLateIsRefused(t *testing.T) {
	var late string
	n := &terminal{t: t}
	in := n.in()
	in.Open = func(_ context.Context, socket string) error { late = socket; return errors.New("slow") }
	_, p := startIn(t, in, 0, func(a *attempt) supervisor.Spec { return a.shell("true") })
	wait(t, p)
	if _, err := supervisor.Host(late, self().Command); err == nil {
		t.Error("a supervisor was started for nobody")
	}
}
