package supervisor

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
)

// The process that starts a supervisor may pass it two open files as these descriptors. starterFD
// is a connected Unix socket. lockFD is the attempt's lock file, already locked. A supervisor that
// belongs to a pool gets only starterFD, and receives its attempts over that socket.
const (
	starterFD = 3
	lockFD    = 4
)

// Main is the main function of the supervisor process. Its argument is the folder of the attempt,
// or "-" for a supervisor that gets its attempts from a [Pool]. Main returns the exit code.
//
// SIGTERM and SIGINT stop the agent in the same way as [Process.Stop]. If the agent is already
// being stopped, such a signal kills it at once. A supervisor that has no attempt exits at the
// first such signal. SIGHUP is ignored.
func Main(args []string) int {
	if len(args) != 1 {
		fmt.Fprintln(os.Stderr, "usage: gaffer supervise DIR|-")
		return 2
	}
	closeFilesOnExec()
	serve := supervise
	if args[0] == fromPool {
		serve = superviseFromPool
	}
	if err := serve(args[0]); err != nil {
		fmt.Fprintln(os.Stderr, "gaffer supervise:", err)
		return 1
	}
	return 0
}

// supervise runs the attempt in the folder dir. It changes into the folder first, so that
// the socket there has a short relative path. The system limits the length of a socket's path.
func supervise(dir string) error {
	if err := os.Chdir(dir); err != nil {
		return err
	}
	lock, passed, err := takeLock(".")
	if err != nil {
		return err
	}
	// The deferred call also keeps lock reachable. If lock were garbage collected, its file would
	// be closed and the lock released.
	defer lock.Close()
	is, err := readLock(lock)
	if err != nil {
		return err
	}
	if is.used() {
		return &UsedError{dir}
	}
	a := newAttempt(assignment{folder: ".", lock: lock, record: is, env: os.Environ(), signals: catchSignals()})
	if passed {
		if starter, err := socketOf(starterFD); err == nil {
			a.clients.add(newLink(starter))
		}
	}
	_, err = a.run()
	return err
}

// signals has the channels on which the supervisor receives signals. The channel children receives
// SIGCHLD. The channel ends receives SIGTERM, SIGINT and SIGHUP. All attempts of a supervisor use
// the same channels.
type signals struct{ children, ends chan os.Signal }

// catchSignals subscribes to the signals that a supervisor handles. This has an effect on the agent
// too: a child process starts with the default action for each signal that its parent catches, but
// ignores a signal that its parent ignores. So the agent does not ignore these signals, even if the
// process that started the supervisor ignores them.
func catchSignals() signals {
	s := signals{children: make(chan os.Signal, 1), ends: make(chan os.Signal, 4)}
	signal.Notify(s.children, syscall.SIGCHLD)
	signal.Notify(s.ends, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	return s
}

// takeLock locks the attempt's lock file and returns it. If the process that started this
// supervisor has passed the open lock file as descriptor lockFD, takeLock uses that file, and the
// result passed is true. Otherwise it opens the file itself. takeLock fails if another process
// holds the lock.
func takeLock(f folder) (lock *os.File, passed bool, err error) {
	if isFile(lockFD, f.path(lockFile)) {
		passed = true
		syscall.CloseOnExec(starterFD)
		syscall.CloseOnExec(lockFD)
		lock = os.NewFile(lockFD, lockFile)
	} else if lock, err = f.openLock(0); err != nil {
		return nil, false, err
	}
	if err := mustLock(lock); err != nil {
		_ = lock.Close() // ignore the error: nothing was written to the lock
		return nil, false, err
	}
	return lock, passed, nil
}

func mustLock(lock *os.File) error {
	held, err := tryLock(lock)
	if err == nil && !held {
		err = fmt.Errorf("%s: held by another", lockFile)
	}
	return err
}

// isFile reports whether the descriptor fd refers to the file with this name. The descriptor may
// belong to any open file of this process. So isFile calls Fstat and creates no os.File, which
// would close the descriptor when the garbage collector removes it.
func isFile(fd int, name string) bool {
	var open, named syscall.Stat_t
	return syscall.Fstat(fd, &open) == nil && syscall.Lstat(name, &named) == nil &&
		open.Dev == named.Dev && open.Ino == named.Ino
}

func socketOf(fd uintptr) (net.Conn, error) {
	file := os.NewFile(fd, "socket")
	defer file.Close()
	return net.FileConn(file)
}
