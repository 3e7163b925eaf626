package supervisor_test

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/testkit/testenv"
)

func TestAnAttemptIsTakenOverAndStoppedByAnotherProcess(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		p := a.start(stubborn(a.id, a.log))
		a.awaitLine("stubborn")
		if out := run(t, os.Args[0], "be", "stopper", a.dir); out != "alive <nil>\n" {
			t.Errorf("the other process said %q", out)
		}
		if e := wait(t, p); e.StopReason != "from afar" {
			t.Errorf("exit %+v", e)
		}
		a.allGone()
	})
}

func TestTwoAttachedClientsCanSendOrdersAndGetTheExit(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		spec := a.shell("read x; echo $x; read x; echo $x")
		spec.Open = true
		if err := a.start(spec).Close(); err != nil {
			t.Fatal(err)
		}
		one, state1 := a.attach()
		two, state2 := a.attach()
		if state1 != supervisor.Alive || state2 != supervisor.Alive || one.Started() != two.Started() {
			t.Fatalf("%s %+v, %s %+v", state1, one.Started(), state2, two.Started())
		}
		if err := one.Input([]byte("one\n")); err != nil {
			t.Fatal(err)
		}
		a.awaitLine("one")
		if err := two.Input([]byte("two\n")); err != nil {
			t.Fatal(err)
		}
		if e1, e2 := wait(t, one), wait(t, two); e1.Code != 0 || !e1.Ended.Equal(e2.Ended) || a.text() != "one\ntwo\n" {
			t.Errorf("exits %+v and %+v, it said %q", e1, e2, a.text())
		}
	})
}

func TestALaterAttachFindsTheExit(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		wait(t, a.start(a.shell("exit 9")))
		a.hasNoSupervisor()
		p, state := a.attach()
		if e := wait(t, p); state != supervisor.Exited || e.Code != 9 {
			t.Errorf("%s, exit %+v", state, e)
		}
	})
}

func TestFaultASupervisorWhoseSocketWasDeletedIsReachedAgain(t *testing.T) {
	testenv.Integration(t)
	for name, deletedFirst := range map[string]bool{"deleted before its starter has gone": true, "deleted afterwards": false} {
		t.Run(name, func(t *testing.T) {
			a := newAttempt(t)
			spec := a.shell("read x; exit 4")
			spec.Open = true
			p := a.start(spec)
			socket := filepath.Join(a.dir, "socket")
			testenv.Wait(t, "the socket", func() error { _, err := os.Lstat(socket); return err })
			steps := []func() error{func() error { return os.Remove(socket) }, p.Close}
			if !deletedFirst {
				steps[0], steps[1] = steps[1], steps[0]
			}
			for _, step := range steps {
				if err := step(); err != nil {
					t.Fatal(err)
				}
			}
			testenv.Wait(t, "a new socket", func() error { _, err := os.Lstat(socket); return err })
			next, state := a.attach()
			if state != supervisor.Alive {
				t.Fatalf("the attempt is %s", state)
			}
			if err := next.Input([]byte("go on\n")); err != nil {
				t.Fatal(err)
			}
			if e := wait(t, next); e.Code != 4 {
				t.Errorf("exit %+v", e)
			}
		})
	}
}

func TestAClientThatDoesNotReadBlocksNoOther(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		spec := a.shell("read x; exit 2")
		spec.Open = true
		p := a.start(spec)
		mute := connect(t, a.dir)
		for range 10000 { // get more replies than fit into the connection's buffer
			if _, err := mute.Write([]byte(`{"id":1,"do":"state"}` + "\n")); err != nil {
				break
			}
		}
		rude := connect(t, a.dir)
		if _, err := rude.Write([]byte(strings.Repeat("x", 2<<20))); err == nil {
			t.Log("the supervisor has read it all before it went")
		}
		other, _ := a.attach()
		if err := other.CloseInput(); err != nil {
			t.Fatal(err)
		}
		if e := wait(t, p); e.Code != 2 {
			t.Errorf("exit %+v", e)
		}
		wait(t, other)
	})
}

func TestAFolderMayHaveALongPath(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		a.dir = filepath.Join(a.dir, strings.Repeat("long/", 10), strings.Repeat("x", 200))
		if err := a.start(a.shell("exec sleep 1000")).Close(); err != nil {
			t.Fatal(err)
		}
		p, state := a.attach()
		if state != supervisor.Alive {
			t.Fatalf("it is %s", state)
		}
		if err := p.Stop("enough", false); err != nil {
			t.Fatal(err)
		}
		if e := wait(t, p); e.StopReason != "enough" {
			t.Errorf("exit %+v", e)
		}
	})
}

func TestASupervisorThatDoesNotAnswerIsUnknown(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		p := a.start(a.shell("exec sleep 1000"))
		pid := p.Started().Supervisor.PID
		defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
		testenv.Stop(t, pid)
		_, state, err := supervisor.Attach(t.Context(), a.dir, supervisor.Options{Patience: 200 * time.Millisecond})
		var unknown *supervisor.UnknownError
		if state != supervisor.Unknown || !errors.As(err, &unknown) || !unknown.Conflict() || !strings.Contains(err.Error(), "does not answer") {
			t.Errorf("%s, %v", state, err)
		}
		if got := a.carriers(); len(got) != 1 {
			t.Errorf("%v run", got)
		}
	})
}

