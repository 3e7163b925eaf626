package supervisor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gaffer/internal/pause"
	"gaffer/statefile/host"
)

// Terminal describes a terminal, such as a tmux pane, in which users can watch an agent.
// A program in the terminal calls [Host]. The agent does not depend on its terminal: it
// continues when the terminal is gone.
type Terminal struct {
	// Open starts the program that will call Host with this socket. Open need not wait until the
	// program does so.
	Open func(ctx context.Context, socket string) error
	// Failed is called with the reason if the attempt is started without a terminal.
	Failed func(error)
}

// StartIn does the same as [Pool.Start], but starts a new supervisor in a terminal. This supervisor
// handles only this attempt. If it cannot be started, StartIn calls in.Failed and starts the
// attempt without a terminal.
func (p *Pool) StartIn(ctx context.Context, dir string, spec Spec, in Terminal) (*Process, error) {
	n, err := prepare(dir, spec)
	if err != nil {
		return nil, err
	}
	defer n.lock.Close()
	c, err := p.open(ctx, in)
	if err != nil {
		if ctx.Err() == nil {
			in.Failed(err)
		}
		return p.start(ctx, n)
	}
	started, err := c.begin(ctx, n)
	if n.neverStarted(ctx, err) {
		in.Failed(err)
		return p.start(ctx, n)
	}
	return n.conclude(ctx, started, err)
}

// open starts a supervisor in a terminal, and returns it. The supervisor has no attempt yet.
func (p *Pool) open(ctx context.Context, in Terminal) (*child, error) {
	dir, err := os.MkdirTemp("", "gaffer-") // not below the project: the path of a socket must be short
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // ignore the error: the folder contains only the socket
	at, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"})
	if err != nil {
		return nil, err
	}
	defer at.Close()
	until := time.Now().Add(p.opts.patience())
	if err := at.SetDeadline(until); err != nil {
		return nil, err
	}
	if err := in.Open(ctx, at.Addr().String()); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = at.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	control, err := at.AcceptUnix()
	if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil {
		return nil, fmt.Errorf("no supervisor came within %s", p.opts.patience())
	}
	if err != nil {
		return nil, err
	}
	c := &child{pool: p, control: control}
	if c.notOurChild, err = readSupervisorPID(control, until); err == nil {
		c.process, err = os.FindProcess(c.notOurChild.PID)
	}
	if err != nil {
		_ = control.Close() // ignore the error: no attempt was sent
		return nil, err
	}
	return c, nil
}

// readSupervisorPID reads a line with the supervisor's pid, which Host sends over the connection.
// It returns the identity of the process with that pid.
func readSupervisorPID(control *net.UnixConn, until time.Time) (host.Process, error) {
	if err := control.SetReadDeadline(until); err != nil {
		return host.Process{}, err
	}
	// Discarding the Reader and its buffer loses no data, because nothing is sent after this line.
	line, err := bufio.NewReaderSize(control, 16).ReadString('\n')
	if err != nil {
		return host.Process{}, fmt.Errorf("the supervisor did not say who it is: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || pid <= 1 {
		return host.Process{}, fmt.Errorf("the supervisor says that it is %q", line)
	}
	if err := control.SetReadDeadline(time.Time{}); err != nil {
		return host.Process{}, err
	}
	return host.Identify(pid)
}

// Host starts a supervisor and connects it to the gaffer process that listens on the socket. The
// parameter command has the same meaning as [Options.Command]. The supervisor has its own session
// and does not use the caller's terminal. The returned function wait blocks until the supervisor
// has exited.
func Host(socket string, command []string) (wait func(), err error) {
	argv, err := Options{Command: command}.command()
	if err != nil {
		return nil, err
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	file, err := conn.(*net.UnixConn).File()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	process, err := os.StartProcess(argv[0], append(argv, fromPool), &os.ProcAttr{
		Env: poolEnv(), Files: []*os.File{null, null, null, file}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintln(conn, process.Pid); err != nil {
		_ = process.Kill() // harmless: the supervisor has no attempt yet
		_, _ = process.Wait()
		return nil, err
	}
	return func() { _, _ = process.Wait() }, nil
}

// awaitEnd waits for the end of a process that this process has not started. It waits at most
// DefaultPatience.
func awaitEnd(p host.Process) {
	for until := time.Now().Add(DefaultPatience); time.Now().Before(until) && host.OS().Alive(p) != host.Dead; {
		pause.For(context.Background(), findPause)
	}
}
