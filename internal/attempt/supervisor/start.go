package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"gaffer/statefile/host"
)

// Options configure how a supervisor is started and found.
type Options struct {
	// Command is the program and the first arguments of the supervisor. "supervise" and one more
	// argument follow: the attempt's folder, or "-" for a supervisor of a pool. Empty means this
	// program.
	Command []string
	// Attempt is the attempt's id. [Attach] uses it if the attempt's folder does not contain the
	// id.
	Attempt string
	// Patience is how long to wait until a supervisor that holds the attempt's lock answers a
	// connection or an order. Zero means DefaultPatience.
	Patience time.Duration
}

// DefaultPatience is how long a supervisor may take by default to answer, see [Options.Patience].
const DefaultPatience = 10 * time.Second

func (o Options) patience() time.Duration {
	if o.Patience <= 0 {
		return DefaultPatience
	}
	return o.Patience
}

// Start creates the folder dir, starts a supervisor there, and returns when the agent runs. The
// error is a [*SpecError] if the spec is invalid, a [*UsedError] if the folder was used before, a
// [*FailedError] if the agent cannot be started, and a [*StartError] if the supervisor cannot be
// started or ctx has ended. After these errors, this call has left no process running, and none
// will start. An [*UnknownError] means that it is unknown whether a process is running.
//
// The supervisor may be killed before it can report that the agent runs. If the agent may have run,
// Start returns a Process that has already ended: the attempt is lost, or the agent exited by
// itself.
//
// If the calling process dies during Start, the supervisor either is running or will never start.
// [Attach] finds out which.
func Start(ctx context.Context, dir string, spec Spec, opts Options) (*Process, error) {
	command, err := opts.command()
	if err != nil {
		return nil, err
	}
	n, err := prepare(dir, spec)
	if err != nil {
		return nil, err
	}
	defer n.lock.Close()
	conn, process, err := spawn(append(command, string(n.folder)), n.spec.Env, n.lock, n.lock.Fd())
	if err != nil {
		return nil, &StartError{err}
	}
	p, err := awaitAgent(ctx, newProcess(n.folder, n.spec.Attempt, opts, &child{process: process}), newLink(conn))
	return n.conclude(ctx, p, err)
}

// preparedAttempt is an attempt that is ready to be started. The lock file in its folder
// contains the spec, and this process holds the lock.
type preparedAttempt struct {
	folder folder
	spec   Spec
	lock   *os.File
}

func prepare(dir string, spec Spec) (*preparedAttempt, error) {
	f, spec, err := complete(dir, spec)
	if err != nil {
		return nil, err
	}
	lock, err := f.claim()
	if err != nil {
		return nil, &StartError{err}
	}
	if err := appendRecord(lock, specWord, spec); err != nil {
		_ = lock.Close() // ignore the error: the attempt was not started
		return nil, &StartError{err}
	}
	return &preparedAttempt{f, spec, lock}, nil
}

// awaitAgent waits until the supervisor reports that the agent runs or could not be started. If the
// agent could not be started, awaitAgent returns a [*FailedError]. If there is no report, or ctx
// ends first, awaitAgent kills the supervisor and returns a [*noReportError].
func awaitAgent(ctx context.Context, p *Process, l *link) (*Process, error) {
	m, err := l.first(ctx, time.Time{})
	if err == nil && m.Started != nil {
		p.follow(l, *m.Started)
		return p, nil
	}
	defer p.cancel()
	defer l.close()
	if err == nil && m.Exit != nil {
		p.finish(*m.Exit, m.Free)
		p.awaitChild()
		return nil, &FailedError{*m.Exit}
	}
	p.child.kill()
	return nil, &noReportError{}
}

// conclude returns p and err unchanged if err is not a [*noReportError]. Otherwise the supervisor
// died without a report. Then conclude finds out how the attempt ended, and records the attempt as
// lost if no exit is recorded. It returns a Process that has ended, or an error that says what
// happened.
func (n *preparedAttempt) conclude(ctx context.Context, p *Process, err error) (*Process, error) {
	silent := (*noReportError)(nil)
	if !errors.As(err, &silent) {
		return p, err
	}
	exit, err := n.folder.conclude(n.spec.Attempt, n.lock)
	switch {
	case err != nil:
		return nil, &UnknownError{string(n.folder), err}
	case exit.Lost && ctx.Err() != nil:
		return nil, &StartError{ctx.Err()}
	case exit.Lost && exit.NeverStarted && silent.reason != nil:
		return nil, &StartError{fmt.Errorf("%s: %w", exit.Failed, silent.reason)}
	case exit.Lost && exit.NeverStarted:
		return nil, &StartError{errors.New(exit.Failed)}
	case !exit.Lost && exit.Failed != "":
		return nil, &FailedError{exit}
	}
	p = newProcess(n.folder, n.spec.Attempt, Options{}, nil)
	p.ended(exit)
	return p, nil
}

// complete checks the spec, sets the defaults of empty fields, and makes paths absolute.
func complete(dir string, s Spec) (folder, Spec, error) {
	if err := s.check(); err != nil {
		return "", s, &SpecError{err}
	}
	var errs [3]error
	dir, errs[0] = filepath.Abs(dir)
	s.Dir, errs[1] = filepath.Abs(s.Dir)
	s.Log, errs[2] = filepath.Abs(s.Log)
	if s.Env == nil {
		s.Env = os.Environ()
	}
	s.Env = WithoutSecrets(s.Env)
	s.Starter = host.OS().Self()
	if s.Home == "" {
		s.Home = filepath.Dir(dir)
	}
	s.Group = cgroupName(s.Home, s.Attempt)
	return folder(dir), s, errors.Join(errs[:]...)
}

// command returns the command line of the supervisor without its last argument. That argument is
// the attempt's folder, or fromPool for a supervisor of a pool.
func (o Options) command() ([]string, error) {
	command := o.Command
	if len(command) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		command = []string{self}
	}
	return append(slices.Clone(command), "supervise"), nil
}

// spawn starts a supervisor in its own session. It returns one end of a connection. The supervisor
// gets the other end as descriptor 3, and the given files as the descriptors from 4 on. The
// supervisor's stderr, including a crash report, goes to the lock file.
func spawn(command, env []string, lock *os.File, files ...uintptr) (net.Conn, *os.Process, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, nil, err
	}
	defer ours.Close()
	defer theirs.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	defer null.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, nil, err
	}
	closeFilesOnExec()
	pid, err := syscall.ForkExec(command[0], command, &syscall.ProcAttr{
		Env:   env,
		Files: append([]uintptr{null.Fd(), null.Fd(), lock.Fd(), theirs.Fd()}, files...),
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		_ = conn.Close() // ignore the error: nothing was sent
		return nil, nil, &os.PathError{Op: "run", Path: command[0], Err: err}
	}
	// FindProcess succeeds even if the supervisor has already exited: the supervisor remains a
	// zombie until this process waits for it.
	process, err := os.FindProcess(pid)
	return conn, process, err
}

func socketPair() (ours, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	syscall.CloseOnExec(fds[0])
	syscall.CloseOnExec(fds[1])
	return os.NewFile(uintptr(fds[0]), "socket"), os.NewFile(uintptr(fds[1]), "socket"), nil
}
