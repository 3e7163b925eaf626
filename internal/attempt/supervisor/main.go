package supervisor

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
)

// Who starts a supervisor may pass the lock, held, and with it one end of a pair
// of sockets: then it is a client that need not connect.
const (
	starterFD = 3
	lockFD    = 4
)

// Main is the supervisor process. Its argument is the folder of the attempt, or
// "-" for one that is given its attempts by a [Pool]. It returns the exit code.
//
// SIGTERM and SIGINT stop the agent as an order to stop does, the second time at
// once, and end a supervisor that has none; SIGHUP is passed over.
func Main(args []string) int {
	if len(args) != 1 {
		fmt.Fprintln(os.Stderr, "usage: gaffer supervise DIR|-")
		return 2
	}
	keepFiles()
	serve := supervise
	if args[0] == byTurns {
		serve = takeTurns
	}
	if err := serve(args[0]); err != nil {
		fmt.Fprintln(os.Stderr, "gaffer supervise:", err)
		return 1
	}
	return 0
}

// supervise works inside the attempt's folder: so a socket's path, which must be
// short, is short.
func supervise(dir string) error {
	if err := os.Chdir(dir); err != nil {
		return err
	}
	lock, passed, err := takeLock(".")
	if err != nil {
		return err
	}
	defer lock.Close() // not before: it must not be collected while we live
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

// signals are what the supervisor is sent, whatever attempt it has.
type signals struct{ children, ends chan os.Signal }

// catchSignals also has signals not be ignored in the agent, even if whoever
// started us ignored them.
func catchSignals() signals {
	s := signals{children: make(chan os.Signal, 1), ends: make(chan os.Signal, 4)}
	signal.Notify(s.children, syscall.SIGCHLD)
	signal.Notify(s.ends, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	return s
}

// takeLock returns the lock that was passed on, or takes it.
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
		_ = lock.Close() // nothing was written to it
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

// isFile touches a descriptor that may be anything with care: it must not get
// an owner that closes it.
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
