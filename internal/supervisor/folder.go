package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"gaffer/statefile"
	"gaffer/statefile/host"
)

// The files of an attempt's folder.
const (
	specFile    = "spec.json"
	lockFile    = "lock"
	socketFile  = "socket"
	startedFile = "started.json"
	exitFile    = "exit.json"
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
	if err == nil && (!held || f.has(exitFile)) { // somebody was quick to take the attempt for lost
		err = &UsedError{string(f)}
	}
	if err != nil {
		_ = lock.Close() // nothing was written to it
		return nil, err
	}
	return lock, nil
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

// sign says in the lock who holds it. From then on there may be an agent.
func sign(lock *os.File, holder host.Process) error {
	line, err := json.Marshal(holder)
	if err != nil {
		return err
	}
	_, err = lock.Write(append(line, '\n'))
	return err
}

// maxWords is how much of a supervisor's last words is kept.
const maxWords = 2000

// lockText returns whether the lock was signed, and what a supervisor said in a
// crash or, if its environment asks it to, at other times.
func lockText(lock *os.File) (signed bool, words string) {
	text, _ := io.ReadAll(io.NewSectionReader(lock, 0, 1<<16)) // what was read before an error counts
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "{") {
			signed = true
		} else {
			words += line
		}
	}
	return signed, strings.TrimSpace(words[:min(len(words), maxWords)])
}

func (f folder) has(name string) bool {
	_, err := os.Lstat(f.path(name))
	return err == nil
}

func (f folder) readSpec() (Spec, error) {
	var s Spec
	if err := f.read(specFile, &s); err != nil {
		return Spec{}, err
	}
	if err := s.check(); err != nil {
		return Spec{}, fmt.Errorf("%s: %w", f.path(specFile), err)
	}
	return s, nil
}

func (f folder) readExit() (Exit, error) {
	var e Exit
	err := f.read(exitFile, &e)
	return e, err
}

func (f folder) read(name string, into any) error {
	data, err := statefile.ReadBytes(host.OS(), f.path(name))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", f.path(name), err)
	}
	return nil
}

// write puts a file in place at once, replacing what is there: only the holder
// of the lock writes. A durable one survives a power cut.
func (f folder) write(name string, v any, durable bool) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	h, op, temp := host.OS(), host.Op("write "+name), f.path("."+name)
	file, err := h.Create(op, temp, 0o600)
	if errors.Is(err, fs.ErrExist) { // left by one that died
		_ = h.Remove(op, temp) // Create says whether it worked
		file, err = h.Create(op, temp, 0o600)
	}
	if err != nil {
		return err
	}
	err = file.Write(op, append(data, '\n'))
	if err == nil && durable {
		err = file.Sync(op)
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = h.Rename(op, temp, f.path(name))
	}
	if err == nil && durable {
		err = h.SyncDir(op, string(f))
	}
	return err
}

// Used reports whether an attempt was started in a folder, or will never be.
func Used(dir string) (bool, error) {
	_, err := os.Lstat(folder(dir).path(lockFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
