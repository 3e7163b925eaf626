package sqlite

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// The bytes of a database file on which SQLite sets its locks. Every open connection to a database
// with a write-ahead log holds a shared lock on some of these bytes.
const (
	lockedFrom  = 0x40000000
	lockedBytes = 512
)

// lockFile locks all bytes of a file that SQLite uses for locks. Until the returned function unlock
// is called, no process can use the file as a database. lockFile returns an [*InUseError] if a
// process uses the database. A process that has the database open must not call lockFile: unlock
// closes the file, and this would release the locks of the process's own connections.
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

// lockOwner returns the id of a process that holds one of SQLite's locks on f, or 0 if no lock is
// held or the process is unknown.
func lockOwner(f *os.File) int {
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: 0, Start: lockedFrom, Len: lockedBytes}
	if err := syscall.FcntlFlock(f.Fd(), getLock, &lock); err != nil || lock.Type == syscall.F_UNLCK || lock.Pid < 0 {
		return 0
	}
	return int(lock.Pid)
}
