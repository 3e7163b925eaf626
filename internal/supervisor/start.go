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

// Options say how a supervisor is started and found.
type Options struct {
	// Command is the program and first arguments of the supervisor, to which
	// "supervise" and the folder are added. It is this program if empty.
	Command []string
	// Attempt is the attempt's id, for a folder that has lost its spec.json.
	Attempt string
	// Patience is how long to wait for a supervisor that holds the lock and
	// does not answer. Zero is DefaultPatience.
	Patience time.Duration
}

// DefaultPatience is how long a supervisor may take to answer.
const DefaultPatience = 10 * time.Second

func (o Options) patience() time.Duration {
	if o.Patience <= 0 {
		return DefaultPatience
	}
	return o.Patience
}

// Start makes the folder dir, starts a supervisor there, and returns when the
// agent runs. A folder that was used before is a [*UsedError], an agent that
// cannot be started a [*FailedError]. If it returns an error nothing runs, and
// nothing will.
//
// If the calling process dies meanwhile, either the supervisor runs, or it never
// will; [Attach] tells which.
func Start(ctx context.Context, dir string, spec Spec, opts Options) (*Process, error) {
	f, spec, err := complete(dir, spec)
	if err != nil {
		return nil, err
	}
	command, err := opts.command(f)
	if err != nil {
		return nil, err
	}
	lock, err := f.claim()
	if err != nil {
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	defer lock.Close()
	if err := f.write(specFile, spec, false); err != nil {
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	conn, pid, err := spawn(command, spec.Env, lock)
	if err != nil {
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	p := newProcess(f, spec.Attempt, opts)
	p.child = pid
	if err := p.greet(ctx, newLink(conn), lock); err != nil {
		p.letGo()
		return nil, err
	}
	return p, nil
}

// greet waits until the agent runs. If that is not to be, nothing runs when it
// returns.
func (p *Process) greet(ctx context.Context, l *link, lock *os.File) error {
	m, err := l.first(ctx, time.Time{})
	if err == nil && m.Started != nil {
		p.follow(l, *m.Started)
		return nil
	}
	defer l.close()
	if err == nil && m.Exit != nil {
		p.reapChild()
		return &FailedError{*m.Exit}
	}
	_ = syscall.Kill(p.child, syscall.SIGKILL) // it may be dead
	p.reapChild()
	exit, endErr := p.folder.conclude(remains{attempt: p.attempt}, lock)
	if ctx.Err() == nil {
		err = errors.New(exit.Failed)
	}
	return fmt.Errorf("start supervisor: %w", errors.Join(err, endErr))
}

// complete checks the spec and sets what it leaves open.
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
	s.Starter = host.OS().Self()
	return folder(dir), s, errors.Join(errs[:]...)
}

func (o Options) command(f folder) ([]string, error) {
	command := o.Command
	if len(command) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		command = []string{self}
	}
	return append(slices.Clone(command), "supervise", string(f)), nil
}

// spawn starts a supervisor in a session of its own, with the lock and one end
// of a connection. Its last words in a crash go into the lock file.
func spawn(command, env []string, lock *os.File) (net.Conn, int, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, 0, err
	}
	defer ours.Close()
	defer theirs.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, 0, err
	}
	defer null.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, 0, err
	}
	keepFiles()
	pid, err := syscall.ForkExec(command[0], command, &syscall.ProcAttr{
		Env:   env,
		Files: []uintptr{null.Fd(), null.Fd(), lock.Fd(), theirs.Fd(), lock.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		_ = conn.Close() // nothing was sent
		return nil, 0, &os.PathError{Op: "run", Path: command[0], Err: err}
	}
	return conn, pid, nil
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
