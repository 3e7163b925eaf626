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

// fileOf returns the file with the whole log of a task whose attempts ran on this
// machine, or "".
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

// openLog opens a log. Another program may have replaced the file, so openLog follows
// no links and does not block on a FIFO. It returns nil if the file is missing.
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
		_ = f.Close() // nothing was written
		return nil, 0, unreadable(err)
	}
	return f, info.Size(), nil
}

func unreadable(err error) error {
	return protocol.Conflict("log_unreadable", "the log cannot be read: %v", err)
}

// sizeOf returns the length of a log.
func sizeOf(path string) (int64, error) {
	f, size, err := openLog(path)
	if f != nil {
		_ = f.Close() // nothing was written
	}
	return size, err
}

// readFile returns at most limit bytes of a log from an offset.
func readFile(path string, offset int64, limit int) ([]byte, error) {
	f, size, err := openLog(path)
	if f == nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	data := make([]byte, max(min(int64(limit), size-offset), 0))
	n, err := f.ReadAt(data, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, unreadable(err)
	}
	return data[:n], nil
}
