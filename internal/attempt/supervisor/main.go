package supervisor

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
)

// Descriptors of two open files that a starter may pass to the supervisor of a single attempt: one
// end of a socket pair, and the locked lock file. The starter is then a client from the beginning. A
// supervisor that belongs to a pool has only starterFD, over which it gets its attempts.
const (
	starterFD = 3
	lockFD    = 4
)

// Main is the supervisor process. Its argument is the folder of the attempt, or "-" for a
// supervisor that gets its attempts from a [Pool]. Main returns the exit code.
//
// SIGTERM and SIGINT stop the agent in the same way as a stop order. If the agent is already being
// stopped, they kill it at once. A supervisor that has no attempt exits at the first such signal.
// SIGHUP is ignored.
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

// supervise runs the attempt in a folder. It changes into the folder first, because
// the path of a socket must be short.
func supervise(dir string) error {
	if err := os.Chdir(dir); err != nil {
		return err
	}
	lock, passed, err := takeLock(".")
	if err != nil {
		return err
	}
	defer lock.Close() // the defer also keeps lock reachable: if it were garbage collected, the lock would be released
	is, err := readLock(lock)
	if err != nil {
		return err
	}
	if is.used() {
		return &UsedError{dir}
	}
	a := newAttempt(".", lock, is, os.Environ(), catchSignals())
	if passed {
		if starter, err := socketOf(starterFD); err == nil {
			a.clients.add(newLink(starter))
		}
	}
	_, err = a.run()
	return err
}

// signals has the channels on which the supervisor receives signals. All attempts of a supervisor
// use the same channels.
type signals struct{ children, ends chan os.Signal }

// catchSignals subscribes to the signals. This also makes sure that the agent starts with the
// default action for each of them, even if our starter ignored them.
func catchSignals() signals {
	s := signals{children: make(chan os.Signal, 1), ends: make(chan os.Signal, 4)}
	signal.Notify(s.children, syscall.SIGCHLD)
	signal.Notify(s.ends, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	return s
}

// takeLock returns the lock that the starter has passed. If none was passed, it opens and locks the
// lock file itself. It fails if another process holds the lock.
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

// isFile reports whether the descriptor fd refers to the file with this name. It calls Fstat
// instead of creating an os.File, because fd may be any open file of the process and the os.File
// would close it when it is garbage collected.
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
