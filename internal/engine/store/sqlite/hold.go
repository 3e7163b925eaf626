package sqlite

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// The bytes of a file that SQLite locks. Who has a database with a write-ahead
// log open keeps a shared lock on some of them until it closes it.
const (
	lockedFrom  = 0x40000000
	lockedBytes = 512
)

// hold takes all locks of a database, whatever is in the file, so that nobody can
// use it. An [*InUseError] says that somebody does. A process that has the
// database open must not call it: when the file is closed here, the locks of the
// process's connections are gone.
func hold(path string) (free func() error, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: 0, Start: lockedFrom, Len: lockedBytes}
	err = syscall.FcntlFlock(f.Fd(), setLock, &lock)
	if err == nil {
		return f.Close, nil // which gives the locks back
	}
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		err = &InUseError{Path: path, PID: holder(f)}
	} else {
		err = fmt.Errorf("lock %s: %w", path, err)
	}
	return nil, errors.Join(err, f.Close())
}

// holder is the process that keeps us from taking the locks, or 0.
func holder(f *os.File) int {
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: 0, Start: lockedFrom, Len: lockedBytes}
	if err := syscall.FcntlFlock(f.Fd(), getLock, &lock); err != nil || lock.Type == syscall.F_UNLCK || lock.Pid < 0 {
		return 0
	}
	return int(lock.Pid)
}
