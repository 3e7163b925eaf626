package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// stopSignals are the signals with which a supervisor stops an agent.
var stopSignals = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}

// controlLine is the first line that the first process inside a sandbox sends on its connection to
// gaffer's process outside. It distinguishes this connection from those of the agent to the proxy.
const controlLine = "GAFFER "

// EnterMain is the main function of gaffer's process outside of a sandbox. It starts bwrap or a
// container engine, and ends as the agent has ended: with the same exit code, or by the same
// signal. Its arguments are those that [Machine.Wrap] has put into the command line.
//
// EnterMain ignores the stop signals while it starts bwrap. bwrap inherits that, so a stop signal
// does not end it. Afterwards EnterMain passes the signals on to bwrap's process group. The first
// process inside the sandbox is in that group, and passes them on to the agent.
func EnterMain(args []string, stderr io.Writer) int {
	runtime.LockOSThread() // Pdeathsig kills bwrap when the thread that started it ends
	signal.Ignore(stopSignals...)
	e, err := parseEnter(args)
	if err == nil {
		err = e.prepare()
	}
	if err != nil {
		fmt.Fprintln(stderr, "gaffer: sandbox:", err)
		e.clean()
		return 1
	}
	cmd := exec.Command(e.argv[0], e.argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err = cmd.Start(); err == nil {
		passSignalsTo(cmd.Process.Pid)
		err = cmd.Wait()
	}
	select {
	case <-e.connected:
		e.reports.Wait() // all processes inside the sandbox have ended, so this does not wait long
	default: // no agent was started
	}
	e.clean()
	if sig := syscall.Signal(e.signal.Load()); sig > 0 {
		signal.Reset(sig)
		_ = syscall.Kill(os.Getpid(), sig)
		return 128 + int(sig) // reached only if the signal has not ended this process
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return 128 + int(status.Signal())
		}
		return exit.ExitCode()
	}
	if err != nil {
		fmt.Fprintln(stderr, "gaffer: sandbox:", err)
		return 1
	}
	return 0
}

// passSignalsTo passes the stop signals on to a process group.
func passSignalsTo(group int) {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, stopSignals...)
	go func() {
		for s := range signals {
			_ = syscall.Kill(-group, s.(syscall.Signal)) // fails only if no process is left
		}
	}()
}

// entered is the state of gaffer's process outside of a sandbox.
type entered struct {
	scratch string
	remove  []string
	hosts   hostList
	argv    []string
	signal  atomic.Int32 // the signal that has ended the agent; 0 if none
	// reports counts the open connections over which the first process inside the sandbox can
	// report the signal that has ended the agent.
	reports sync.WaitGroup
	// connected is closed when the first process inside the sandbox has connected. That process
	// starts the agent only afterwards, so its report about the agent's end is never missed.
	connected chan struct{}
	once      sync.Once // closes connected
}

func parseEnter(args []string) (*entered, error) {
	e := &entered{connected: make(chan struct{})}
	for i, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "--scratch":
			e.scratch = value
		case "--remove":
			e.remove = append(e.remove, value)
		case "--host":
			e.hosts = append(e.hosts, value)
		case "--":
			if e.argv = args[i+1:]; len(e.argv) == 0 || !filepath.IsAbs(e.scratch) {
				return e, errors.New("no program, or no folder for its files")
			}
			return e, nil
		default:
			return e, fmt.Errorf("unknown argument %q", arg)
		}
	}
	return e, errors.New("no program")
}

// prepare creates the scratch folder, and serves connections to its socket in the background.
func (e *entered) prepare() error {
	for _, name := range []string{homeFolder, tmpFolder, varFolder} {
		if err := os.MkdirAll(filepath.Join(e.scratch, name), 0o700); err != nil {
			return err
		}
	}
	// The path of a socket may have at most about 100 bytes. So change to the scratch folder and
	// use a short relative path.
	back, err := os.Getwd()
	if err != nil {
		return err
	}
	if err := os.Chdir(e.scratch); err != nil {
		return err
	}
	listener, err := net.Listen("unix", socketName)
	if err := errors.Join(err, os.Chdir(back)); err != nil {
		return err
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go e.serve(conn)
		}
	}()
	return nil
}

// serve handles a connection from inside of the sandbox. Over it, either the first process inside
// reports the signal that has ended the agent, or the agent sends a request to the proxy.
func (e *entered) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	start, err := in.Peek(len(controlLine))
	switch {
	case err != nil:
	case string(start) == controlLine:
		e.reports.Add(1)
		defer e.reports.Done()
		e.once.Do(func() { close(e.connected) })
		if _, err := io.WriteString(conn, "\n"); err != nil {
			return
		}
		// Keep the connection open until the first process closes it: that process exits if the
		// connection breaks.
		for lines := bufio.NewScanner(in); lines.Scan(); {
			if n, err := strconv.Atoi(strings.TrimPrefix(lines.Text(), "signal ")); err == nil && n > 0 && n < 65 {
				e.signal.Store(int32(n))
			}
		}
	default:
		serveProxy(conn, in, e.hosts)
	}
}

// clean deletes the scratch folder, and the files that the agent must not leave in its repository.
func (e *entered) clean() {
	for _, path := range e.remove {
		_ = os.RemoveAll(path) // if the path exists now, it was created while the agent ran
	}
	if filepath.IsAbs(e.scratch) {
		removeAll(e.scratch)
	}
}

// removeAll deletes a folder with everything in it, even read-only folders, such as those of Go's
// downloaded modules.
func removeAll(folder string) {
	if os.RemoveAll(folder) == nil {
		return
	}
	_ = filepath.WalkDir(folder, func(path string, d os.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) // if this fails, the call of RemoveAll below may fail too
		}
		return nil
	})
	_ = os.RemoveAll(folder) // if this fails, the files are deleted later, with the attempt's folder
}
