package hookevents

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
)

// open opens a file, and tries again if a signal interrupts the system call.
func open(path string, flags int) (fd int, err error) {
	for {
		if fd, err = syscall.Open(path, flags|syscall.O_CLOEXEC, 0o600); err != syscall.EINTR {
			return fd, err
		}
	}
}

// errNotSmallFile reports that a file is not a regular file, or too large.
var errNotSmallFile = errors.New("no regular file")

// ReadSmallFile reads a regular file of at most limit bytes. For a larger file it returns an error.
// It also returns an error for any other kind of file, because reading it could block.
func ReadSmallFile(path string, limit int64) ([]byte, error) {
	fd, err := open(path, syscall.O_RDONLY|syscall.O_NONBLOCK)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer func() { _ = syscall.Close(fd) }() // ignore the error: the file was only read
	var info syscall.Stat_t
	if err := syscall.Fstat(fd, &info); err != nil {
		return nil, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if info.Mode&syscall.S_IFMT != syscall.S_IFREG || info.Size > limit {
		return nil, fmt.Errorf("%s: %w of at most %d bytes", path, errNotSmallFile, limit)
	}
	// The extra byte leaves room for the last read, which returns 0 at the end of the file.
	data := make([]byte, 0, info.Size+1)
	for int64(len(data)) < limit {
		data = slices.Grow(data, 1)
		n, err := syscall.Read(fd, data[len(data):min(int64(cap(data)), limit)])
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return nil, &os.PathError{Op: "read", Path: path, Err: err}
		case n == 0:
			return data, nil
		default:
			data = data[:len(data)+n]
		}
	}
	return data, nil
}

// replace atomically replaces the content of the file path with data. It writes data to the file
// temp, which must be in the same folder, and renames that file to path. No other process may use
// temp at the same time.
func replace(path, temp string, data []byte) error {
	fd, err := open(temp, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_TRUNC|syscall.O_NOFOLLOW|syscall.O_NONBLOCK)
	if err != nil {
		return &os.PathError{Op: "open", Path: temp, Err: err}
	}
	for len(data) > 0 && err == nil {
		var n int
		if n, err = syscall.Write(fd, data); errors.Is(err, syscall.EINTR) {
			err = nil
		}
		data = data[max(n, 0):]
	}
	if closing := syscall.Close(fd); err == nil {
		err = closing
	}
	if err == nil {
		err = syscall.Rename(temp, path)
	}
	if err != nil {
		return &os.PathError{Op: "write", Path: path, Err: err}
	}
	return nil
}
