package runs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"gaffer/internal/api/protocol"
	"gaffer/internal/engine/store"
)

// fileOf returns the path of the file with the log of a task. It returns "" if this machine has no
// such file, for example because the attempts of the task ran on other machines.
func (d *logReader) fileOf(run store.Run, attempts []store.Attempt) (file string) {
	if d.file == nil {
		return ""
	}
	for _, a := range attempts {
		if path, ok := d.file(run, a); ok {
			file = path
		}
	}
	return file
}

// openLog opens a log file and returns its size. Another program may have replaced the file, so
// openLog does not follow links and does not block on a FIFO. The file is nil if it does not exist.
func openLog(path string) (*os.File, int64, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, unreadable(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		_ = f.Close() // ignore the error: the file was only read
		return nil, 0, unreadable(err)
	}
	return f, info.Size(), nil
}

func unreadable(err error) error {
	return protocol.Conflict("log_unreadable", "the log cannot be read: %v", err)
}

// sizeOf returns the length of a log file in bytes; 0 if it does not exist.
func sizeOf(path string) (int64, error) {
	f, size, err := openLog(path)
	if f != nil {
		_ = f.Close() // ignore the error: the file was only read
	}
	return size, err
}

// readFile returns at most limit bytes of a log file, from offset on.
func readFile(path string, offset int64, limit int) ([]byte, error) {
	f, size, err := openLog(path)
	if f == nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // ignore the error: the file was only read
	data := make([]byte, max(min(int64(limit), size-offset), 0))
	n, err := f.ReadAt(data, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, unreadable(err)
	}
	return data[:n], nil
}
