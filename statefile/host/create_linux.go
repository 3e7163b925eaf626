package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"unsafe"
)

// tmpFile is the flag O_TMPFILE of the system call open. With this flag, open creates a file
// without a name. The standard library does not define it.
const tmpFile = 0x400000 | syscall.O_DIRECTORY

// createComplete writes content to a file without a name, and then gives the file its name. It
// returns ENOTSUP if the file system does not support files without a name.
func createComplete(name string, content []byte, perm fs.FileMode) error {
	fd, err := open(filepath.Dir(name), os.O_WRONLY|tmpFile, perm)
	if errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.EOPNOTSUPP) { // the file system does not support O_TMPFILE
		return syscall.ENOTSUP
	}
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = retryInterrupted(func() error { return linkOpenFile(fd, name) })
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// linkOpenFile gives the open file fd a name. It returns EEXIST if the name is taken.
func linkOpenFile(fd int, name string) error {
	const here, followLink = -100, 0x400
	at := here
	from, err := syscall.BytePtrFromString("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		return err
	}
	to, err := syscall.BytePtrFromString(name)
	if err != nil {
		return err
	}
	_, _, errno := syscall.Syscall6(syscall.SYS_LINKAT, uintptr(at), uintptr(unsafe.Pointer(from)), uintptr(at), uintptr(unsafe.Pointer(to)), followLink, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
