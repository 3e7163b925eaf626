package sqlite

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// The range of bytes on which SQLite sets locks. Every open connection to a database with
// a write-ahead log holds a shared lock on some of them.
const (
	lockedFrom  = 0x40000000
	lockedBytes = 512
)

// lockFile takes all of SQLite's locks on a file, so that no process can use it as a
// database until unlock is called. It returns an [*InUseError] if a process uses it. A
// process that has the database open must not call lockFile: closing the file here would
// release the locks of its connections.
func lockFile(path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: 0, Start: lockedFrom, Len: lockedBytes}
	err = syscall.FcntlFlock(f.Fd(), setLock, &lock)
	if err == nil {
		return f.Close, nil // closing the file releases the locks
	}
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		err = &InUseError{Path: path, PID: lockOwner(f)}
	} else {
		err = fmt.Errorf("lock %s: %w", path, err)
	}
	return nil, errors.Join(err, f.Close())
}

// lockOwner returns the pid of a process that holds one of the locks, or 0 if unknown.
func lockOwner(f *os.File) int {
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: 0, Start: lockedFrom, Len: lockedBytes}
	if err := syscall.FcntlFlock(f.Fd(), getLock, &lock); err != nil || lock.Type == syscall.F_UNLCK || lock.Pid < 0 {
		return 0
	}
	return int(lock.Pid)
}
