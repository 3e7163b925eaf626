package supervisor

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"gaffer/internal/testkit/testenv"
)

// idle starts a supervisor without an attempt, and prepares an attempt for it.
func idle(t *testing.T) (*child, *preparedAttempt) {
	t.Helper()
	dir := t.TempDir()
	n, err := prepare(filepath.Join(dir, "attempt"), Spec{Attempt: dir, Argv: []string{"/bin/true"}, Log: filepath.Join(dir, "log")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.lock.Close() }) // fails if the lock is already closed
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	c, err := NewPool(Options{}, 0).spawn([]string{os.Args[0], "supervise", fromPool}, null)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.kill)
	return c, n
}

// dies imitates the death of this process: it sends only a part of the handover's line, closes all
// connections, and waits until the supervisor has released the lock.
func dies(t *testing.T, c *child, n *preparedAttempt, line string) {
	t.Helper()
	ours, theirs, err := socketPair()
	if err != nil {
		t.Fatal(err)
	}
	rights := syscall.UnixRights(int(n.lock.Fd()), int(theirs.Fd()))
	if _, _, err := c.control.WriteMsgUnix([]byte{'\n'}, rights, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := ours.WriteString(line); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(theirs.Close(), n.lock.Close(), ours.Close(), c.control.Close()); err != nil {
		t.Fatal(err)
	}
	c.wait()
	lock, err := n.folder.openLock(0)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	takes(t, lock)
}

// takes waits until this process can acquire the lock.
func takes(t *testing.T, lock *os.File) {
	t.Helper()
	testenv.Wait(t, "a free lock", func() error {
		held, err := tryLock(lock)
		if err != nil || held {
			return err
		}
		is, err := readLock(lock)
		return errors.Join(fmt.Errorf("it is held and says %+v", is), err)
	})
}

func TestAStarterThatDiesDuringAHandoverLeavesAtMostOneAgent(t *testing.T) {
	for name, c := range map[string]struct {
		line func(dir string) string
		ran  bool
	}{
		"before a word":     {func(string) string { return "" }, false},
		"in the order":      {func(string) string { return `{"dir":"L3Rt` }, false},
		"before its end":    {func(dir string) string { return lineFor(t, dir)[:len(lineFor(t, dir))-1] }, false},
		"after it":          {func(dir string) string { return lineFor(t, dir) }, true},
		"after nonsense":    {func(string) string { return "nonsense\n" }, false},
		"after another dir": {func(string) string { return lineFor(t, "/no/such/folder") }, false},
		"after a wrong dir": {func(string) string { return lineFor(t, "/") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			supervisor, n := idle(t)
			dies(t, supervisor, n, c.line(string(n.folder)))
			is, err := n.folder.readLockRecord()
			if ran := is.exit != nil && is.exit.Code == 0; ran != c.ran || err != nil {
				t.Errorf("exit %+v, %v", is.exit, err)
			}
			p, state, err := Attach(t.Context(), string(n.folder), Options{})
			if err != nil || (state == Exited) != c.ran || (state == Lost) == c.ran {
				t.Fatalf("it is %s, %v", state, err)
			}
			if e, err := p.Wait(t.Context()); err != nil || e.NeverStarted == c.ran {
				t.Errorf("exit %+v, %v", e, err)
			}
		})
	}
}

func lineFor(t *testing.T, dir string) string {
	t.Helper()
	a, b := net.Pipe()
	defer a.Close()
	go func() {
		_ = newLink(b).send(handover{Dir: []byte(dir), Env: packEnv([]string{"A=1"})}) // ignore the error: the test checks what arrives
		_ = b.Close()
	}()
	data := make([]byte, 1000)
	size, err := a.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	return string(data[:size])
}

func TestALockInTransitIsReleasedWhenBothEndsAreClosed(t *testing.T) {
	c, n := idle(t)
	if err := c.process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(c.process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("it has not stopped: %v", err)
	}
	if l, err := handOver(c.control, n); err != nil {
		t.Fatal(err)
	} else {
		l.close()
	}
	if err := n.lock.Close(); err != nil {
		t.Fatal(err)
	}
	lock, err := n.folder.openLock(0)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if held, err := tryLock(lock); held || err != nil {
		t.Fatalf("the lock is free while it is under way: %v", err)
	}
	c.kill()
	takes(t, lock)
	if is, err := readLock(lock); is.used() || is.stderr != "" || err != nil {
		t.Errorf("the lock says %+v, %v", is, err)
	}
}

func TestAMessageWithoutItsFilesEndsASupervisor(t *testing.T) {
	c, n := idle(t)
	if _, err := c.control.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	c.wait()
	if is, err := readLock(n.lock); is.used() || is.stderr != "" || err != nil {
		t.Errorf("the lock says %+v, %v", is, err)
	}
}

func TestAnEnvironmentIsHandedOverByteForByte(t *testing.T) {
	for _, env := range [][]string{nil, {""}, {"A=1"}, {"", "A=\xff\n", "", "B="}, {"A=1", "A=2"}} {
		if got := unpackEnv(packEnv(env)); !slices.Equal(got, env) {
			t.Errorf("%q came as %q", env, got)
		}
	}
}

func TestASignalBeforeAnAttemptEndsTheSupervisor(t *testing.T) {
	for range 100 {
		if next(syscall.SIGHUP) == nil {
			t.Fatal("a hangup has ended it")
		}
		if next(syscall.SIGHUP, syscall.SIGTERM) != nil {
			t.Fatal("it has begun an attempt that the signal would end")
		}
	}
}

// next returns what nextAttempt returns if an attempt and the signals arrive at the same time.
func next(signals ...os.Signal) *receivedAttempt {
	turns, ends := make(chan *receivedAttempt, 1), make(chan os.Signal, len(signals))
	turns <- &receivedAttempt{}
	for _, s := range signals {
		ends <- s
	}
	return nextAttempt(turns, ends)
}
