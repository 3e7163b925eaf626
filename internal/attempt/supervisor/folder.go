package supervisor

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"gaffer/statefile/host"
)

// The files of an attempt's folder. Whoever starts a supervisor by hand may say in
// spec.json what to run; otherwise that is in the lock.
const (
	specFile    = "spec.json"
	lockFile    = "lock"
	socketFile  = "socket"
	startedFile = "started.json"
)

// folder is the folder of one attempt.
type folder string

func (f folder) path(name string) string { return filepath.Join(string(f), name) }

// claim makes the folder and its lock, and returns the lock held. The lock of a
// folder is made once, so that one who starts an attempt is the only one.
func (f folder) claim() (*os.File, error) {
	lock, err := f.openLock(os.O_EXCL)
	if errors.Is(err, fs.ErrExist) {
		return nil, &UsedError{string(f)}
	}
	if err != nil {
		return nil, err
	}
	held, err := tryLock(lock)
	if err == nil && (!held || !isEmpty(lock)) { // somebody was quick to take the attempt for lost
		err = &UsedError{string(f)}
	}
	if err != nil {
		_ = lock.Close() // nothing was written to it
		return nil, err
	}
	return lock, nil
}

func isEmpty(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Size() == 0
}

// become has the folder of an attempt that is over be that of another, with the
// spec in its lock, which is returned held. To make files takes longer than all
// else that is done to start an attempt. Under its old name it is at no time the
// folder of an attempt that runs, and under the new one it is there as a whole.
func (f folder) become(next folder, s Spec) (*os.File, error) {
	lock, err := os.OpenFile(f.path(lockFile), os.O_RDWR|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err = mustLock(lock); err == nil {
		err = lock.Truncate(0)
	}
	if err == nil {
		err = note(lock, specWord, s)
	}
	if err == nil {
		err = syscall.Rename(string(f), string(next))
	}
	if err != nil {
		_ = lock.Close() // what was written to it is not needed
		return nil, err
	}
	return lock, nil
}

// holdsLockAlone reports whether there is nothing in the folder but the lock.
func (f folder) holdsLockAlone() bool {
	dir, err := os.Open(string(f))
	if err != nil {
		return false
	}
	defer dir.Close()
	names, err := dir.Readdirnames(3)
	return err == nil && len(names) == 1 && names[0] == lockFile
}

// openLock makes the folder and the lock if need be.
func (f folder) openLock(flags int) (*os.File, error) {
	flags |= os.O_RDWR | os.O_APPEND | os.O_CREATE | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	lock, err := os.OpenFile(f.path(lockFile), flags, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(string(f), 0o700); err != nil {
			return nil, err
		}
		return os.OpenFile(f.path(lockFile), flags, 0o600)
	}
	return lock, err
}

// tryLock does not wait. On a file that was passed on with its lock it succeeds.
func tryLock(file *os.File) (bool, error) {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case err != nil:
			return false, &fs.PathError{Op: "lock", Path: file.Name(), Err: err}
		default:
			return true, nil
		}
	}
}

// write puts a file in place at once, replacing what is there: only the holder
// of the lock writes.
func (f folder) write(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	temp := f.path("." + name)
	if err := os.WriteFile(temp, append(data, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(temp, f.path(name))
}

// syncNames makes the names of the lock and of the folder durable.
func (f folder) syncNames() error {
	h, op := host.OS(), host.Op("sync attempt")
	return errors.Join(h.SyncDir(op, string(f)), h.SyncDir(op, f.path("..")))
}

// Used reports whether an attempt was started in a folder, or will never be.
func Used(dir string) (bool, error) {
	_, err := os.Lstat(folder(dir).path(lockFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
