package sqlite

import (
	"fmt"
	"os"
	"syscall"
)

// flush returns when what was written to a file is on the disk.
func flush(f *os.File) error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); err != syscall.EINTR {
			return err
		}
	}
}

// mark takes a lock that all who have a database open share. It ends when the file
// is closed. SQLite has its locks elsewhere.
func mark(log *os.File) error {
	lock := syscall.Flock_t{Type: syscall.F_RDLCK, Whence: 0, Start: 0, Len: 1}
	if err := syscall.FcntlFlock(log.Fd(), setLock, &lock); err != nil {
		return fmt.Errorf("lock %s: %w", log.Name(), err)
	}
	return nil
}

// alone says whether no other store has the mark. It must be our turn to write, for
// which whoever opens the database waits.
func alone(log *os.File) (bool, error) {
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: 0, Start: 0, Len: 1}
	if err := syscall.FcntlFlock(log.Fd(), getLock, &lock); err != nil {
		return false, fmt.Errorf("look for locks of %s: %w", log.Name(), err)
	}
	return lock.Type == syscall.F_UNLCK, nil
}