// change sets a field of "starter" in the attempt's spec, which describes the process that started
// the attempt.
func (a *attempt) change(field string, value any) {
	a.t.Helper()
	said := a.lines("spec ")[0]
	spec := map[string]any{}
	if err := json.Unmarshal([]byte(said), &spec); err != nil {
		a.t.Fatal(err)
	}
	spec["starter"].(map[string]any)[field] = value
	data, err := json.Marshal(spec)
	if err != nil {
		a.t.Fatal(err)
	}
	a.rewrite("spec "+said, "spec "+string(data)+"\n")
}

// rewrite replaces a text in the attempt's lock file.
func (a *attempt) rewrite(old, text string) {
	a.t.Helper()
	data, err := os.ReadFile(a.lock())
	if err != nil || !strings.Contains(string(data), old) {
		a.t.Fatalf("the lock says %q, %v", data, err)
	}
	if err := os.WriteFile(a.lock(), []byte(strings.Replace(string(data), old, text, 1)), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

func TestAnAttemptOfAnotherMachineOrNamespaceIsUnknown(t *testing.T) {
	for field, want := range map[string]string{"host": "another machine", "space": "another pid namespace"} {
		eachWay(t, func(t *testing.T, a *attempt) {
			p := a.start(stubborn(a.id, a.log))
			a.awaitLine("stubborn") // from here on the process has GAFFER_ATTEMPT in its environment
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			a.kill(p)
			a.change(field, "elsewhere")
			_, state, err := supervisor.Attach(t.Context(), a.dir, self())
			if state != supervisor.Unknown || err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %s, %v", field, state, err)
			}
			if got := a.carriers(); len(got) != 1 {
				t.Errorf("%s: %v run", field, got)
			}
		})
	}
}

func TestNothingHasSurvivedAReboot(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		p := a.start(stubborn(a.id, a.log))
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		a.kill(p)
		a.change("boot", "an earlier one")
		if _, state := a.attach(); state != supervisor.Lost {
			t.Errorf("it is %s", state)
		}
	})
}

func TestAnExitRecordOfAnotherMachineIsAccepted(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		wait(t, a.start(a.shell("exit 8")))
		a.change("host", "elsewhere")
		p, state := a.attach()
		if e := wait(t, p); state != supervisor.Exited || e.Code != 8 {
			t.Errorf("%s, exit %+v", state, e)
		}
	})
}

func TestAnAttemptWhoseFilesWereDeletedIsNotReportedAsLost(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		p := a.start(stubborn(a.id, a.log))
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		a.kill(p)
		a.rewrite("spec "+a.lines("spec ")[0], "")
		if _, state, err := supervisor.Attach(t.Context(), a.dir, self()); state != supervisor.Unknown || err == nil {
			t.Errorf("without its id it is %s, %v", state, err)
		}
		opts := self()
		opts.Attempt = a.id
		if _, state, err := supervisor.Attach(t.Context(), a.dir, opts); state != supervisor.Lost || err != nil {
			t.Errorf("with its id it is %s, %v", state, err)
		}
		a.allGone()
	})
}

func TestAnAttemptWithAnIncompleteRecordIsLost(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		wait(t, a.start(a.shell("exit 8")))
		a.hasNoSupervisor()
		said := a.lines("exit ")[0]
		a.rewrite("exit "+said, "exit "+said[:len(said)/2])
		p, state := a.attach()
		if e := wait(t, p); state != supervisor.Lost || !a.recorded().Lost {
			t.Errorf("%s, exit %+v", state, e)
		}
	})
}

func TestCloseEndsAWait(t *testing.T) {
	eachWay(t, func(t *testing.T, a *attempt) {
		p := a.start(a.shell("exec sleep 1000"))
		other, _ := a.attach()
		if err := errors.Join(other.Close(), other.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := other.Wait(t.Context()); !errors.Is(err, supervisor.ErrClosed) {
			t.Errorf("wait: %v", err)
		}
		if err := other.Input([]byte("x")); !errors.Is(err, supervisor.ErrClosed) {
			t.Errorf("input: %v", err)
		}
		if s, err := p.Status(); err != nil || s.Doing != "running" {
			t.Errorf("status %+v, %v", s, err)
		}
	})
}

// connect opens a raw connection to the supervisor's socket, without the protocol.
func connect(t *testing.T, dir string) net.Conn {
	t.Helper()
	var conn net.Conn
	testenv.Wait(t, "the socket", func() (err error) {
		conn, err = net.Dial("unix", filepath.Join(dir, "socket"))
		return err
	})
	t.Cleanup(func() { _ = conn.Close() }) // ignore the error: nothing reads what was sent
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}
