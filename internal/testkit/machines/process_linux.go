package machines

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Process is a program that runs on a machine.
type Process struct {
	t     testing.TB
	on    *Machine
	outer *exec.Cmd // the process nsenter, whose child is the program
	inner *os.Process
	ended chan struct{}
	err   error // result of the program; set before ended is closed
}

// Start starts a program on the machine. The program's output is appended to a file. If the test
// fails, the test log shows the end of that file.
func (m *Machine) Start(env []string, dir string, argv ...string) *Process {
	t := m.network.t
	t.Helper()
	p := &Process{t: t, on: m, ended: make(chan struct{})}
	log, err := os.OpenFile(m.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	words := m.inside(append([]string{"/bin/sh", "-c", `cd "$1" && shift && exec "$@"`, "sh", dir}, argv...)...)
	p.outer = exec.Command(words[0], words[1:]...)
	p.outer.Env, p.outer.Stdout, p.outer.Stderr = env, log, log
	err = p.outer.Start()
	_ = log.Close() // ignore the error: the program has its own descriptor of the file
	if err != nil {
		t.Fatalf("%s: %v", m.Name, err)
	}
	go func() {
		p.err = p.outer.Wait()
		close(p.ended)
	}()
	m.all = append(m.all, p)
	p.inner = p.child()
	return p
}

// child returns the process of the program, which is the child of the process nsenter. It returns
// nil if the program has already ended.
func (p *Process) child() *os.Process {
	p.t.Helper()
	pid := p.outer.Process.Pid
	var found *os.Process
	Eventually(p.t, 20*time.Second, p.on.Name+" begins", func() bool {
		list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		if err != nil {
			return p.Ended()
		}
		if children := strings.Fields(string(list)); len(children) > 0 {
			child, _ := strconv.Atoi(children[0])
			found, err = os.FindProcess(child)
			return err == nil
		}
		return p.Ended()
	})
	return found
}

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Signal sends a signal to the program only, not to its children.
func (p *Process) Signal(sig syscall.Signal) {
	p.t.Helper()
	if p.inner == nil {
		return
	}
	if err := p.inner.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Errorf("%s: %v", p.on.Name, err)
	}
	if sig == syscall.SIGCONT {
		p.wake()
	}
}

// wake continues the nsenter process, which stops itself when its child is stopped.
func (p *Process) wake() { _ = p.outer.Process.Signal(syscall.SIGCONT) } // ignore the error: the process may have ended

// EndsWithin waits until the program has ended, at most for the given time. It reports whether the
// program has ended.
func (p *Process) EndsWithin(limit time.Duration) bool {
	select {
	case <-p.ended:
		return true
	case <-time.After(limit):
		return false
	}
}

// Wait waits until the program has ended and returns its error. The test fails if the program has
// not ended after the timeout.
func (p *Process) Wait(timeout time.Duration) error {
	p.t.Helper()
	if !p.EndsWithin(timeout) {
		p.t.Fatalf("%s still runs after %s; it said\n%s", p.on.Name, timeout, p.on.Output(4000))
	}
	return p.err
}

// Kill kills the program only, not its children.
func (p *Process) Kill() {
	p.t.Helper()
	p.Signal(syscall.SIGKILL)
	_ = p.Wait(20 * time.Second) // ignore the exit status: the program was killed
}

// log returns the path of the file with the output of the machine's programs.
func (m *Machine) log() string { return filepath.Join(m.Home, "log") }

// Output returns the last part of the output of the machine's programs, at most maxBytes.
func (m *Machine) Output(maxBytes int) string {
	data, err := os.ReadFile(m.log())
	if err != nil {
		return err.Error()
	}
	if len(data) > maxBytes {
		data = data[len(data)-maxBytes:]
		data = data[bytes.IndexByte(data, '\n')+1:]
	}
	return string(data)
}

// Eventually waits until ok returns true. If that takes longer than the timeout, the test fails.
// The failure message contains the text what, which describes the condition.
func Eventually(t testing.TB, timeout time.Duration, what string, ok func() bool) {
	t.Helper()
	const between = 20 * time.Millisecond
	for end := time.Now().Add(timeout); !ok(); time.Sleep(between) {
		if time.Now().After(end) {
			t.Fatalf("waited %s in vain: %s", timeout, what)
		}
	}
}
