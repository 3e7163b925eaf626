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

// Names of the files in an attempt's folder. [Start] and [Pool.Start] write the attempt's spec into
// the lock file. Only a program that starts a supervisor in another way writes spec.json.
const (
	specFile    = "spec.json"
	lockFile    = "lock"
	socketFile  = "socket"
	startedFile = "started.json"
)

// folder is the path of one attempt's folder.
type folder string

func (f folder) path(name string) string { return filepath.Join(string(f), name) }

// claim creates the folder and its lock file, locks the file, and returns it. The file is created
// exclusively, so only one process can start an attempt in a folder. The error is a [*UsedError] if
// the folder already has a lock file.
func (f folder) claim() (*os.File, error) {
	lock, err := f.openLock(os.O_EXCL)
	if errors.Is(err, fs.ErrExist) {
		return nil, &UsedError{string(f)}
	}
	if err != nil {
		return nil, err
	}
	held, err := tryLock(lock)
	// Between openLock and tryLock, another process may have recorded the attempt as lost.
	if err == nil && (!held || !isEmpty(lock)) {
		err = &UsedError{string(f)}
	}
	if err != nil {
		_ = lock.Close() // ignore the error: nothing was written to the lock
		return nil, err
	}
	return lock, nil
}

func isEmpty(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Size() == 0
}

// reuseFor turns the folder of a finished attempt into the folder of a new attempt. It replaces the
// content of the lock with the spec of the new attempt, and then renames the folder to target. It
// returns the lock file, which is locked. Reusing a folder avoids the creation of files, which is
// slow on some file systems.
//
// The folder is renamed last. So it never contains a running attempt under its old name, and always
// contains a spec under its new name.
func (f folder) reuseFor(target folder, s Spec) (*os.File, error) {
	lock, err := os.OpenFile(f.path(lockFile), os.O_RDWR|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err = mustLock(lock); err == nil {
		err = lock.Truncate(0)
	}
	if err == nil {
		err = appendRecord(lock, specWord, s)
	}
	if err == nil {
		err = syscall.Rename(string(f), string(target))
	}
	if err != nil {
		_ = lock.Close() // ignore the error: the lock's content is not needed
		return nil, err
	}
	return lock, nil
}

// holdsLockAlone reports whether the folder contains the lock and no other file.
func (f folder) holdsLockAlone() bool {
	dir, err := os.Open(string(f))
	if err != nil {
		return false
	}
	defer dir.Close()
	names, err := dir.Readdirnames(3)
	return err == nil && len(names) == 1 && names[0] == lockFile
}

// openLock opens the lock file without locking it. It creates the folder and the file if they are
// missing.
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

// tryLock tries to lock the file without waiting. It returns false if another process holds the
// lock. It also returns true if the process that started the attempt has locked the file and passed
// it to this process.
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

// write replaces a file of the folder atomically. Two processes must not write the same file at the
// same time.
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

// syncNames syncs the directory entries of the lock file and of the folder to disk.
func (f folder) syncNames() error {
	h, op := host.OS(), host.Op("sync attempt")
	return errors.Join(h.SyncDir(op, string(f)), h.SyncDir(op, f.path("..")))
}

// Used reports whether the folder has a lock file. If it has one, an attempt was started in the
// folder, or [Attach] has made sure that no attempt can be started there.
func Used(dir string) (bool, error) {
	_, err := os.Lstat(folder(dir).path(lockFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
