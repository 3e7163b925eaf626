package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// maxFile is the maximum size of a configuration file, in bytes.
const maxFile = 1 << 20

// readFile returns the settings in the file at path. If the file does not exist, it returns no
// settings.
func readFile(path string) ([]Value, error) {
	data, err := readRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &Error{Origin: Origin{File: path}, Err: err}
	}
	return parse(path, data)
}

// readRegular reads a regular file of at most maxFile bytes, and returns an error for anything
// else. It opens the file with O_NONBLOCK: without this flag, opening a FIFO would block before
// readRegular can check the type of the file.
func readRegular(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, withoutPath(err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("found %s, want a file", describe(info.Mode()))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, withoutPath(err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("found more than %d KiB, want a file below that", maxFile>>10)
	}
	return data, nil
}

// withoutPath returns err without the path of the file. The callers wrap the result in an [*Error],
// whose text already starts with the path.
func withoutPath(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", p.Op, p.Err)
	}
	return err
}

func describe(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}
