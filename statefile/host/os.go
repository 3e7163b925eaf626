package host

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"syscall"
	"time"
)

// OS returns the machine that this program runs on.
func OS() Host { return osHost{} }

type osHost struct{}

// namesAtOnce is the number of names that Names reads in one operation.
const namesAtOnce = 512

func (osHost) Open(_ Op, name string) (File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osHost) Create(_ Op, name string, perm fs.FileMode) (File, error) {
	fd, err := open(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return nil, err
	}
	return osFile{os.NewFile(uintptr(fd), name)}, nil
}

func (osHost) CreateComplete(_ Op, name string, content []byte, perm fs.FileMode) error {
	err := createComplete(name, content, perm)
	var number syscall.Errno
	// The error may name another path, because the system calls also use the folder's path. Return
	// an error that names the file.
	if errors.As(err, &number) {
		return &fs.PathError{Op: "create", Path: name, Err: number}
	}
	return err
}

func (osHost) Rename(_ Op, from, to string) error            { return os.Rename(from, to) }
func (osHost) Link(_ Op, from, to string) error              { return os.Link(from, to) }
func (osHost) Symlink(_ Op, target, name string) error       { return os.Symlink(target, name) }
func (osHost) Readlink(_ Op, name string) (string, error)    { return os.Readlink(name) }
func (osHost) Remove(_ Op, name string) error                { return os.Remove(name) }
func (osHost) Mkdir(_ Op, name string, p fs.FileMode) error  { return os.Mkdir(name, p) }
func (osHost) Stat(_ Op, name string) (fs.FileInfo, error)   { return os.Stat(name) }
func (osHost) Lstat(_ Op, name string) (fs.FileInfo, error)  { return os.Lstat(name) }
func (osHost) ReadDir(_ Op, n string) ([]fs.DirEntry, error) { return os.ReadDir(n) }
func (osHost) Now() time.Time                                { return time.Now() }

func (osHost) RenameNew(_ Op, from, to string) error {
	err := retryInterrupted(func() error { return renameNew(from, to) })
	if errors.Is(err, syscall.EINVAL) { // the file system does not support RENAME_NOREPLACE
		err = syscall.ENOTSUP
	}
	if err != nil {
		return &fs.PathError{Op: "rename", Path: from, Err: err}
	}
	return nil
}

func (osHost) Names(_ Op, name string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		dir, err := os.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY, 0)
		if err != nil {
			yield("", err)
			return
		}
		defer func() { _ = dir.Close() }() // ignore the error: the folder was only read
		for {
			names, err := dir.Readdirnames(namesAtOnce)
			for _, n := range names {
				if !yield(n, nil) {
					return
				}
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield("", err)
				return
			}
		}
	}
}

// SyncDir, like Create, does not use os.Open or os.OpenFile: they try to register the file with the
// network poller, which takes time.
func (osHost) SyncDir(_ Op, name string) error {
	fd, err := open(name, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	err = retryInterrupted(func() error { return syscall.Fsync(fd) })
	if closeErr := syscall.Close(fd); err == nil {
		err = closeErr
	}
	if err != nil {
		return &fs.PathError{Op: "sync", Path: name, Err: err}
	}
	return nil
}

func open(name string, flags int, perm fs.FileMode) (fd int, err error) {
	err = retryInterrupted(func() error {
		fd, err = syscall.Open(name, flags|syscall.O_CLOEXEC, uint32(perm.Perm()))
		return err
	})
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return fd, nil
}

func (osHost) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type osFile struct{ *os.File }

func (f osFile) Write(_ Op, p []byte) error         { _, err := f.File.Write(p); return err }
func (f osFile) Chmod(_ Op, mode fs.FileMode) error { return f.File.Chmod(mode) }
func (f osFile) Chown(_ Op, uid, gid int) error     { return f.File.Chown(uid, gid) }
func (f osFile) Sync(_ Op) error                    { return f.File.Sync() }

// OpenLock opens a lock file, and creates it if it is missing. It does not lock the file. Only the
// owner may open the file, because a process that can open the file can also keep it locked. If an
// existing file has wider permissions, OpenLock tries to restrict them.
func OpenLock(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		_ = f.Chmod(0o600) // ignore the error: the file may belong to another user
	}
	return f, nil
}

// Lock opens the file called name and waits for its flock. If the file was deleted or replaced
// while Lock waited, Lock tries again with the new file, because other processes lock that one.
func (h osHost) Lock(ctx context.Context, op Op, name string) (Lock, error) {
	for {
		f, err := OpenLock(name)
		if err != nil {
			return nil, err
		}
		if err := flock(ctx, f); err != nil {
			return nil, &fs.PathError{Op: string(op), Path: name, Err: err}
		}
		if sameFile(f, name) {
			return &osLock{f}, nil
		}
		_ = f.Close()
	}
}

func sameFile(f *os.File, name string) bool {
	held, err1 := f.Stat()
	named, err2 := os.Lstat(name)
	return err1 == nil && err2 == nil && os.SameFile(held, named)
}

// flock waits for the lock on f until ctx ends. The system call that waits cannot be interrupted,
// so it runs in a goroutine. If ctx ends first, flock returns an error, but the goroutine keeps
// waiting. When the goroutine gets the lock, it closes f, which releases the lock. After any other
// error, flock itself closes f.
func flock(ctx context.Context, f *os.File) error {
	err := retryInterrupted(func() error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) })
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		if err != nil {
			_ = f.Close()
		}
		return err
	}
	got := make(chan error)
	go func() {
		err := retryInterrupted(func() error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX) })
		select {
		case got <- err:
		case <-ctx.Done():
			_ = f.Close()
		}
	}()
	select {
	case err := <-got:
		if err != nil {
			_ = f.Close()
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func retryInterrupted(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// osLock holds a flock through its open file.
type osLock struct{ f *os.File }

func (l *osLock) Unlock() error { return l.f.Close() }
